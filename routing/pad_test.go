package routing_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/routing"
)

// spread is the difference between the most and the least chosen expert.
func spread(counts []int) int {
	least, most := math.MaxInt, 0
	for _, n := range counts {
		least, most = min(least, n), max(most, n)
	}
	return most - least
}

func TestPaddingSpreadsOverTheExperts(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		experts := rapid.OneOf(rapid.IntRange(1, 20), rapid.IntRange(250, 300)).Draw(rt, "experts")
		p := profile(t, rapid.IntRange(1, 6).Draw(rt, "layers"), rapid.IntRange(1, min(experts, 20)).Draw(rt, "top-k"), experts)
		n, real := rapid.IntRange(0, 40).Draw(rt, "padding"), rapid.IntRange(0, 10).Draw(rt, "rows")
		r := sample(t, p, rapid.SampledFrom([]int{0, 3, math.MaxInt - 60}).Draw(rt, "start"), 0, 0)
		r.Data = sample(t, p, 0, real, 0).Data

		padded, err := r.Pad(n)
		require.NoError(rt, err)
		require.Equal(rt, real+n, padded.Len())
		require.Equal(rt, append([]byte{}, r.Data...), padded.Data[:len(r.Data)])
		padding, err := padded.Slice(r.End(), padded.End())
		require.NoError(rt, err)
		require.NoError(rt, routing.Checks{Range: true, Distinct: true}.Check(padding))

		total := make([]int, experts)
		for layer := range p.Layers {
			counts := make([]int, experts)
			for i := range n {
				for k := range p.TopK {
					counts[padding.At(i, layer, k)]++
					total[padding.At(i, layer, k)]++
				}
			}
			require.LessOrEqual(rt, spread(counts), 1, "layer %d", layer)
		}
		require.LessOrEqual(rt, spread(total), 1)
	})
}

func TestPaddingOfManyShortSequencesSpreadsToo(t *testing.T) {
	p := profile(t, 2, 8, 128)
	counts := make([]int, 128)
	for length := range 160 {
		padded, err := sample(t, p, 0, length, 0).Pad(1)
		require.NoError(t, err)
		for k := range 8 {
			counts[padded.At(length, 0, k)]++
		}
	}
	require.Zero(t, spread(counts))
}

func TestPaddingThatCannotBeIsRefused(t *testing.T) {
	r := sample(t, profile(t, 2, 2, 64), 0, 5, 0)
	_, err := r.Pad(-1)
	require.ErrorIs(t, err, auxerrors.ErrTooSmall)
	_, err = r.Pad(math.MaxInt)
	require.ErrorIs(t, err, auxerrors.ErrTooLarge)
	r.Start = math.MaxInt - 6
	_, err = r.Pad(2)
	require.ErrorIs(t, err, auxerrors.ErrTooLarge)
	_, err = routing.Rows{}.Pad(1)
	require.Error(t, err)
}

func ExampleRows_Pad() {
	p, _ := routing.NewProfile(1, 2, 6)
	rows, _ := routing.NewRows(p, 0, []byte{4, 1})
	padded, err := rows.Pad(3)
	fmt.Println(padded.Data, err)
	// Output: [4 1 2 3 4 5 0 1] <nil>
}
