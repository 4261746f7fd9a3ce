package prefixcache

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// The properties that the study of vLLM's prefix cache asks of a faithful model,
// P1 to P5 in its order. Each is looked at from outside where that is possible, by
// way of the tables of the requests, so that a count which is wrong in the same
// way everywhere is noticed too.

// kinds are caches with each kind of group, and with each odd option.
var kinds = []struct {
	name string
	cfg  Config
}{
	{"full attention", Config{Groups: []Group{{BlockTokens: 2}}}},
	{"a sliding window", Config{Groups: []Group{{Kind: SlidingWindow, BlockTokens: 2, Window: 5}}}},
	{"a window that sees one token", Config{Groups: []Group{{Kind: SlidingWindow, BlockTokens: 2, Window: 1}}}},
	{"blocks of several hashes", Config{HashTokens: 2, Groups: []Group{{BlockTokens: 6}}}},
	{"full attention beside a finer window", Config{Groups: []Group{{BlockTokens: 8}, {Kind: SlidingWindow, BlockTokens: 2, Window: 4}}}},
	{"full attention beside a coarser window", Config{Groups: []Group{{BlockTokens: 2}, {Kind: SlidingWindow, BlockTokens: 4, Window: 9}}}},
	{"groups of equal shape", Config{Groups: []Group{{BlockTokens: 4}, {BlockTokens: 4}, {Kind: SlidingWindow, BlockTokens: 4, Window: 6}}}},
	{"EAGLE", Config{Eagle: true, Groups: []Group{{BlockTokens: 2}, {Kind: SlidingWindow, BlockTokens: 2, Window: 5}}}},
	{"EAGLE beside a finer window", Config{Eagle: true, Groups: []Group{{BlockTokens: 8}, {Kind: SlidingWindow, BlockTokens: 4, Window: 6}}}},
	{"EAGLE beside a coarser window", Config{Eagle: true, Groups: []Group{{BlockTokens: 4}, {Kind: SlidingWindow, BlockTokens: 8, Window: 13}}}},
	{"the free order of old", Config{LegacyFreeOrder: true, Groups: []Group{{BlockTokens: 2}}}},
	{"no caching", Config{DisableCaching: true, Groups: []Group{{BlockTokens: 2}}}},
}

// everyKind checks an invariant along drawn steps on every kind of cache, and on
// drawn ones. start makes what the invariant remembers from step to step.
func everyKind(t *testing.T, start func() func(*rapid.T, *walker)) {
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				cfg := kind.cfg
				cfg.Events, cfg.Blocks = true, rapid.IntRange(2, 30).Draw(t, "blocks")
				walk(t, cfg, nil, start())
			})
		})
	}
	t.Run("a drawn one", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) { walk(t, drawConfig(t), nil, start()) })
	})
}

// remembersNothing is an invariant of one moment.
func remembersNothing(check func(*rapid.T, *walker)) func() func(*rapid.T, *walker) {
	return func() func(*rapid.T, *walker) { return check }
}

// usersByTables counts how often each block stands in a table.
func (w *walker) usersByTables() map[int32]int {
	users := map[int32]int{}
	for _, r := range w.running {
		for g := range w.cache.groups {
			for _, b := range r.Table(g) {
				if b != nullBlock {
					users[b]++
				}
			}
		}
	}
	return users
}

// P1: every block but the null block is either in some table or on the free list,
// and never both.
func TestP1_UsedAndFreeBlocksAreAllBlocksButTheNullBlock(t *testing.T) {
	everyKind(t, remembersNothing(func(t *rapid.T, w *walker) {
		used, free := w.usersByTables(), w.cache.AppendFreeList(nil)
		require.Len(t, free, w.cache.FreeBlocks())
		require.Equal(t, w.cache.cfg.Blocks-1, len(used)+len(free))
		seen := map[int32]bool{}
		for _, b := range free {
			require.Positive(t, b, "the null block is never free")
			require.Zero(t, used[b], "block %d is free and in a table", b)
			require.False(t, seen[b], "block %d is free twice", b)
			seen[b] = true
		}
	}))
}

// P2: a block on the free list has no user, and every other one has as many as
// tables list it.
func TestP2_AFreeBlockHasNoUser(t *testing.T) {
	everyKind(t, remembersNothing(func(t *rapid.T, w *walker) {
		users := w.usersByTables()
		for b := int32(1); b < int32(w.cache.cfg.Blocks); b++ {
			require.EqualValues(t, users[b], w.cache.pool.users[b], "users of block %d", b)
		}
		for _, b := range w.cache.AppendFreeList(nil) {
			require.Zero(t, w.cache.pool.users[b], "users of free block %d", b)
		}
	}))
}

// keysOf lists what a block is filed under.
func keysOf(c *Cache, b int32) []key {
	var keys []key
	for e := c.index.first[b]; e != 0; e = c.index.entries[e].more {
		keys = append(keys, c.index.entries[e].key)
	}
	return keys
}

// P3: a block that the map lists under a hash carries that hash, the other way
// round too; and a block in use carries no hash but those of the tokens that its
// users have there.
func TestP3_ABlockInTheMapCarriesItsKey(t *testing.T) {
	everyKind(t, remembersNothing(func(t *rapid.T, w *walker) {
		c := w.cache
		checkInside(t, c) // from the map to the blocks
		for b := int32(0); b < int32(c.cfg.Blocks); b++ {
			for _, k := range keysOf(c, b) {
				require.Contains(t, ringOf(c, k), int(b), "a key of block %d leads elsewhere", b)
			}
		}
		for _, r := range w.running {
			hashes := w.chains[r].Hashes() // also the ones that come late
			for g := range c.groups {
				per := c.groups[g].hashes
				for i, b := range r.Table(g) {
					for _, k := range keysOf(c, b) {
						require.EqualValues(t, g, k.group, "a block is of one group at a time")
						require.Contains(t, hashes[i*per:min((i+1)*per, len(hashes))], k.hash, "block %d, number %d of its request", b, i)
					}
				}
			}
		}
	}))
}

// P4: with one group, whatever the cache loses, a hit gets no longer by it; and as
// any smaller set of cached blocks can be reached by losing blocks, a hit is the
// longer the more is cached.
func TestP4_AHitIsNoLongerWithLessCached(t *testing.T) {
	for _, kind := range []struct {
		name          string
		window, eagle bool
	}{
		{"full attention", false, false}, {"full attention under EAGLE", false, true},
		{"a sliding window", true, false}, {"a sliding window under EAGLE", true, true},
	} {
		t.Run(kind.name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				cfg := Config{Blocks: 120, Groups: []Group{{BlockTokens: 4}}, Eagle: kind.eagle}
				cfg.HashTokens = rapid.SampledFrom([]int{2, 4}).Draw(t, "hash tokens")
				cfg.SchedulerTokens = rapid.SampledFrom([]int{4, 8, 12}).Draw(t, "scheduler tokens")
				if kind.window {
					cfg.Groups[0].Kind = SlidingWindow
					cfg.Groups[0].Window = rapid.IntRange(1, 20).Draw(t, "window tokens")
				}
				c, err := New(cfg)
				require.NoError(t, err)
				loseBlocks(t, c)
			})
		})
	}
}

// loseBlocks registers a prompt, perhaps twice, and takes one block after the other
// away, the hit's last ones more often than others.
func loseBlocks(t *rapid.T, c *Cache) {
	tokens := make([]uint32, rapid.SampledFrom([]int{1, 4, 9, 17, 24, 41, 64, 99}).Draw(t, "prompt"))
	hashes := chainOf(t, c.cfg.HashTokens, tokens)
	for range rapid.IntRange(1, 2).Draw(t, "copies") {
		r := &Request{Prompt: len(tokens), Tokens: len(tokens), Hashes: hashes, SkipLookup: true}
		_, ok, err := c.Admit(r, NoLimit, len(tokens))
		require.NoError(t, err)
		require.True(t, ok)
	}
	again := &Request{Prompt: len(tokens), Tokens: len(tokens), Hashes: hashes}
	limit := rapid.SampledFrom([]int{NoLimit, 17, 32}).Draw(t, "limit")
	hit, err := c.Lookup(again, limit)
	require.NoError(t, err)
	for range 20 {
		if blocks := len(tokens) / 4; blocks > 0 && rapid.IntRange(0, 2).Draw(t, "near the end of the hit") > 0 {
			at := hit/4 + rapid.IntRange(-3, 2).Draw(t, "from there")
			c.EvictHash(c.groups[0].key(hashes, min(max(0, at), blocks-1)).hash)
		} else {
			require.NoError(t, c.EvictBlocks(int32(rapid.IntRange(1, c.cfg.Blocks-1-c.FreeBlocks()).Draw(t, "block"))))
		}
		shorter, err := c.Lookup(again, limit)
		require.NoError(t, err)
		require.LessOrEqual(t, shorter, hit)
		hit = shorter
	}
}

// replica is what somebody knows who follows the events and nothing else: how many
// blocks each group has under each hash.
type replica map[key]int

func (r replica) apply(t *rapid.T, events []Event) {
	for _, e := range events {
		switch e.Kind {
		case Stored:
			for _, h := range e.Hashes {
				r[key{hash: h, group: uint8(e.Group)}]++
			}
		case Removed:
			require.Len(t, e.Hashes, 1)
			k := key{hash: e.Hashes[0], group: uint8(e.Group)}
			require.Positive(t, r[k], "removed, and was not there")
			if r[k]--; r[k] == 0 {
				delete(r, k)
			}
		case Cleared:
			clear(r)
		}
	}
}

// P5: the events, applied in order to an empty map, give the cache's own map after
// every step: the same hashes in the same groups, each with as many blocks.
func TestP5_ReplayedEventsGiveTheMapBack(t *testing.T) {
	everyKind(t, func() func(*rapid.T, *walker) {
		copies := replica{}
		return func(t *rapid.T, w *walker) {
			c := w.cache
			copies.apply(t, c.DrainEvents(nil))
			own := replica{}
			for b := int32(0); b < int32(c.cfg.Blocks); b++ {
				for _, k := range keysOf(c, b) {
					own[k]++
				}
			}
			require.Equal(t, own, copies)
			require.Equal(t, len(copies), c.Keys())
			for _, r := range w.running {
				for _, h := range r.Hashes {
					for g := range c.groups {
						require.Equal(t, copies[key{hash: h, group: uint8(g)}] > 0, c.Contains(h, g))
					}
				}
			}
		}
	})
}

// P5 once more for a consumer that drains now and then: events pile up in order.
func TestP5_EventsMayBeDrainedAtAnyTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		copies := replica{}
		walk(t, drawConfig(t), nil, func(t *rapid.T, w *walker) {
			if rapid.IntRange(0, 5).Draw(t, "drain") > 0 {
				return
			}
			copies.apply(t, w.cache.DrainEvents(nil))
			require.Len(t, copies, w.cache.Keys())
			for k := range copies {
				require.True(t, w.cache.Contains(k.hash, int(k.group)))
			}
		})
	})
}
