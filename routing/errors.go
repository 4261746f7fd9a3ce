package routing

import (
	"errors"
	"fmt"

	auxerrors "github.com/auxoutput/auxoutput/errors"
)

// What can be wrong with rows, beside the sentinels of package errors.
var (
	// ErrFormat reports data that is not of the form it should be of.
	ErrFormat = errors.New("data is damaged or of another form")

	// ErrItemType reports items that are no expert ids, or are wider or signed
	// where no conversion was asked for.
	ErrItemType = errors.New("item type is not accepted")

	// ErrDuplicate reports an expert that occurs twice in one top-k.
	ErrDuplicate = errors.New("expert occurs twice in one top-k")

	// ErrZeroLayer reports a layer whose ids are all zero: nobody captured it.
	ErrZeroLayer = errors.New("layer is all zero")

	// ErrEqualRows reports a long run of equal rows: one row was captured over and
	// over.
	ErrEqualRows = errors.New("run of equal rows")
)

// DecodeError is data that a decoder refuses.
type DecodeError struct {
	Form   string // "npy", "base64", "json", "raw", ...
	Reason error  // [ErrFormat], [ErrItemType] or a sentinel of package errors
	Detail string // what was found and what was expected
}

// Error says what was found.
func (e *DecodeError) Error() string {
	return fmt.Sprintf("auxoutput: decode %s: %v: %s", e.Form, e.Reason, e.Detail)
}

// Unwrap gives the reason to [errors.Is] and [errors.As].
func (e *DecodeError) Unwrap() error { return e.Reason }

func refuse(form string, reason error, format string, args ...any) error {
	return &DecodeError{Form: form, Reason: reason, Detail: fmt.Sprintf(format, args...)}
}

// CountError is a number of rows, or the end of a run of rows, that is not what it
// should be. It wraps [auxerrors.ErrMismatch].
type CountError struct {
	What string // what was counted: "rows", "first position of turn 2", ...
	Want int64  // how many there should be
	Got  int64  // how many there are
}

// Error names both numbers.
func (e *CountError) Error() string {
	return fmt.Sprintf("auxoutput: %s: %d, expected %d", e.What, e.Got, e.Want)
}

// Unwrap gives the reason to [errors.Is].
func (e *CountError) Unwrap() error { return auxerrors.ErrMismatch }

// IDError is an expert id that cannot be right, and its place; or a layer, or a run
// of rows.
type IDError struct {
	Reason   error // [auxerrors.ErrOutOfRange], [ErrDuplicate], [ErrZeroLayer] or [ErrEqualRows]
	Position int   // of the token; of the first row of a run; -1 if the reason concerns all rows
	Layer    int   // -1 if the reason concerns whole rows
	Slot     int   // in the top-k; -1 if the reason concerns a whole layer
	ID       int64 // what is there
	Experts  int   // ids are 0 <= id < Experts
}

// Error names the place and the id.
func (e *IDError) Error() string {
	if e.Layer < 0 {
		return fmt.Sprintf("auxoutput: %v: position %d and every %dth up to %d", e.Reason, e.Position, runStride, e.Position+EqualRun*runStride)
	}
	where := fmt.Sprintf("layer %d", e.Layer)
	if e.Position >= 0 {
		where = fmt.Sprintf("position %d, %s, slot %d", e.Position, where, e.Slot)
	}
	return fmt.Sprintf("auxoutput: %v: %s: id %d of %d experts", e.Reason, where, e.ID, e.Experts)
}

// Unwrap gives the reason to [errors.Is].
func (e *IDError) Unwrap() error { return e.Reason }
