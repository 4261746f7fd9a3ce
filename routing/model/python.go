package model

import "bytes"

// pythonNumbers are what Python's json writes for numbers that JSON has no form for.
var pythonNumbers = [][]byte{[]byte("Infinity"), []byte("NaN")}

const ones = "11111111" // as long as the longest of them

// onlyJSON replaces Infinity and NaN outside strings by numbers of the same length, so
// that a JSON decoder finds each value where it is in the text. The text itself is
// returned if it has none of them, and never changed.
func onlyJSON(text []byte) []byte {
	if !bytes.Contains(text, pythonNumbers[0]) && !bytes.Contains(text, pythonNumbers[1]) {
		return text
	}
	plain := bytes.Clone(text)
	inString := false
	for i := 0; i < len(plain); i++ {
		switch {
		case inString && plain[i] == '\\':
			i++
		case plain[i] == '"':
			inString = !inString
		case !inString:
			for _, number := range pythonNumbers {
				if isValue(plain, i, number) {
					copy(plain[i:], ones[:len(number)])
				}
			}
		}
	}
	return plain
}

// isValue reports whether a number of Python's stands at i, and is a whole value.
// Infinity may have a minus.
func isValue(text []byte, i int, number []byte) bool {
	if !bytes.HasPrefix(text[i:], number) {
		return false
	}
	before, behind := text[:i], text[i+len(number):]
	if number[0] == 'I' {
		before = bytes.TrimSuffix(before, []byte{'-'})
	}
	return (len(before) == 0 || !inNumber(before[len(before)-1])) && (len(behind) == 0 || !inNumber(behind[0]))
}

// inNumber reports whether a byte could belong to a longer number or word.
func inNumber(c byte) bool {
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || bytes.IndexByte([]byte("+-._"), c) >= 0
}
