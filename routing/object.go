package routing

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// decodeObject reads the object form. Every member must be there once, under its
// exact name, and there must be no other: what is not understood might change the
// meaning of the ids.
func decodeObject(data []byte) (Field, error) {
	members, err := objectMembers(data)
	if err != nil {
		return Field{}, err
	}
	for _, name := range [...]string{`"shape"`, `"dtype"`, `"start"`, `"data"`} {
		if _, there := members[name]; !there {
			return Field{}, refuse("json", ErrFormat, "object without %s", name)
		}
	}
	shape, err := decodeShape(members[`"shape"`])
	if err != nil {
		return Field{}, err
	}
	name := members[`"dtype"`]
	if name[0] != '"' {
		return Field{}, refuse("json", ErrFormat, "dtype is not a string")
	}
	d, known := dtypeNamed(string(name[1 : len(name)-1]))
	if !known {
		return Field{}, refuse("json", ErrItemType, "dtype %.40s, known are uint8, uint16, int8, int16 and int32", name)
	}
	position := members[`"start"`]
	start, err := strconv.ParseUint(string(position), 10, strconv.IntSize-1)
	if err != nil || position[0] == '0' && len(position) > 1 {
		return Field{}, refuse("json", ErrFormat, "start %.40s is not a position", position)
	}
	ids, err := decodeBase64String(members[`"data"`])
	if err != nil {
		return Field{}, err
	}
	a, err := newArray("json", shape, d, ids)
	if err != nil {
		return Field{}, err
	}
	return Field{Form: FormatObjectJSON, Array: a, Start: int(start)}, nil
}

// objectMembers splits an object into its members. Their values are only delimited
// here: whoever takes one apart finds out what it is.
func objectMembers(data []byte) (map[string][]byte, error) {
	members := make(map[string][]byte, 4)
	s := &literal{text: data}
	s.expect('{')
	for s.err == nil {
		name := string(s.value())
		s.expect(':')
		value := s.value()
		switch _, twice := members[name]; {
		case s.err != nil:
		case twice:
			s.fail("two members %.40s", name)
		case name != `"shape"` && name != `"dtype"` && name != `"start"` && name != `"data"`:
			s.fail("a member %.40s, known are shape, dtype, start and data", name)
		}
		members[name] = value
		if !s.accept(',') {
			break
		}
	}
	s.expect('}')
	s.blanks()
	if s.err == nil && s.at < len(s.text) {
		s.fail("something follows the object")
	}
	if s.err != nil {
		return nil, refuse("json", ErrFormat, "object: %v", s.err)
	}
	return members, nil
}

// value delimits a JSON value that is no object and no list of lists.
func (s *literal) value() []byte {
	s.blanks()
	from, rest := s.at, s.text[s.at:]
	size := 0
	switch {
	case s.err != nil:
		return nil
	case len(rest) > 0 && rest[0] == '"':
		size = stringEnd(rest)
	case len(rest) > 0 && rest[0] == '[':
		size = bytes.IndexByte(rest, ']') + 1
	default:
		size = bytes.IndexAny(rest, ",:}] \t\r\n")
	}
	if size < 1 {
		s.fail("expected a value")
		return nil
	}
	s.at += size
	return s.text[from:s.at]
}

// stringEnd is the length of the JSON string that text begins with, or 0.
func stringEnd(text []byte) int {
	for at := 1; at < len(text); at++ {
		quote := bytes.IndexByte(text[at:], '"')
		if quote < 0 {
			return 0
		}
		at += quote
		escapes := len(text[:at]) - len(bytes.TrimRight(text[1:at], `\`)) - 1
		if escapes%2 == 0 {
			return at + 1
		}
	}
	return 0
}

// decodeShape reads three whole numbers. They are taken apart by hand, because
// encoding/json would read a null as 0.
func decodeShape(data []byte) (shape [3]uint64, err error) {
	var numbers []json.RawMessage
	if err := json.Unmarshal(data, &numbers); err != nil || len(numbers) != len(shape) {
		return shape, refuse("json", ErrFormat, "shape %.40s is not a list of three whole numbers", data)
	}
	for i, number := range numbers {
		if shape[i], err = strconv.ParseUint(string(number), 10, 63); err != nil {
			return shape, refuse("json", ErrFormat, "shape %.40s is not a list of three whole numbers", data)
		}
	}
	return shape, nil
}
