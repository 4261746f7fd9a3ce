package prefixcache_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/blockhash"
	"github.com/auxoutput/auxoutput/prefixcache"
)

// sequence is a request together with the chain that hashes its tokens.
type sequence struct {
	prefixcache.Request
	chain *blockhash.Chain
}

func newSequence(t testing.TB, hashTokens int, prompt ...uint32) *sequence {
	t.Helper()
	root, err := blockhash.DefaultRoot(blockhash.XXH64)
	require.NoError(t, err)
	chain, err := blockhash.NewChain(blockhash.XXH64, root, hashTokens, blockhash.Request{})
	require.NoError(t, err)
	s := &sequence{chain: chain}
	s.Prompt = len(prompt)
	s.append(prompt...)
	return s
}

func (s *sequence) append(tokens ...uint32) {
	s.chain.Append(tokens...)
	s.Tokens += len(tokens)
	s.Hashes = s.chain.Hashes()
}

// count is the tokens from, from+1, ... of a sequence n long.
func count(from, n int) []uint32 {
	tokens := make([]uint32, n)
	for i := range tokens {
		tokens[i] = uint32(from + i)
	}
	return tokens
}

func newCache(t testing.TB, cfg prefixcache.Config) *prefixcache.Cache {
	t.Helper()
	c, err := prefixcache.New(cfg)
	require.NoError(t, err)
	return c
}

// admit admits all that a sequence has left after its hit, and returns the hit.
func admit(t testing.TB, c *prefixcache.Cache, s *sequence) int {
	t.Helper()
	found, err := c.Lookup(&s.Request, prefixcache.NoLimit)
	require.NoError(t, err)
	hit, ok, err := c.Admit(&s.Request, prefixcache.NoLimit, s.Tokens-found)
	require.NoError(t, err)
	require.True(t, ok, "no room")
	require.Equal(t, found, hit)
	return hit
}

// decode samples a token and allocates for the next step.
func decode(t testing.TB, c *prefixcache.Cache, s *sequence, token uint32) {
	t.Helper()
	s.append(token)
	ok, err := c.Allocate(&s.Request, 1, 0)
	require.NoError(t, err)
	require.True(t, ok, "no room")
}

func full(blockTokens int) prefixcache.Group {
	return prefixcache.Group{Kind: prefixcache.FullAttention, BlockTokens: blockTokens}
}

func window(blockTokens, tokens int) prefixcache.Group {
	return prefixcache.Group{Kind: prefixcache.SlidingWindow, BlockTokens: blockTokens, Window: tokens}
}

func single(blocks, blockTokens int) prefixcache.Config {
	return prefixcache.Config{Blocks: blocks, Groups: []prefixcache.Group{full(blockTokens)}}
}
