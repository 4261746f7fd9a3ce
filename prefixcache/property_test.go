package prefixcache

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/auxoutput/auxoutput/blockhash"
)

// chainOf hashes a sequence of small tokens.
func chainOf(t require.TestingT, hashTokens int, tokens []uint32) []blockhash.Hash {
	root, err := blockhash.DefaultRoot(blockhash.XXH64)
	require.NoError(t, err)
	chain, err := blockhash.NewChain(blockhash.XXH64, root, hashTokens, blockhash.Request{})
	require.NoError(t, err)
	chain.Append(tokens...)
	return chain.Hashes()
}

// TestSearchEqualsTheReferenceWhateverIsMissing punches holes into a long cached
// prompt and searches it with every limit.
func TestSearchEqualsTheReferenceWhateverIsMissing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := drawConfig(t)
		cfg.Blocks, cfg.DisableCaching = 200, false
		p := newPlayer(t, cfg)
		prompt := rapid.IntRange(20, 90).Draw(t, "prompt")
		first := &Request{Prompt: prompt, Tokens: prompt}
		first.Hashes = chainOf(t, p.cache.Config().HashTokens, make([]uint32, prompt))
		_, ok, err := p.cache.Admit(first, NoLimit, prompt)
		require.NoError(t, err)
		require.True(t, ok)
		p.model.admit(first, NoLimit, prompt)

		again := &Request{Prompt: prompt, Tokens: prompt, Hashes: first.Hashes}
		for range rapid.IntRange(0, 12).Draw(t, "holes") {
			b := rapid.IntRange(1, 200-1-p.cache.FreeBlocks()).Draw(t, "block")
			require.NoError(t, p.cache.EvictBlocks(int32(b)))
			p.model.evict(b)
			for limit := range prompt + 1 {
				hit, err := p.cache.Lookup(again, limit)
				require.NoError(t, err)
				want, blocks := p.model.lookup(again, limit)
				require.Equal(t, want, hit, "limit %d", limit)
				for g := range blocks {
					for i, found := range p.cache.hits[g] {
						if found != nullBlock {
							require.EqualValues(t, blocks[g][i], found)
						}
					}
				}
				p.checkHit(t, again, limit, hit)
			}
		}
	})
}
