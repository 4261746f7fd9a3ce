package prefixcache

import (
	"slices"
	"testing"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/auxoutput/auxoutput/blockhash"
)

// The order of eviction, checked against an LRU that others wrote, golang-lru,
// where the two contracts coincide.

// TestOneRequestAtATimeIsAnLRU compares with a plain LRU of block hashes. Served
// one after the other, with a last block that is never full, requests leave one
// block without hash, which is always reused first; the others are in order of
// use, tails before heads. golang-lru decides by itself what to evict.
func TestOneRequestAtATimeIsAnLRU(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const block = 2
		blocks := rapid.IntRange(8, 20).Draw(t, "blocks")
		c, err := New(Config{Blocks: blocks, Groups: []Group{{BlockTokens: block}}, Events: true})
		require.NoError(t, err)
		var evicted []blockhash.Hash
		lru, err := simplelru.NewLRU(blocks-2, func(h blockhash.Hash, _ struct{}) { evicted = append(evicted, h) })
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
			evicted = evicted[:0]
			for _, h := range slices.Backward(r.Hashes) {
				lru.Add(h, struct{}{})
			}
			var order []blockhash.Hash
			for _, b := range c.AppendFreeList(nil) {
				for _, k := range keysOf(c, b) {
					order = append(order, k.hash)
				}
			}
			require.Equal(t, lru.Keys(), order, "oldest first")
			removed := []blockhash.Hash{}
			for _, e := range c.DrainEvents(nil) {
				if e.Kind == Removed {
					removed = append(removed, e.Hashes...)
				}
			}
			require.Equal(t, removed, append([]blockhash.Hash{}, evicted...), "what made room, oldest first")
		}
	})
}

// ager keeps the free list with golang-lru: a block ages from the moment when its
// last user is gone. The ones without a hash do not age, for they are reused before
// all others; they lie on a stack. In the order of old they age as all do.
type ager struct {
	t     require.TestingT
	c     *Cache
	users map[int32]int
	lru   *simplelru.LRU[int32, struct{}]
	stack []int32 // the next one first
	aged  int     // blocks that were reused by age
}

func newAger(t require.TestingT, blocks int) *ager {
	lru, err := simplelru.NewLRU[int32, struct{}](blocks, nil) // large enough never to evict by itself
	require.NoError(t, err)
	a := &ager{t: t, users: map[int32]int{}, lru: lru}
	for b := int32(1); b < int32(blocks); b++ {
		a.stack = append(a.stack, b)
	}
	return a
}

func (a *ager) hold(blocks []int32) {
	for _, b := range blocks {
		a.lru.Remove(b)
		a.users[b]++
	}
}

func (a *ager) take(blocks []int32) {
	for _, b := range blocks {
		want := int32(nullBlock)
		if len(a.stack) > 0 {
			want, a.stack = a.stack[0], a.stack[1:]
		} else {
			want, _, _ = a.lru.RemoveOldest()
			a.aged++
		}
		require.Equal(a.t, want, b, "the block that is reused next")
		a.users[b]++
	}
}

func (a *ager) giveBack(blocks []int32) {
	var bare []int32
	for _, b := range slices.Backward(blocks) {
		switch a.users[b]--; {
		case a.users[b] > 0:
		case a.c.index.hashed(b) || a.c.cfg.LegacyFreeOrder:
			a.lru.Add(b, struct{}{})
		default:
			bare = append(bare, b)
		}
	}
	a.stack = append(bare, a.stack...)
}

// reset leaves the order of the list as it is.
func (a *ager) reset() {
	a.stack = append(a.stack, a.lru.Keys()...)
	a.lru.Purge()
}

// TestFreeBlocksAgeAsInAnLRUWhoeverSharesThem has many requests at once: what is
// reused is what golang-lru says is oldest, and the whole free list is in its order.
func TestFreeBlocksAgeAsInAnLRUWhoeverSharesThem(t *testing.T) {
	aged := 0
	for _, kind := range kinds {
		if len(kind.cfg.Groups) > 1 || kind.cfg.Groups[0].Kind != FullAttention || kind.cfg.DisableCaching {
			continue // a window returns blocks in the middle of a request
		}
		t.Run(kind.name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				cfg := kind.cfg
				cfg.Blocks = rapid.IntRange(2, 20).Draw(t, "blocks")
				a := newAger(t, cfg.Blocks)
				walk(t, cfg, a, func(t *rapid.T, w *walker) {
					a.c = w.cache
					want := append(append([]int32{}, a.stack...), a.lru.Keys()...)
					require.Equal(t, want, append([]int32{}, w.cache.AppendFreeList(nil)...))
				})
				aged += a.aged
			})
		})
	}
	require.Positive(t, aged, "no block was ever reused: draw more cases")
}
