package trace

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
)

// Error is damage in a trace file.
type Error struct {
	File   string // the name the reader was given
	Line   int    // from 1
	Column int    // byte in the line, from 1; 0 if the damage has no one place
	Reason string // what is wrong, with the value found
	Err    error  // the cause, if there is one beyond the reason
}

// Error is "file:line: reason" or "file:line:column: reason".
func (e *Error) Error() string {
	if e.Column > 0 {
		return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Reason)
	}
	return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Reason)
}

// Unwrap gives the cause to [errors.Is] and [errors.As].
func (e *Error) Unwrap() error { return e.Err }

// fault is what a parser of a part of a line reports; the reader adds the file
// and the line.
type fault struct {
	line   int // 0: the line read last
	column int
	reason string
	err    error
}

func (f *fault) Error() string { return f.reason }
func (f *fault) Unwrap() error { return f.err }

// faultf makes a fault without a column.
func faultf(format string, args ...any) error {
	return &fault{reason: fmt.Sprintf(format, args...)}
}

// jsonFault says in this package's words what encoding/json found wrong with a
// line, for readers who do not know Go's type names.
func jsonFault(err error) error {
	var own *fault
	var syntax *json.SyntaxError
	var mistyped *json.UnmarshalTypeError
	switch {
	case errors.As(err, &own):
		return own
	case errors.As(err, &syntax):
		reason := syntax.Error()
		if reason == "unexpected end of JSON input" {
			reason = "the JSON ends early: the file is truncated, or a line was broken in two"
		}
		return &fault{column: int(syntax.Offset), reason: reason, err: err}
	case errors.As(err, &mistyped):
		field := mistyped.Field
		if field == "" {
			field = "the line"
		}
		return &fault{
			column: int(mistyped.Offset),
			reason: fmt.Sprintf("%s: found %s, want %s", field, clip(mistyped.Value), wanted(mistyped.Type)),
			err:    err,
		}
	}
	return &fault{reason: err.Error(), err: err}
}

// wanted names the JSON value that a Go type is read from.
func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Int64:
		return "a whole number of 64 bits"
	case reflect.Float64:
		return "a number"
	case reflect.String:
		return "a string"
	case reflect.Slice:
		return "a list"
	}
	return "an object"
}

// clip quotes at most the start of a value from the file.
func clip(text string) string {
	const most = 40
	if len(text) > most {
		return strconv.QuoteToASCII(text[:most]) + "..."
	}
	return strconv.QuoteToASCII(text)
}
