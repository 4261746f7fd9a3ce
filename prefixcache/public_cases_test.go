package prefixcache_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/blockhash"
	"github.com/auxoutput/auxoutput/prefixcache"
)

// Bugs that people met in public projects, as far as the KV cache itself is concerned.
// Each name has the number of the case.

func TestPublicCase_PC_016_AKVBlockIsHitWholeAndHashesStayFine(t *testing.T) {
	cfg := single(8, 64)
	cfg.HashTokens = 16
	c := newCache(t, cfg)
	first := newSequence(t, 16, count(0, 100)...)
	require.Zero(t, admit(t, c, first))
	require.NoError(t, c.Free(&first.Request))

	again := newSequence(t, 16, count(0, 100)...)
	require.Len(t, again.Hashes, 6)
	require.Equal(t, 64, admit(t, c, again))
	require.Equal(t, again.Hashes[:4], again.HitHashes(), "four keys for one KV block")
}

func TestPublicCase_PC_079_TheLastBlockOfARequestIsReusedFirst(t *testing.T) {
	c := newCache(t, single(4, 4)) // three blocks, and the null block
	first := newSequence(t, 4, count(0, 12)...)
	require.Zero(t, admit(t, c, first))
	require.NoError(t, c.Free(&first.Request))
	other := newSequence(t, 4, count(100, 4)...)
	require.Zero(t, admit(t, c, other))
	for i, kept := range []bool{true, true, false} {
		require.Equal(t, kept, c.Contains(first.Hashes[i], 0), "block %d", i)
	}
}

func TestPublicCase_PC_083_AHitEndsAtTheFirstGap(t *testing.T) {
	c := newCache(t, single(8, 4))
	first := newSequence(t, 4, count(0, 13)...)
	require.Zero(t, admit(t, c, first))
	require.NoError(t, c.Free(&first.Request))
	require.Equal(t, 1, c.EvictHash(first.Hashes[0]))
	hit, err := c.Lookup(&newSequence(t, 4, count(0, 13)...).Request, prefixcache.NoLimit)
	require.NoError(t, err)
	require.Zero(t, hit, "two blocks are there, and neither is of use")
}

func TestPublicCase_PC_122_EventsOfACoarseGroupHaveItsOwnHashes(t *testing.T) {
	c := newCache(t, prefixcache.Config{
		Blocks: 300, Groups: []prefixcache.Group{full(256), window(4, 9)}, Events: true,
	})
	s := newSequence(t, 4, count(0, 768)...)
	require.Len(t, s.Hashes, 192)
	require.Zero(t, admit(t, c, s))
	coarse, err := blockhash.CoarseView(s.Hashes, 64)
	require.NoError(t, err)
	var of [2][]prefixcache.Event
	for _, e := range c.DrainEvents(nil) {
		of[e.Group] = append(of[e.Group], e)
	}
	require.Equal(t, []prefixcache.Event{{Kind: prefixcache.Stored, Group: 0, Hashes: coarse, Tokens: 768, BlockTokens: 256}}, of[0])
	require.Equal(t, []blockhash.Hash{s.Hashes[63], s.Hashes[127], s.Hashes[191]}, coarse)
	require.Len(t, of[1], 1)
	require.Equal(t, 4, of[1][0].BlockTokens)
	require.Contains(t, of[1][0].Hashes, s.Hashes[191])
	require.Subset(t, s.Hashes, of[1][0].Hashes, "the window's own hashes are the fine ones")
}
