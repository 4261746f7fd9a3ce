package trace

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestSpansAreExactlyTheBlockSizesThatFit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tokens := rapid.Int64Range(0, 300).Draw(t, "tokens")
		n := rapid.Int64Range(0, 40).Draw(t, "ids")
		full, all := spansOf(tokens, n)
		for block := int64(1); block <= 310; block++ {
			require.Equal(t, tokens/block == n, full.holds(block), "floor, block %d", block)
			require.Equal(t, ceilDiv(tokens, block) == n, all.holds(block), "ceil, block %d", block)
		}
	})
}

func TestTheBlockSizeIsFoundWhateverTheConvention(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		block := int64(1) << rapid.IntRange(0, 10).Draw(t, "power")
		convention := rapid.SampledFrom([]LastBlock{FullOnly, PartialListed, MixedLast}).Draw(t, "convention")
		l := newLayouts(0)
		// Two prompts of many blocks, one with a little more and one with a little
		// less, leave no doubt; the others may be anything.
		lengths := append([]int64{60*block + 1, 61*block + block - 1}, rapid.SliceOf(rapid.Int64Range(0, 100*block)).Draw(t, "lengths")...)
		for i, tokens := range lengths {
			ids := tokens / block
			if convention == PartialListed || convention == MixedLast && i%2 == 0 {
				ids = ceilDiv(tokens, block)
			}
			require.NoError(t, l.observe(tokens, int(ids)))
		}
		got := l.layout()
		require.EqualValues(t, block, got.BlockTokens)
		switch {
		case block == 1:
			require.Equal(t, EitherLast, got.LastBlock)
		case convention != MixedLast:
			require.Equal(t, convention, got.LastBlock)
		}
	})
}

func TestAShortTraceLeavesTheBlockSizeOpen(t *testing.T) {
	for name, lines := range map[string][][2]int64{
		"nothing read":                {},
		"no block at all":             {{5, 0}},
		"one block of unknown length": {{5, 1}},
		"a range without a favourite": {{2000, 3}, {2100, 3}},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLayouts(0)
			for _, line := range lines {
				require.NoError(t, l.observe(line[0], int(line[1])))
			}
			assert.Equal(t, Layout{}, l.layout())
		})
	}
	doubt := newLayouts(0)
	require.NoError(t, doubt.observe(3872, 61)) // all blocks of 64, or full ones of 63
	require.NoError(t, doubt.observe(3905, 61)) // full blocks of 64 or 63
	assert.Equal(t, Layout{}, doubt.layout(), "a mixture of a usual size, or an unusual one")

	odd := newLayouts(0)
	require.NoError(t, odd.observe(300, 100))
	require.NoError(t, odd.observe(302, 100))
	assert.Equal(t, Layout{BlockTokens: 3, LastBlock: FullOnly}, odd.layout(), "the only size that fits need not be a power of two")
}

func TestNamesAreForPeople(t *testing.T) {
	for _, l := range []LastBlock{EitherLast, FullOnly, PartialListed, MixedLast} {
		assert.NotEmpty(t, l.String())
	}
	for _, f := range []Format{Mooncake, Qwen, Runs, WEKA, Azure} {
		assert.NotEqual(t, "unknown", f.String())
	}
	assert.Equal(t, "unknown", Format(0).String())
}
