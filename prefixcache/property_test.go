package prefixcache

import (
	"slices"
	"testing"

	"github.com/hashicorp/golang-lru/v2/simplelru"
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

// TestHitShrinksWithWhatIsCached drops blocks one by one: with one group a hit
// never gets longer by it.
func TestHitShrinksWithWhatIsCached(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := Config{Blocks: 40, Groups: []Group{{BlockTokens: 4}}, Eagle: rapid.Bool().Draw(t, "eagle")}
		if rapid.Bool().Draw(t, "window") {
			cfg.Groups[0].Kind = SlidingWindow
			cfg.Groups[0].Window = rapid.IntRange(1, 20).Draw(t, "window tokens")
		}
		c, err := New(cfg)
		require.NoError(t, err)
		tokens := make([]uint32, rapid.IntRange(1, 100).Draw(t, "prompt"))
		first := &Request{Prompt: len(tokens), Tokens: len(tokens), Hashes: chainOf(t, 4, tokens)}
		_, ok, err := c.Admit(first, NoLimit, len(tokens))
		require.NoError(t, err)
		require.True(t, ok)

		again := &Request{Prompt: first.Prompt, Tokens: first.Tokens, Hashes: first.Hashes}
		hit, err := c.Lookup(again, NoLimit)
		require.NoError(t, err)
		for range 10 {
			b := rapid.SampledFrom(first.Table(0)).Draw(t, "block")
			require.NoError(t, c.EvictBlocks(b))
			shorter, err := c.Lookup(again, NoLimit)
			require.NoError(t, err)
			require.LessOrEqual(t, shorter, hit)
			hit = shorter
		}
	})
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

// TestOneRequestAtATimeIsAnLRU compares with a plain LRU of block hashes. Served
// one after the other, with a last block that is never full, requests leave one
// block without hash, which is always reused first; the others are in order of
// use, tails before heads.
func TestOneRequestAtATimeIsAnLRU(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const block = 2
		blocks := rapid.IntRange(8, 20).Draw(t, "blocks")
		c, err := New(Config{Blocks: blocks, Groups: []Group{{BlockTokens: block}}})
		require.NoError(t, err)
		lru, err := simplelru.NewLRU[blockhash.Hash, struct{}](blocks-2, nil)
		require.NoError(t, err)

		for range rapid.IntRange(1, 40).Draw(t, "requests") {
			tokens := make([]uint32, block*rapid.IntRange(1, min(6, blocks-2)).Draw(t, "full blocks")+1)
			for i := range tokens {
				tokens[i] = uint32(rapid.IntRange(0, 5).Draw(t, "token") / 5)
			}
			r := &Request{Prompt: len(tokens), Tokens: len(tokens), Hashes: chainOf(t, block, tokens)}
			want := 0
			for want < len(r.Hashes) && lru.Contains(r.Hashes[want]) {
				want++
			}
			found, err := c.Lookup(r, NoLimit)
			require.NoError(t, err)
			require.Equal(t, want*block, found)
			_, ok, err := c.Admit(r, NoLimit, r.Tokens-found)
			require.NoError(t, err)
			require.True(t, ok)
			require.NoError(t, c.Free(r))

			for _, h := range slices.Backward(r.Hashes[:want]) {
				lru.Get(h)
			}
			for _, h := range slices.Backward(r.Hashes) {
				lru.Add(h, struct{}{})
			}
			var order []blockhash.Hash
			for _, b := range c.AppendFreeList(nil) {
				if c.index.hashed(b) {
					order = append(order, c.index.entries[c.index.first[b]].key.hash)
				}
			}
			require.Equal(t, lru.Keys(), order, "oldest first")
		}
	})
}
