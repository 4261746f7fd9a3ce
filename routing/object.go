package routing

import (
	"bytes"
	"encoding/json"
	"io"
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
	for _, name := range [...]string{"shape", "dtype", "start", "data"} {
		if _, there := members[name]; !there {
			return Field{}, refuse("json", ErrFormat, "object without %q", name)
		}
	}
	shape, err := decodeShape(members["shape"])
	if err != nil {
		return Field{}, err
	}
	name := members["dtype"]
	if len(name) < 2 || name[0] != '"' {
		return Field{}, refuse("json", ErrFormat, "dtype is not a string")
	}
	d, known := dtypeNamed(string(name[1 : len(name)-1]))
	if !known {
		return Field{}, refuse("json", ErrItemType, "dtype %.40s, known are uint8, uint16, int8, int16 and int32", name)
	}
	start, err := strconv.ParseUint(string(members["start"]), 10, strconv.IntSize-1)
	if err != nil {
		return Field{}, refuse("json", ErrFormat, "start %.40s is not a position", members["start"])
	}
	ids, err := decodeBase64String(members["data"])
	if err != nil {
		return Field{}, err
	}
	a, err := newArray("json", shape, d, ids)
	if err != nil {
		return Field{}, err
	}
	return Field{Form: FormatObjectJSON, Array: a, Start: int(start)}, nil
}

// objectMembers splits an object into its members.
func objectMembers(data []byte) (map[string]json.RawMessage, error) {
	members := make(map[string]json.RawMessage, 4)
	dec := json.NewDecoder(bytes.NewReader(data))
	if _, err := dec.Token(); err != nil {
		return nil, refuse("json", ErrFormat, "%v", err)
	}
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return nil, refuse("json", ErrFormat, "%v", err)
		}
		name, _ := token.(string) // the decoder allows nothing else here
		switch _, twice := members[name]; {
		case twice:
			return nil, refuse("json", ErrFormat, "object with two members %q", name)
		case name != "shape" && name != "dtype" && name != "start" && name != "data":
			return nil, refuse("json", ErrFormat, "object with a member %.40q, known are shape, dtype, start and data", name)
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, refuse("json", ErrFormat, "%s: %v", name, err)
		}
		members[name] = value
	}
	if _, err := dec.Token(); err != nil {
		return nil, refuse("json", ErrFormat, "%v", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, refuse("json", ErrFormat, "something follows the object")
	}
	return members, nil
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
