package routing

import (
	"bytes"
	"slices"

	auxerrors "github.com/auxoutput/auxoutput/errors"
)

// EqualRun is the number of comparisons in a row that make a run of equal rows, and
// runStride the distance of the positions that are compared: see [Checks.EqualRuns].
const (
	EqualRun  = 4
	runStride = 8
)

// runEvidence is the number of layers that count from which on equal rows say
// something.
const runEvidence = 16

// RunState is what [Checker.CheckRun] keeps of one request between its calls: at most
// one row and two numbers. The zero value begins a request. It must not be copied.
type RunState struct {
	row   []byte // at the last position that is a multiple of runStride; empty if there was none
	next  int    // position that follows the rows so far
	equal int    // comparisons in a row that found no difference
}

// Reset makes the state ready for another request. It keeps its memory.
func (s *RunState) Reset() { s.row, s.next, s.equal = s.row[:0], 0, 0 }

// CheckRun applies EqualRuns to the next rows of a request, in any number of calls:
// where they are cut makes no difference. start is the position of the first of
// them. Rows that do not follow those of the call before begin anew, as after a
// prefix that came from a cache, or rows that are computed again.
//
// A run is an [IDError] that wraps [ErrEqualRows]; the state is then as it was.
// Anything but whole rows, and a start that cannot be, are the error of [NewRows].
// It compares one row in 8, copies at most one a call, and allocates only at the first
// row that it keeps. If the check is off it does nothing.
func (k *Checker) CheckRun(s *RunState, start int, rows []byte) error {
	if !k.runs {
		return nil
	}
	r, err := NewRows(k.profile, start, rows)
	if err != nil {
		return err
	}
	if s == nil {
		return &auxerrors.ConfigError{Field: "state", Value: nil, Want: "a RunState of the request", Reason: auxerrors.ErrTooSmall}
	}
	if n := r.Len(); start == s.next && -start&(runStride-1) >= n {
		s.next += n // none of these rows counts
		return nil
	}
	held, equal := s.row, s.equal
	if start != s.next || len(held) != k.profile.RowBytes() {
		held, equal = nil, 0
	}
	held, equal, err = k.scanRuns(r, held, equal)
	if err != nil {
		return err
	}
	s.row = append(s.row[:0], held...)
	s.next, s.equal = r.End(), equal
	return nil
}

// scanRuns compares the rows that count with those before them, the first of them
// with held, after so many comparisons that found no difference. It returns the last
// row that counts, and the number of comparisons.
func (k *Checker) scanRuns(r Rows, held []byte, equal int) ([]byte, int, error) {
	if !k.runs {
		return nil, 0, nil
	}
	for i := (runStride - r.Start%runStride) % runStride; i < r.Len(); i += runStride {
		row := r.Row(i)
		if len(held) == 0 || !k.equalRows(held, row) {
			equal = 0
		} else if equal++; equal == EqualRun {
			from := r.Start + i - EqualRun*runStride
			return nil, 0, &IDError{Reason: ErrEqualRows, Position: from, Layer: -1, Slot: -1, Experts: r.Profile.Experts}
		}
		held = row
	}
	return held, equal, nil
}

// equalRows compares the layers that count.
func (k *Checker) equalRows(a, b []byte) bool {
	if k.exempt == nil {
		return bytes.Equal(a, b)
	}
	size := k.profile.TopK * k.profile.ItemBytes()
	layer := 0
	for ids := range slices.Chunk(a, size) {
		if k.counts(layer) && !bytes.Equal(ids, b[layer*size:(layer+1)*size]) {
			return false
		}
		layer++
	}
	return true
}
