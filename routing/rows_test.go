package routing_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/routing"
)

func TestRowsAreWholeRowsOfAProfile(t *testing.T) {
	p := profile(t, 3, 2, 300) // 12 bytes a row
	for _, tc := range []struct {
		name    string
		profile routing.Profile
		start   int
		bytes   int
		reason  error
	}{
		{"none", p, 0, 0, nil},
		{"two from the middle on", p, 7, 24, nil},
		{"a byte too few", p, 0, 23, auxerrors.ErrMismatch},
		{"before the first position", p, -1, 12, auxerrors.ErrTooSmall},
		{"beyond the last position", p, math.MaxInt, 12, auxerrors.ErrTooLarge},
		{"of no profile", routing.Profile{}, 0, 12, auxerrors.ErrTooSmall},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r, err := routing.NewRows(tc.profile, tc.start, make([]byte, tc.bytes))
			require.ErrorIs(t, err, tc.reason)
			if err == nil {
				require.Equal(t, tc.bytes/12, r.Len())
				require.Equal(t, routing.Span{Start: tc.start, End: tc.start + tc.bytes/12}, r.Span())
			}
		})
	}
	require.Zero(t, routing.Rows{}.Len())
}

func TestAnIdIsFoundByRowLayerAndSlot(t *testing.T) {
	for _, experts := range []int{128, 1000} {
		p := profile(t, 3, 2, experts)
		r := sample(t, p, 5, 4, 0)
		for i := range 4 {
			for layer := range 3 {
				for k := range 2 {
					require.Equal(t, ((5+i)*31+layer*7+k)%experts, r.At(i, layer, k))
				}
			}
			require.Equal(t, r.Data[i*p.RowBytes():(i+1)*p.RowBytes()], r.Row(i))
			require.Equal(t, p.RowBytes(), cap(r.Row(i)), "appending must not reach the next row")
		}
		for _, index := range [][3]int{{-1, 0, 0}, {4, 0, 0}, {0, 3, 0}, {0, -1, 0}, {0, 0, 2}, {0, 0, -1}} {
			require.Panics(t, func() { r.At(index[0], index[1], index[2]) }, "%v", index)
		}
	}
}

func TestASliceHasTheRowsOfItsPositions(t *testing.T) {
	r := sample(t, profile(t, 2, 2, 64), 10, 6, 0)
	part, err := r.Slice(12, 15)
	require.NoError(t, err)
	require.Equal(t, sample(t, r.Profile, 12, 3, 0), part)
	for _, span := range []routing.Span{{9, 12}, {12, 17}, {13, 12}, {-1, 0}, {0, math.MaxInt}} {
		_, err := r.Slice(span.Start, span.End)
		require.ErrorIs(t, err, auxerrors.ErrOutOfRange, "%v", span)
	}
	require.Panics(t, func() { part.Row(3) })
}

func TestRowsOfNoProfileCannotBeCut(t *testing.T) {
	none := routing.Rows{Data: []byte{1, 2}}
	_, err := none.Slice(0, 0)
	require.ErrorIs(t, err, auxerrors.ErrTooSmall)
	_, err = none.Cut(1)
	require.ErrorIs(t, err, auxerrors.ErrTooSmall)
}

func TestCheckingAgainstFewerTokensThanTheStartIsAnError(t *testing.T) {
	r := sample(t, profile(t, 2, 2, 64), 4, 6, 0)
	require.ErrorIs(t, r.CheckTokens(4, 0), auxerrors.ErrOutOfRange)
}

func TestCuttingToATokenCountNeverInventsRows(t *testing.T) {
	r := sample(t, profile(t, 2, 2, 64), 4, 6, 0) // positions 4 to 9: 11 tokens
	for _, tc := range []struct{ tokens, rows int }{{11, 6}, {10, 5}, {6, 1}, {5, 0}} {
		cut, err := r.Cut(tc.tokens)
		require.NoError(t, err)
		require.Equal(t, sample(t, r.Profile, 4, tc.rows, 0).Data, cut.Data, "%d tokens", tc.tokens)
		require.NoError(t, cut.CheckTokens(tc.tokens, 0))
	}
	_, err := r.Cut(12)
	require.EqualError(t, err, "auxoutput: rows: 6, expected 7")
	_, err = r.Cut(4)
	require.ErrorIs(t, err, auxerrors.ErrOutOfRange)
}

func TestRowCountsAreTokensLessOneLessStart(t *testing.T) {
	for _, tc := range []struct{ tokens, start, rows int }{{15, 0, 14}, {48, 32, 15}, {1, 0, 0}, {8, 7, 0}} {
		n, err := routing.RowCount(tc.tokens, tc.start)
		require.NoError(t, err)
		require.Equal(t, tc.rows, n)
	}
	for _, tc := range []struct{ tokens, start int }{{0, 0}, {5, 5}, {5, -1}, {-1, 0}, {math.MinInt, math.MaxInt}} {
		_, err := routing.RowCount(tc.tokens, tc.start)
		require.ErrorIs(t, err, auxerrors.ErrOutOfRange, "%+v", tc)
	}
}

func ExampleRows() {
	p, _ := routing.NewProfile(2, 2, 64)
	rows, err := routing.NewRows(p, 5, []byte{10, 11, 20, 21, 12, 13, 22, 23})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(rows.Span(), rows.At(1, 0, 1))
	fmt.Println(rows.CheckTokens(8, 0)) // 8 tokens have 7 rows
	fmt.Println(rows.CheckTokens(9, 0))
	// Output:
	// [5,7) 13
	// <nil>
	// auxoutput: rows: 2, expected 3
}
