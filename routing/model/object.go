package model

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	auxerrors "github.com/auxoutput/auxoutput/errors"
)

// object is one JSON object of a config.json. Fields that are null count as absent.
type object struct {
	place  string                     // what its fields are called in errors: "" or "text_config."
	fields map[string]json.RawMessage // by exact name
	outer  *object                    // the object around a text_config
}

// readObject splits an object into its fields. A field that is given twice is
// refused, since readers differ on which of the two counts.
func readObject(what, place string, data []byte) (object, error) {
	o := object{place: place, fields: map[string]json.RawMessage{}}
	field := func(name string) string {
		if place == "" && name == "" {
			return what
		}
		return place + shorten([]byte(name))
	}
	decoder := json.NewDecoder(bytes.NewReader(onlyJSON(data)))
	if token, err := decoder.Token(); err != nil || token != json.Delim('{') {
		return o, malformed(what, strconv.Quote(shorten(data)), "a JSON object")
	}
	for decoder.More() {
		token, err := decoder.Token()
		if err != nil {
			return o, malformed(what, err, "a JSON object")
		}
		name, _ := token.(string) // keys of an object are strings
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return o, malformed(field(name), err, "a JSON value")
		}
		if _, twice := o.fields[name]; twice {
			return o, contradiction(field(name), "given twice", "each field once")
		}
		end := decoder.InputOffset()
		o.fields[name] = data[end-int64(len(value)) : end] // as it is written
	}
	if _, err := decoder.Token(); err != nil {
		return o, malformed(what, err, "a JSON object")
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return o, malformed(what, "data behind the object", "one JSON object")
	}
	return o, nil
}

// raw is a field's JSON, nil if it is absent. A field of a text_config that the object
// around it has as well must be the same there: it would be unclear which is meant.
func (o object) raw(name string) (json.RawMessage, error) {
	value := o.own(name)
	if o.outer == nil {
		return value, nil
	}
	if outer := o.outer.own(name); outer != nil && !sameJSON(outer, value) {
		return nil, contradiction(name, shorten(outer), fmt.Sprintf("what %s%s has (%s)", o.place, name, orAbsent(value)))
	}
	return value, nil
}

func (o object) own(name string) json.RawMessage {
	if value := o.fields[name]; !bytes.Equal(value, []byte("null")) {
		return value
	}
	return nil
}

// inner is an object in a field; given is false if it is absent.
func (o object) inner(name string) (inner object, given bool, err error) {
	value := o.own(name)
	if value == nil {
		return object{}, false, nil
	}
	inner, err = readObject(o.place+name, o.place+name+".", value)
	return inner, err == nil, err
}

func orAbsent(value json.RawMessage) string {
	if value == nil {
		return "absent"
	}
	return shorten(value)
}

func sameJSON(a, b json.RawMessage) bool {
	if b == nil {
		return false
	}
	var x, y bytes.Buffer
	return json.Compact(&x, a) == nil && json.Compact(&y, b) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}

// bounds are the least and the greatest value of a number.
type bounds struct{ least, most int }

// number is a whole number; given is false if it is absent.
func (o object) number(name string, within bounds) (n int, given bool, err error) {
	value, err := o.raw(name)
	if err != nil || value == nil {
		return 0, false, err
	}
	n, err = parseNumber(o.place+name, value, within)
	return n, err == nil, err
}

func parseNumber(field string, value json.RawMessage, within bounds) (int, error) {
	n, err := strconv.ParseInt(string(value), 10, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, malformed(field, shorten(value), "a whole number")
	}
	switch {
	case n < int64(within.least):
		return 0, tooSmall(field, shorten(value), within.least)
	case n > int64(within.most):
		return 0, tooLarge(field, shorten(value), within.most)
	}
	return int(n), nil
}

// required is a number that may have one of several names. None of them is an error,
// and so are several with different values. The name is that of the field it was
// found in.
func (o object) required(what string, within bounds, names ...string) (n int, name string, err error) {
	for _, candidate := range names {
		value, given, err := o.number(candidate, within)
		switch {
		case err != nil:
			return 0, "", err
		case !given:
		case name == "":
			n, name = value, candidate
		case value != n:
			return 0, "", contradiction(o.place+candidate, value, fmt.Sprintf("the %d of %s%s", n, o.place, name))
		}
	}
	if name == "" {
		return 0, "", o.missing(what, names...)
	}
	return n, name, nil
}

// list is an array; given is false if it is absent. Its length is that of the file's.
func (o object) list(name string) (items []json.RawMessage, given bool, err error) {
	value, err := o.raw(name)
	if err != nil || value == nil {
		return nil, false, err
	}
	if err := json.Unmarshal(value, &items); err != nil {
		return nil, false, malformed(o.place+name, shorten(value), "a list")
	}
	return items, true, nil
}

// perLayer is a list with one item for each layer.
func (o object) perLayer(name string, layers int) (items []json.RawMessage, given bool, err error) {
	items, given, err = o.list(name)
	if err == nil && given && len(items) != layers {
		return nil, false, contradiction(o.place+name, fmt.Sprintf("%d items", len(items)), fmt.Sprintf("one for each of %d layers", layers))
	}
	return items, given, err
}

// text is a string; "" if it is absent.
func (o object) text(name string) (string, error) {
	value, err := o.raw(name)
	if err != nil || value == nil {
		return "", err
	}
	var text string
	if err := json.Unmarshal(value, &text); err != nil {
		return "", malformed(o.place+name, shorten(value), "a string")
	}
	return text, nil
}

// flag is true or false; given is false if it is absent.
func (o object) flag(name string) (on, given bool, err error) {
	value, err := o.raw(name)
	if err != nil || value == nil {
		return false, false, err
	}
	if err := json.Unmarshal(value, &on); err != nil {
		return false, false, malformed(o.place+name, shorten(value), "true or false")
	}
	return on, true, nil
}

// anyOf is the first of the names that is given, "" if none is.
func (o object) anyOf(names ...string) (string, error) {
	for _, name := range names {
		value, err := o.raw(name)
		if err != nil {
			return "", err
		}
		if value != nil {
			return name, nil
		}
	}
	return "", nil
}

// missing reports a number that none of the fields has.
func (o object) missing(what string, names ...string) error {
	return &auxerrors.ConfigError{
		Field: o.place + names[0], Value: "absent",
		Want: fmt.Sprintf("%s under %s", what, strings.Join(names, ", ")), Reason: ErrMissing,
	}
}

// outOfRange reports an index of a layer that is none.
func outOfRange(field string, index json.RawMessage, layers int) error {
	return &auxerrors.ConfigError{Field: field, Value: shorten(index), Want: fmt.Sprintf("layers from 0 to %d", layers-1), Reason: auxerrors.ErrOutOfRange}
}

// anyNumber are the numbers that an int holds on every platform.
var anyNumber = bounds{1, math.MaxInt32}
