package trace

import (
	"fmt"
	"math"
	"time"

	auxerrors "github.com/auxoutput/auxoutput/errors"
)

func (o GenerateOptions) withDefaults() GenerateOptions {
	o.Sessions = orDefault(o.Sessions, 32)
	o.Turns = o.Turns.or(Range{1, 8})
	o.SystemPrompts = orDefault(o.SystemPrompts, 4)
	o.Zipf = orDefault(o.Zipf, 1.5)
	o.SystemTokens = o.SystemTokens.or(Range{64, 512})
	o.UserTokens = o.UserTokens.or(Range{16, 256})
	o.OutputTokens = o.OutputTokens.or(Range{16, 256})
	o.Vocabulary = orDefault(o.Vocabulary, 32000)
	o.SessionGap = orDefault(o.SessionGap, 2*time.Second)
	o.ThinkTime = orDefault(o.ThinkTime, 10*time.Second)
	return o
}

func orDefault[T comparable](value, other T) T {
	var zero T
	if value == zero {
		return other
	}
	return value
}

func (o GenerateOptions) validate() error {
	for _, n := range []struct {
		field      string
		value, top int
	}{
		{"Sessions", o.Sessions, 1 << 20},
		{"SystemPrompts", o.SystemPrompts, 1 << 20},
		{"Vocabulary", o.Vocabulary, math.MaxInt32},
	} {
		if err := checkRange(n.field, n.value, 1, n.top); err != nil {
			return err
		}
	}
	for _, d := range []struct {
		field string
		value time.Duration
	}{{"SessionGap", o.SessionGap}, {"ThinkTime", o.ThinkTime}} {
		if err := checkRange(d.field, d.value, 1, time.Hour); err != nil {
			return err
		}
	}
	for _, r := range []struct {
		field string
		value Range
	}{
		{"Turns", o.Turns}, {"SystemTokens", o.SystemTokens},
		{"UserTokens", o.UserTokens}, {"OutputTokens", o.OutputTokens},
	} {
		if err := checkRange(r.field+".Min", r.value.Min, 1, 1<<20); err != nil {
			return err
		}
		if err := checkRange(r.field+".Max", r.value.Max, r.value.Min, 1<<20); err != nil {
			return err
		}
	}
	if !(o.Zipf > 1 && o.Zipf <= 100) {
		return &auxerrors.ConfigError{Field: "Zipf", Value: o.Zipf, Want: "above 1 and at most 100", Reason: auxerrors.ErrMismatch}
	}
	// Floats, since the product may leave an int; it is a bound, not a count.
	session := float64(o.SystemTokens.Max) + float64(o.Turns.Max)*float64(o.UserTokens.Max+o.OutputTokens.Max)
	if most := float64(o.Sessions)*session + float64(o.SystemPrompts)*float64(o.SystemTokens.Max); most > MaxGeneratedTokens {
		return &auxerrors.ConfigError{Field: "tokens in all", Value: most, Want: "at most 2^28", Reason: auxerrors.ErrTooLarge}
	}
	return nil
}

func checkRange[T int | time.Duration](field string, value, low, high T) error {
	switch {
	case value < low:
		return &auxerrors.ConfigError{Field: field, Value: value, Want: fmt.Sprintf("at least %d", low), Reason: auxerrors.ErrTooSmall}
	case value > high:
		return &auxerrors.ConfigError{Field: field, Value: value, Want: fmt.Sprintf("at most %d", high), Reason: auxerrors.ErrTooLarge}
	}
	return nil
}
