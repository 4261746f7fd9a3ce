package routing

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// npyHeaderFields is the content of the header of an .npy file.
type npyHeaderFields struct {
	descr   string
	fortran bool
	shape   []uint64
}

// maxNpyRank bounds the dimensions that are read; NumPy has at most 64.
const maxNpyRank = 64

// parseNpyHeader reads the header: a Python dict with exactly the keys descr,
// fortran_order and shape, and nothing but blanks around it. Of Python it knows
// what NumPy writes there.
func parseNpyHeader(text string) (npyHeaderFields, error) {
	var h npyHeaderFields
	s := &literal{text: []byte(text)}
	seen := map[string]bool{}
	s.expect('{')
	for s.err == nil && !s.accept('}') {
		key := s.quoted()
		s.expect(':')
		switch {
		case s.err != nil:
		case seen[key]:
			s.fail("key %.40q comes twice", key)
		case key == "descr":
			h.descr = s.quoted()
		case key == "fortran_order":
			h.fortran = s.boolean()
		case key == "shape":
			h.shape = s.tuple()
		default:
			s.fail("unknown key %.40q", key)
		}
		seen[key] = true
		if !s.accept(',') {
			s.expect('}')
			break
		}
	}
	s.blanks()
	if s.err == nil && s.at < len(s.text) {
		s.fail("something follows the header")
	}
	if s.err == nil && len(seen) < 3 {
		s.fail("only %d of the keys descr, fortran_order and shape", len(seen))
	}
	if s.err != nil {
		return npyHeaderFields{}, refuse("npy", ErrFormat, "header: %v", s.err)
	}
	return h, nil
}

// literal reads literals from left to right: those of Python here, and of JSON in
// the object form. The first error stays.
type literal struct {
	text []byte
	at   int
	err  error
}

func (s *literal) fail(format string, args ...any) {
	if s.err == nil {
		s.err = fmt.Errorf("byte %d: %s", s.at, fmt.Sprintf(format, args...))
	}
}

func (s *literal) blanks() {
	for s.at < len(s.text) && strings.IndexByte(" \t\r\n", s.text[s.at]) >= 0 {
		s.at++
	}
}

// accept skips a character if it is the next one after blanks.
func (s *literal) accept(c byte) bool {
	s.blanks()
	if s.err != nil || s.at >= len(s.text) || s.text[s.at] != c {
		return false
	}
	s.at++
	return true
}

func (s *literal) expect(c byte) {
	if !s.accept(c) {
		s.fail("expected %q", c)
	}
}

// quoted reads a string without escapes.
func (s *literal) quoted() string {
	quote := byte('\'')
	if s.accept('"') {
		quote = '"'
	} else {
		s.expect(quote)
	}
	if s.err != nil {
		return ""
	}
	end := bytes.IndexByte(s.text[s.at:], quote)
	if end < 0 {
		s.fail("string without end")
		return ""
	}
	text := string(s.text[s.at : s.at+end])
	if strings.ContainsAny(text, "\\\n") {
		s.fail("string with an escape or a line break")
		return ""
	}
	s.at += end + 1
	return text
}

func (s *literal) boolean() bool {
	s.blanks()
	for word, value := range map[string]bool{"True": true, "False": false} {
		if s.err == nil && strings.HasPrefix(string(s.text[s.at:]), word) {
			s.at += len(word)
			return value
		}
	}
	s.fail("expected True or False")
	return false
}

// tuple reads whole numbers in parentheses. One number needs a comma behind it.
func (s *literal) tuple() []uint64 {
	var numbers []uint64
	s.expect('(')
	for s.err == nil && !s.accept(')') {
		numbers = append(numbers, s.number())
		if len(numbers) > maxNpyRank {
			s.fail("more than %d dimensions", maxNpyRank)
		}
		if s.accept(',') {
			continue
		}
		if len(numbers) == 1 {
			s.fail("a number in parentheses is no tuple")
		}
		s.expect(')')
		break
	}
	return numbers
}

// number reads a whole number. Python 2 wrote an L behind long ones.
func (s *literal) number() uint64 {
	s.blanks()
	from := s.at
	for s.at < len(s.text) && s.text[s.at] >= '0' && s.text[s.at] <= '9' {
		s.at++
	}
	digits := string(s.text[from:s.at])
	n, err := strconv.ParseUint(digits, 10, 63)
	if err != nil || len(digits) > 1 && digits[0] == '0' {
		s.fail("expected a whole number from 0 to 2^63-1")
		return 0
	}
	if s.at < len(s.text) && s.text[s.at] == 'L' {
		s.at++
	}
	return n
}
