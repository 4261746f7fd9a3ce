package routing

import (
	"bytes"
	"encoding/json"
	"fmt"

	auxerrors "github.com/auxoutput/auxoutput/errors"
)

// Field is the value of the JSON field routed_experts, for encoding/json:
//
//	type Choice struct {
//		RoutedExperts *routing.Field `json:"routed_experts,omitempty"`
//	}
//
// A nil pointer is "no rows"; that is how a request that has not finished, or
// never ran, is answered. [NpyField] and [ObjectField] make the two forms.
// Decoding detects the form and accepts both.
type Field struct {
	Form  Format // [FormatNpyJSON] or [FormatObjectJSON]
	Array Array
	Start int // position of the first row; the npy form does not state it
}

// NpyField is rows as a base64 string of an .npy file: the form of vLLM's OpenAI
// endpoints.
func NpyField(r Rows) *Field {
	return &Field{Form: FormatNpyJSON, Array: r.Array(), Start: r.Start}
}

// ObjectField is rows as an object that states shape, item type and start: the
// form of prime-rl.
func ObjectField(r Rows) *Field {
	return &Field{Form: FormatObjectJSON, Array: r.Array(), Start: r.Start}
}

// MarshalJSON writes the field in its form. A form that is not for JSON, and an
// array that is none, are an error.
//
// encoding/json copies what a MarshalJSON returns and scans it byte by byte, which
// takes ten times as long as the base64 itself. It does not do so with a []byte:
// a field of that type that holds [FormatNpy] gives the same JSON. An [Encoder]
// needs no memory either.
func (f Field) MarshalJSON() ([]byte, error) {
	if f.Form != FormatNpyJSON && f.Form != FormatObjectJSON {
		return nil, &auxerrors.ConfigError{Field: "form", Value: f.Form, Want: fmt.Sprintf("%v or %v", FormatNpyJSON, FormatObjectJSON), Reason: auxerrors.ErrOutOfRange}
	}
	return f.Array.Append(nil, f.Form, f.Start)
}

// UnmarshalJSON reads either form, as [DecodeField] does. As is usual, null
// changes nothing.
func (f *Field) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		return nil
	}
	decoded, err := DecodeField(data)
	if err != nil {
		return err
	}
	*f = decoded
	return nil
}

// Rows makes the field into rows of a profile, the first of which must have
// position start: the start that the request asked for. A field that states
// another one is a [DecodeError]. See [Array.Rows] for the rest, and check the
// number of rows with [Rows.CheckTokens].
func (f Field) Rows(p Profile, start int) (Rows, error) {
	if f.Form == FormatObjectJSON && f.Start != start {
		return Rows{}, refuse("json", auxerrors.ErrMismatch, "rows from position %d, expected from %d", f.Start, start)
	}
	return f.Array.Rows(p, start)
}

// DecodeField reads the JSON value of a field routed_experts and detects its form:
// a base64 string of an .npy file, or an object with exactly the members shape,
// dtype, start and data. Anything else, nested lists among them, is a
// [DecodeError].
func DecodeField(data []byte) (Field, error) {
	data = bytes.Trim(data, " \t\r\n")
	if len(data) == 0 {
		return Field{}, refuse("json", ErrFormat, "nothing there")
	}
	switch data[0] {
	case '"':
		return decodeNpyString(data)
	case '{':
		return decodeObject(data)
	case '[':
		return Field{}, refuse("json", ErrFormat, "a list; rows are a base64 string or an object, never nested lists")
	}
	return Field{}, refuse("json", ErrFormat, "begins with %q; rows are a base64 string or an object", data[0])
}

func decodeNpyString(data []byte) (Field, error) {
	file, err := decodeBase64String(data)
	if err != nil {
		return Field{}, err
	}
	if !bytes.HasPrefix(file, []byte(npyMagic)) {
		return Field{}, refuse("json", ErrFormat, "a base64 string of %d bytes that are no .npy file; if they are raw ids, their shape, number of rows and item type must come from elsewhere: DecodeRaw", len(file))
	}
	a, err := DecodeNpy(file)
	if err != nil {
		return Field{}, err
	}
	return Field{Form: FormatNpyJSON, Array: a}, nil
}

// decodeBase64String decodes a JSON string of base64 text. Only text with escapes,
// which no encoder needs for base64, takes the long way.
func decodeBase64String(data []byte) ([]byte, error) {
	if len(data) < 2 || data[0] != '"' || data[len(data)-1] != '"' {
		return nil, refuse("json", ErrFormat, "not a string")
	}
	if !bytes.ContainsRune(data, '\\') {
		return decodeBase64(data[1 : len(data)-1])
	}
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return nil, refuse("json", ErrFormat, "%v", err)
	}
	return decodeBase64([]byte(text))
}
