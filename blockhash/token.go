package blockhash

import (
	"math"
	"strconv"
	"strings"
)

// ParseToken reads one token in decimal digits. Anything else is a
// [*TokenError], for which the reason of a number below 0 or above 2^32-1 is
// [strconv.ErrRange].
func ParseToken(text string) (uint32, error) {
	if n, ok := parseDigits(text); ok && n <= math.MaxUint32 {
		return uint32(n), nil
	}
	reason := strconv.ErrSyntax
	if _, ok := parseDigits(strings.TrimPrefix(text, "-")); ok {
		reason = strconv.ErrRange
	}
	return 0, &TokenError{Text: shorten(text), Reason: reason}
}

// parseDigits reads a row of digits; a number beyond 32 bits stays beyond.
func parseDigits(text string) (n uint64, ok bool) {
	for i := range len(text) {
		digit := text[i] - '0'
		if digit > 9 {
			return 0, false
		}
		n = min(n*10+uint64(digit), math.MaxUint32+1)
	}
	return n, text != ""
}

// AppendTokens reads tokens that are set apart by a comma, by white space or by
// both, and appends them. A comma may end the text, as it does where a list is
// broken into lines; it may not begin it, nor follow another. The error is a
// [*TokenError] that says where, and then dst comes back as it was.
func AppendTokens(dst []uint32, text string) ([]uint32, error) {
	tokens := dst
	mayEnd := false // a token came, and no comma after it
	for pos := 0; pos < len(text); {
		if isSpace(text[pos]) {
			pos++
			continue
		}
		if text[pos] == ',' && mayEnd {
			mayEnd = false
			pos++
			continue
		}
		end := pos + 1
		for end < len(text) && text[end] != ',' && !isSpace(text[end]) {
			end++
		}
		if text[pos] == ',' {
			end = pos + 1
		}
		token, err := ParseToken(text[pos:end])
		if err != nil {
			err.(*TokenError).Offset = pos
			return dst, err
		}
		tokens = append(tokens, token)
		mayEnd = true
		pos = end
	}
	return tokens, nil
}

func isSpace(c byte) bool {
	return c == ' ' || '\t' <= c && c <= '\r'
}

// shorten keeps an error readable when it quotes what somebody else wrote.
func shorten(text string) string {
	const most = 40
	if len(text) <= most {
		return text
	}
	return text[:most] + "..."
}
