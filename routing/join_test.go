package routing_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/routing"
)

func TestTurnsJoinWithTheFirstRowsWinning(t *testing.T) {
	p := profile(t, 2, 2, 64)
	rapid.Check(t, func(rt *rapid.T) {
		start := rapid.IntRange(0, 5).Draw(rt, "start")
		end, owner := start, map[int]int{}
		var turns []routing.Turn
		for turn := range rapid.IntRange(1, 6).Draw(rt, "turns") {
			from := rapid.IntRange(start, end).Draw(rt, "from")
			if turn == 0 {
				from = start
			}
			n := rapid.IntRange(0, 8).Draw(rt, "rows")
			padded := n > 0 && rapid.Bool().Draw(rt, "padded")
			turns = append(turns, routing.Turn{Rows: sample(t, p, from, n, turn), Padded: padded})
			if padded {
				n--
			}
			for position := end; position < from+n; position++ {
				owner[position] = turn
			}
			end = max(end, from+n)
		}
		joined, err := routing.Join(turns...)
		require.NoError(rt, err)
		require.Equal(rt, routing.Span{Start: start, End: end}, joined.Span())
		for position := start; position < end; position++ {
			want := sample(t, p, position, 1, owner[position])
			require.Equal(rt, want.Data, joined.Row(position-start), "position %d", position)
		}
	})
}

func TestTurnsThatDoNotJoinAreRefused(t *testing.T) {
	p := profile(t, 2, 2, 64)
	rows := sample(t, p, 0, 5, 0)
	_, err := routing.Join()
	require.ErrorIs(t, err, auxerrors.ErrTooSmall)
	_, err = routing.Join(routing.Turn{Rows: rows}, routing.Turn{Rows: sample(t, p, 6, 2, 1)})
	require.EqualError(t, err, "auxoutput: first position of turn 1: 6, expected 5")
	_, err = routing.Join(routing.Turn{Rows: rows, Padded: true}, routing.Turn{Rows: sample(t, p, 5, 2, 1)})
	require.EqualError(t, err, "auxoutput: first position of turn 1: 5, expected 4", "nobody has the boundary row")
	_, err = routing.Join(routing.Turn{Rows: sample(t, p, 3, 5, 0)}, routing.Turn{Rows: sample(t, p, 0, 2, 1)})
	require.NoError(t, err, "a turn that has nothing new")
	_, err = routing.Join(routing.Turn{Rows: sample(t, p, 0, 0, 0), Padded: true})
	require.ErrorIs(t, err, auxerrors.ErrMismatch)
	_, err = routing.Join(routing.Turn{})
	require.ErrorIs(t, err, auxerrors.ErrTooSmall)
	for _, other := range []routing.Profile{profile(t, 3, 2, 64), profile(t, 2, 3, 64), profile(t, 2, 2, 65), profile(t, 3, 2, 300)} {
		_, err = routing.Join(routing.Turn{Rows: rows}, routing.Turn{Rows: sample(t, other, 5, 1, 0)})
		require.ErrorIs(t, err, auxerrors.ErrMismatch, "%v", other)
		require.ErrorContains(t, err, "2,2,64")
		require.ErrorContains(t, err, other.String())
	}
}

func TestNarrowRowsAreWidenedWhereTheyMeetWideOnes(t *testing.T) {
	narrow, wide := profile(t, 2, 2, 256), profile(t, 2, 2, 512)
	first, second := sample(t, narrow, 0, 3, 0), sample(t, wide, 2, 3, 1)
	for _, turns := range [][]routing.Turn{
		{{Rows: first}, {Rows: second}},
		{{Rows: sample(t, wide, 0, 1, 0)}, {Rows: sample(t, narrow, 1, 1, 0)}},
	} {
		joined, err := routing.Join(turns...)
		require.NoError(t, err)
		require.Equal(t, wide, joined.Profile)
		for i := range joined.Len() {
			from := turns[0].Rows
			if i >= from.Len() {
				from = turns[1].Rows
			}
			require.Equal(t, from.At(joined.Start+i-from.Start, 1, 1), joined.At(i, 1, 1))
		}
	}
}

func TestWideningKeepsIds(t *testing.T) {
	r := sample(t, profile(t, 2, 2, 256), 3, 20, 0)
	same, err := r.Widen(256)
	require.NoError(t, err)
	require.Equal(t, r, same)
	wide, err := r.Widen(257)
	require.NoError(t, err)
	require.Equal(t, 3, wide.Start)
	for i := range r.Len() {
		require.Equal(t, r.At(i, 1, 0), wide.At(i, 1, 0))
	}
	_, err = r.Widen(255)
	require.ErrorIs(t, err, auxerrors.ErrTooSmall)
	_, err = r.Widen(65537)
	require.ErrorIs(t, err, auxerrors.ErrTooLarge)
	_, err = routing.Rows{}.Widen(5)
	require.Error(t, err)
}

func TestPrefillRowsAndDecodeRowsMergeAtTheEndOfThePrompt(t *testing.T) {
	p := profile(t, 2, 2, 64)
	const prompt, tokens = 20, 26
	for _, start := range []int{0, 7, 20} {
		prefill := sample(t, p, start, prompt-start, 1)
		for _, decodeStart := range []int{0, 12, 20} {
			decode := sample(t, p, decodeStart, tokens-1-decodeStart, 2)
			merged, err := routing.MergePrefillDecode(prefill, decode, prompt)
			require.NoError(t, err)
			require.NoError(t, merged.CheckTokens(tokens, 0))
			require.Equal(t, start, merged.Start)
			require.Equal(t, append(append([]byte{}, prefill.Data...), sample(t, p, prompt, 5, 2).Data...), merged.Data)
		}
	}
	decode := sample(t, p, 20, 5, 2)
	for _, tc := range []struct {
		name            string
		prefill, decode routing.Rows
		says            string
	}{
		{"prefill rows that stop short", sample(t, p, 0, 19, 1), decode, "end of the prefill rows: 19, expected 20"},
		{"prefill rows of generated tokens", sample(t, p, 0, 21, 1), decode, "end of the prefill rows: 21, expected 20"},
		{"decode rows with a gap", sample(t, p, 0, 20, 1), sample(t, p, 21, 4, 2), "first position of the decode rows: 21, expected 20"},
		{"decode rows within the prompt", sample(t, p, 0, 20, 1), sample(t, p, 3, 4, 2), "end of the decode rows: 7, expected 20"},
		{"another model", sample(t, p, 0, 20, 1), sample(t, profile(t, 2, 2, 32), 20, 4, 2), "2,2,64"},
		{"no prefill rows", routing.Rows{}, decode, "layers"},
		{"no decode rows", sample(t, p, 0, 20, 1), routing.Rows{}, "layers"},
	} {
		_, err := routing.MergePrefillDecode(tc.prefill, tc.decode, prompt)
		require.ErrorContains(t, err, tc.says, tc.name)
	}
}

func ExampleJoin() {
	p, _ := routing.NewProfile(1, 2, 64)
	first, _ := routing.NewRows(p, 0, []byte{10, 11, 20, 21, 0, 1}) // the last token never ran
	second, _ := routing.NewRows(p, 2, []byte{30, 31, 40, 41})

	joined, err := routing.Join(routing.Turn{Rows: first, Padded: true}, routing.Turn{Rows: second})
	fmt.Println(joined.Data, err)
	// Output: [10 11 20 21 30 31 40 41] <nil>
}
