package routing_test

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/routing"
)

// stretch is rows of which those at positions from <= p < to are equal.
func stretch(tb testing.TB, p routing.Profile, start, n, from, to int) routing.Rows {
	r := sample(tb, p, start, n, 0)
	for at := from; at < to; at++ {
		copy(r.Row(at-start), r.Row(from-start))
	}
	return r
}

// literalRun is the first position of five that are multiples of 8, in a row, and have
// equal rows; -1 if there are none.
func literalRun(r routing.Rows, exempt []int) int {
	equal := func(a, b int) bool {
		for layer := range r.Profile.Layers {
			for slot := range r.Profile.TopK {
				if !slices.Contains(exempt, layer) && r.At(a-r.Start, layer, slot) != r.At(b-r.Start, layer, slot) {
					return false
				}
			}
		}
		return true
	}
	for first := r.Start; first+32 < r.End(); first++ {
		if first%8 == 0 && equal(first, first+8) && equal(first+8, first+16) && equal(first+16, first+24) && equal(first+24, first+32) {
			return first
		}
	}
	return -1
}

func TestFortyEqualRowsAreFoundWhereverTheyBeginAndThirtyTwoNever(t *testing.T) {
	p := profile(t, 16, 2, 251)
	found := map[int]int{}
	for from := range 40 {
		for length := 1; length <= 48; length++ {
			r := stretch(t, p, 0, 100, from, from+length)
			err := routing.Checks{EqualRuns: true}.Check(r)
			if err == nil {
				continue
			}
			found[length]++
			first := (from + 7) / 8 * 8
			require.Equal(t, &routing.IDError{Reason: routing.ErrEqualRows, Position: first, Layer: -1, Slot: -1, Experts: 251}, err)
			require.ErrorContains(t, err, fmt.Sprintf("position %d and every 8th up to %d", first, first+32))
		}
	}
	for length := 1; length <= 48; length++ {
		want := min(max(0, length-32)*5, 40) // 5 of 40 beginnings for each row beyond 32
		require.Equal(t, want, found[length], "stretches of %d rows", length)
	}
}

func TestOneRowThatWasCapturedFortyTimesIsFound(t *testing.T) {
	r := stretch(t, profile(t, 58, 8, 256), 0, 64, 20, 60)
	require.NoError(t, routing.Checks{Range: true, Distinct: true, ZeroLayers: true}.Check(r), "each row by itself is fine")
	require.ErrorIs(t, routing.AllChecks.Check(r), routing.ErrEqualRows)
}

func TestRunsAreFoundTheSameHoweverTheyAreCut(t *testing.T) {
	found := 0
	rapid.Check(t, func(t *rapid.T) {
		p := routing.Profile{Layers: rapid.IntRange(16, 18).Draw(t, "layers"), TopK: 2, Experts: 251}
		c := routing.Checks{EqualRuns: true}
		if p.Layers > 16 && rapid.Bool().Draw(t, "with an exempt layer") {
			c.Exempt = []int{rapid.IntRange(0, p.Layers-1).Draw(t, "exempt")}
		}
		k := prepare(t, c, p)
		start, n := rapid.IntRange(0, 30).Draw(t, "start"), rapid.IntRange(0, 120).Draw(t, "rows")
		r := drawnRows(t, p, start, n)
		want := literalRun(r, c.Exempt)
		if want >= 0 {
			found++
		}
		var run routing.RunState
		err := error(nil)
		for at := 0; at < n && err == nil; {
			to := min(n, at+rapid.SampledFrom([]int{1, 1, 2, 7, 8, 9, 40}).Draw(t, "rows of a step"))
			err = k.CheckRun(&run, start+at, r.Data[at*p.RowBytes():to*p.RowBytes()])
			if err != nil {
				again := k.CheckRun(&run, start+at, r.Data[at*p.RowBytes():to*p.RowBytes()])
				require.Equal(t, err, again, "a refused step changes nothing")
			}
			at = to
		}
		whole := c.Check(r)
		require.Equal(t, whole, err)
		if want < 0 {
			require.NoError(t, err)
			return
		}
		require.Equal(t, &routing.IDError{Reason: routing.ErrEqualRows, Position: want, Layer: -1, Slot: -1, Experts: 251}, err)
	})
	if !testing.Short() { // which draws too few to insist
		require.Positive(t, found)
	}
}

// drawnRows has stretches of equal rows, some with one layer that differs.
func drawnRows(t *rapid.T, p routing.Profile, start, n int) routing.Rows {
	r := routing.Rows{Profile: p, Start: start, Data: make([]byte, n*p.RowBytes())}
	layer := rapid.IntRange(0, p.Layers-1).Draw(t, "layer that differs")
	for at := 0; at < n; {
		to := min(n, at+rapid.SampledFrom([]int{1, 3, 8, 33, 40, 60}).Draw(t, "stretch"))
		differs := rapid.IntRange(0, 3).Draw(t, "one layer differs") == 0
		for i := at; i < to; i++ {
			for j := range r.Row(i) {
				r.Row(i)[j] = byte(at%125*2 + j%2)
			}
			if differs {
				r.Row(i)[2*layer] = byte(i)
			}
		}
		at = to
	}
	return r
}

func TestRunsAreNotLookedForWhereRowsAreLikelyToRepeat(t *testing.T) {
	layers := func(n int) []int {
		list := make([]int, n)
		for i := range list {
			list[i] = i
		}
		return list
	}
	for _, tc := range []struct {
		name   string
		p      routing.Profile
		exempt []int
		found  bool
	}{
		{"16 layers", profile(t, 16, 2, 64), nil, true},
		{"15 layers", profile(t, 15, 2, 64), nil, false},
		{"16 layers that count", profile(t, 20, 2, 64), layers(4), true},
		{"15 layers that count", profile(t, 20, 2, 64), layers(5), false},
		{"top-1", profile(t, 48, 1, 64), nil, false},
		{"every expert is chosen", profile(t, 48, 2, 2), nil, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := stretch(t, tc.p, 0, 200, 0, 200)
			check := routing.Checks{EqualRuns: true, Exempt: tc.exempt}
			var run routing.RunState
			err := prepare(t, check, tc.p).CheckRun(&run, 0, r.Data)
			require.Equal(t, err, check.Check(r))
			if tc.found {
				require.ErrorIs(t, err, routing.ErrEqualRows)
			} else {
				require.NoError(t, err)
			}
			check.EqualRuns = false
			require.NoError(t, prepare(t, check, tc.p).CheckRun(&run, 0, r.Data), "switched off")
		})
	}
}

func TestRowsThatDoNotFollowBeginAnew(t *testing.T) {
	p := profile(t, 16, 2, 64)
	k := prepare(t, routing.AllChecks, p)
	row := sample(t, p, 3, 1, 0).Data
	rows := func(n int) []byte { return bytes.Repeat(row, n) }
	var run routing.RunState
	require.NoError(t, k.CheckRun(&run, 0, rows(32)), "positions 0 to 31")
	require.NoError(t, k.CheckRun(&run, 33, rows(7)), "position 32 is missing, and 40 not there yet")
	require.NoError(t, k.CheckRun(&run, 8, rows(32)), "computed again from 8 on")
	require.ErrorIs(t, k.CheckRun(&run, 40, rows(1)), routing.ErrEqualRows, "8 to 40 are equal")
	run.Reset()
	require.NoError(t, k.CheckRun(&run, 40, rows(32)), "another request")
	require.ErrorIs(t, k.CheckRun(&run, 72, rows(1)), routing.ErrEqualRows)
}

func TestRunsOfWhatAreNoRowsAreRefusedAndTheNextCallWorks(t *testing.T) {
	p := profile(t, 16, 2, 64)
	k := prepare(t, routing.AllChecks, p)
	rows := bytes.Repeat(sample(t, p, 3, 1, 0).Data, 64)
	var run routing.RunState
	require.NoError(t, k.CheckRun(&run, 0, rows[:32*32]))
	require.ErrorIs(t, k.CheckRun(&run, 32, rows[:33]), auxerrors.ErrMismatch)
	require.ErrorIs(t, k.CheckRun(&run, -1, rows), auxerrors.ErrTooSmall)
	require.ErrorIs(t, k.CheckRun(&run, math.MaxInt, rows), auxerrors.ErrTooLarge)
	require.ErrorIs(t, k.CheckRun(nil, 32, rows), auxerrors.ErrTooSmall)
	require.NoError(t, k.CheckRun(&run, 32, nil), "no rows")
	require.ErrorIs(t, k.CheckRun(&run, 32, rows[:32]), routing.ErrEqualRows)
	run.Reset()
	require.NoError(t, k.CheckRun(&run, math.MaxInt-100, rows[:32*32]), "far out")
}

func ExampleChecker_CheckRun() {
	p, _ := routing.NewProfile(16, 2, 64)
	k, err := routing.AllChecks.Prepare(p)
	if err != nil {
		fmt.Println(err)
		return
	}
	row := bytes.Repeat([]byte{4, 9}, 16) // the same for every token: a buffer that nobody filled
	var run routing.RunState
	for position := range 100 {
		if err := k.CheckRun(&run, position, row); err != nil {
			fmt.Println(err)
			return
		}
	}
	// Output: auxoutput: run of equal rows: position 0 and every 8th up to 32
}
