package model

import (
	"errors"
	"fmt"
	"strings"

	auxerrors "github.com/auxoutput/auxoutput/errors"
)

// What can be wrong with a config.json, beside the sentinels of package errors.
var (
	// ErrMissing reports a field without which sizes cannot be told.
	ErrMissing = errors.New("field is missing")

	// ErrMalformed reports a field, or a file, that does not hold what it should.
	ErrMalformed = errors.New("malformed")

	// ErrUnknown reports a field that fixes a layout which is not known here.
	ErrUnknown = errors.New("layout is not known")
)

func malformed(field string, value any, want string) error {
	return &auxerrors.ConfigError{Field: field, Value: value, Want: want, Reason: ErrMalformed}
}

func contradiction(field string, value any, want string) error {
	return &auxerrors.ConfigError{Field: field, Value: value, Want: want, Reason: auxerrors.ErrMismatch}
}

func tooSmall(field string, value any, least int) error {
	return &auxerrors.ConfigError{Field: field, Value: value, Want: fmt.Sprintf("at least %d", least), Reason: auxerrors.ErrTooSmall}
}

func tooLarge(field string, value any, most int) error {
	return &auxerrors.ConfigError{Field: field, Value: value, Want: fmt.Sprintf("at most %d", most), Reason: auxerrors.ErrTooLarge}
}

// shorten keeps the text of an error readable.
func shorten(text []byte) string {
	const most = 40
	if len(text) <= most {
		return string(text)
	}
	return strings.ToValidUTF8(string(text[:most]), "") + "..."
}
