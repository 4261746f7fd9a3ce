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

func TestAnAnswerHasRowsFromStartToTheLastForwardedToken(t *testing.T) {
	for _, tc := range []struct {
		name             string
		start, forwarded int
		want             routing.Span
		present          bool
	}{
		{"finished, 10 prompt and 5 output tokens", 0, 14, routing.Span{Start: 0, End: 14}, true},
		{"generated rows only", 10, 14, routing.Span{Start: 10, End: 14}, true},
		{"generated rows only, of a single token, which never ran", 10, 10, routing.Span{Start: 10, End: 10}, true},
		{"aborted before any forward pass", 0, 0, routing.Span{}, false},
		{"aborted in the middle of the prompt", 0, 6, routing.Span{Start: 0, End: 6}, true},
		{"aborted before start was reached", 10, 6, routing.Span{}, false},
		{"never", 0, -1, routing.Span{}, false},
		{"a start that Resolve does not give", -1, 6, routing.Span{}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			span, present := routing.AnswerSpan(tc.start, tc.forwarded)
			require.Equal(t, tc.present, present)
			require.Equal(t, tc.want, span)
		})
	}
}

func TestOnlyTheFinalChunkHasTheRows(t *testing.T) {
	s, err := routing.NewStream(2, false)
	require.NoError(t, err)
	for _, forwarded := range []int{6, 7, 9} {
		_, present, err := s.Chunk(forwarded, false)
		require.NoError(t, err)
		require.False(t, present)
	}
	span, present, err := s.Chunk(8, true) // a stop string cut the text
	require.NoError(t, err)
	require.True(t, present)
	require.Equal(t, routing.Span{Start: 2, End: 8}, span)
	_, _, err = s.Chunk(9, true)
	require.ErrorContains(t, err, "after the final one")
}

func TestAStreamThatEndsBeforeAnyForwardPassHasNoRows(t *testing.T) {
	for _, perChunk := range []bool{false, true} {
		s, err := routing.NewStream(0, perChunk)
		require.NoError(t, err)
		_, present, err := s.Chunk(0, true)
		require.NoError(t, err)
		require.False(t, present)
	}
	_, err := routing.NewStream(-1, true)
	require.ErrorIs(t, err, auxerrors.ErrTooSmall)
}

func TestAFinalChunkWithoutTokensStillHasTheField(t *testing.T) {
	s, err := routing.NewStream(0, true)
	require.NoError(t, err)
	span, present, err := s.Chunk(6, false)
	require.NoError(t, err)
	require.True(t, present)
	require.Equal(t, routing.Span{Start: 0, End: 6}, span)
	_, present, err = s.Chunk(6, false)
	require.NoError(t, err)
	require.False(t, present)
	_, _, err = s.Chunk(5, true)
	require.ErrorIs(t, err, auxerrors.ErrOutOfRange, "row 5 was sent")
	span, present, err = s.Chunk(6, true)
	require.NoError(t, err)
	require.True(t, present)
	require.Equal(t, routing.Span{Start: 6, End: 6}, span)
}

func TestChunksCoverTheAnswerOnce(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		start := rapid.IntRange(0, 20).Draw(rt, "start")
		perChunk := rapid.Bool().Draw(rt, "per chunk")
		s, err := routing.NewStream(start, perChunk)
		require.NoError(rt, err)
		forwarded, next, chunks := 0, start, rapid.IntRange(1, 10).Draw(rt, "chunks")
		for i := range chunks {
			forwarded += rapid.IntRange(0, 6).Draw(rt, "tokens")
			span, present, err := s.Chunk(forwarded, i == chunks-1)
			require.NoError(rt, err)
			if present {
				require.Equal(rt, next, span.Start)
				next = span.End
			}
			require.False(rt, !perChunk && present && i < chunks-1)
		}
		whole, present := routing.AnswerSpan(start, forwarded)
		if present {
			require.Equal(rt, whole.End, next)
		} else {
			require.Equal(rt, start, next)
		}
	})
}

func TestSpansSayWhatTheyAre(t *testing.T) {
	require.Equal(t, "[6,7)", routing.Span{Start: 6, End: 7}.String())
	require.Equal(t, math.MaxInt, routing.Span{End: math.MaxInt}.Len())
}

func ExampleStream() {
	const prompt = 4
	stream, err := routing.NewStream(0, true)
	if err != nil {
		fmt.Println(err)
		return
	}
	tokens := prompt
	for i, emitted := range []int{3, 1, 2} {
		tokens += emitted
		span, present, err := stream.Chunk(tokens-1, i == 2)
		fmt.Println(span, present, err)
	}
	// Output:
	// [0,6) true <nil>
	// [6,7) true <nil>
	// [7,9) true <nil>
}
