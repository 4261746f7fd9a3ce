package prefixcache_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/blockhash"
	"github.com/auxoutput/auxoutput/prefixcache"
)

func TestPromptServedTwiceHits(t *testing.T) {
	for _, test := range []struct {
		name              string
		prompt            int
		hit, eagle        int
		groups            []prefixcache.Group
		nulls, nullsEagle int
	}{
		{name: "nothing without a full block", prompt: 15, groups: []prefixcache.Group{full(16)}},
		{name: "nothing if the only block holds the last token", prompt: 16, groups: []prefixcache.Group{full(16)}},
		{name: "one block before the last token", prompt: 17, hit: 16, groups: []prefixcache.Group{full(16)}},
		{name: "all but the last block of an aligned prompt", prompt: 48, hit: 32, eagle: 16, groups: []prefixcache.Group{full(16)}},
		{name: "every full block of an unaligned prompt", prompt: 49, hit: 48, eagle: 32, groups: []prefixcache.Group{full(16)}},
		{
			name: "only the blocks inside a window", prompt: 1000, hit: 992, eagle: 976,
			groups: []prefixcache.Group{window(16, 128)}, nulls: 54, nullsEagle: 53,
		},
	} {
		for _, eagle := range []bool{false, true} {
			want, nulls, name := test.hit, test.nulls, test.name
			if eagle {
				want, nulls, name = test.eagle, test.nullsEagle, name+" under EAGLE"
			}
			t.Run(name, func(t *testing.T) {
				c := newCache(t, prefixcache.Config{Blocks: 100, Groups: test.groups, Eagle: eagle})
				first := newSequence(t, 16, count(0, test.prompt)...)
				require.Zero(t, admit(t, c, first))
				require.NoError(t, c.Free(&first.Request))
				again := newSequence(t, 16, count(0, test.prompt)...)
				require.Equal(t, want, admit(t, c, again))
				require.Equal(t, want, again.Hit())
				require.Equal(t, again.Hashes[:want/16], again.HitHashes())
				got := 0
				for _, b := range again.Table(0) {
					if b == 0 {
						got++
					}
				}
				require.Equal(t, nulls, got, "null blocks")
			})
		}
	}
}

// TestReferenceTraceInBothFreeOrders is the worked trace of 7 blocks of 4 tokens:
// requests A, B and C share prefixes, and B ends with a block that has no hash.
func TestReferenceTraceInBothFreeOrders(t *testing.T) {
	for _, test := range []struct {
		name                        string
		legacy                      bool
		afterB, afterDecode, afterC []int32
		removed                     bool
	}{
		{name: "blocks without hash go to the head since PR 42656",
			afterB: []int32{5, 3, 4}, afterDecode: []int32{3, 4}, afterC: []int32{5, 3, 4, 6, 2, 1}},
		{name: "blocks without hash went to the tail before", legacy: true,
			afterB: []int32{3, 5, 4}, afterDecode: []int32{5, 4}, afterC: []int32{5, 4, 3, 6, 2, 1}, removed: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			cfg := single(7, 4)
			cfg.LegacyFreeOrder, cfg.Events = test.legacy, true
			c := newCache(t, cfg)
			free := func() []int32 { return c.AppendFreeList(nil) }

			a := newSequence(t, 4, count(0, 10)...)
			require.Zero(t, admit(t, c, a))
			require.Equal(t, []int32{4, 5, 6}, free())
			decode(t, c, a, 10)
			require.Equal(t, 2, c.Keys())
			decode(t, c, a, 11)
			require.Equal(t, 3, c.Keys(), "the third block is full")
			require.NoError(t, c.Free(&a.Request))
			require.Equal(t, []int32{4, 5, 6, 3, 2, 1}, free())

			b := newSequence(t, 4, append(count(0, 8), 90, 91, 92, 93, 94)...)
			require.Equal(t, 8, admit(t, c, b))
			require.Equal(t, []int32{1, 2, 4, 5}, b.Table(0))
			require.Equal(t, []int32{6, 3}, free())

			d := newSequence(t, 4, count(0, 12)...)
			require.Equal(t, 8, admit(t, c, d), "the block of the last token is computed again")
			require.Equal(t, []int32{1, 2, 6}, d.Table(0))
			require.Equal(t, 4, c.Keys(), "a second copy is no second key")
			require.NoError(t, c.Free(&b.Request))
			require.Equal(t, test.afterB, free())

			c.DrainEvents(nil)
			decode(t, c, d, 12)
			require.Equal(t, test.afterDecode, free())
			events := c.DrainEvents(nil)
			if test.removed {
				require.Equal(t, []prefixcache.Event{{Kind: prefixcache.Removed, Hashes: d.Hashes[2:3]}}, events)
			} else {
				require.Empty(t, events)
			}
			require.True(t, c.Contains(d.Hashes[2], 0), "the other copy can still be hit")
			require.NoError(t, c.Free(&d.Request))
			require.Equal(t, test.afterC, free())
		})
	}
}

func TestLimitShortensAHitToWhatIsLegal(t *testing.T) {
	eagle := single(40, 4)
	eagle.Eagle = true
	coarse := single(40, 4)
	coarse.SchedulerTokens = 8
	mixed := prefixcache.Config{Blocks: 60, Groups: []prefixcache.Group{full(8), window(4, 5)}}
	for _, test := range []struct {
		name        string
		cfg         prefixcache.Config
		limit, want int
	}{
		{"a limit inside a block is rounded down", single(40, 4), 11, 8},
		{"a limit on a block boundary is kept", single(40, 4), 12, 12},
		{"a limit of 0 hits nothing", single(40, 4), 0, 0},
		{"a limit beyond the hit changes nothing", single(40, 4), 100, 28},
		{"under EAGLE the block to drop may lie past the limit", eagle, 12, 12},
		{"under EAGLE a limit beyond the hit changes nothing", eagle, 28, 24},
		{"with several groups it is rounded to the scheduler size", mixed, 15, 8},
		{"a scheduler size that is given counts like one", coarse, 100, 24},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newCache(t, test.cfg)
			first := newSequence(t, 4, count(0, 30)...)
			admit(t, c, first)
			again := newSequence(t, 4, count(0, 30)...)
			found, err := c.Lookup(&again.Request, test.limit)
			require.NoError(t, err)
			require.Equal(t, test.want, found)
			hit, ok, err := c.Admit(&again.Request, test.limit, 30-found)
			require.NoError(t, err)
			require.True(t, ok)
			require.Equal(t, test.want, hit)
		})
	}
}

func TestLookupChangesNothing(t *testing.T) {
	cfg := single(10, 4)
	cfg.Events = true
	c := newCache(t, cfg)
	first := newSequence(t, 4, count(0, 13)...)
	admit(t, c, first)
	require.NoError(t, c.Free(&first.Request))
	before, stats := c.AppendFreeList(nil), c.Stats()
	c.DrainEvents(nil)

	again := newSequence(t, 4, count(0, 13)...)
	for range 3 {
		found, err := c.Lookup(&again.Request, prefixcache.NoLimit)
		require.NoError(t, err)
		require.Equal(t, 12, found)
	}
	require.Equal(t, before, c.AppendFreeList(nil))
	require.Equal(t, stats, c.Stats())
	require.Empty(t, c.DrainEvents(nil))
	require.False(t, again.Admitted())
}

func TestAdmissionWithoutRoomChangesNothing(t *testing.T) {
	c := newCache(t, single(6, 4))
	a := newSequence(t, 4, count(0, 8)...)
	admit(t, c, a)
	require.NoError(t, c.Free(&a.Request))
	before := c.AppendFreeList(nil)

	// One hit block leaves the free list and 5 new ones are asked of the other 4.
	b := newSequence(t, 4, append(count(0, 4), count(50, 20)...)...)
	hit, ok, err := c.Admit(&b.Request, prefixcache.NoLimit, 20)
	require.NoError(t, err)
	require.False(t, ok)
	require.Equal(t, 4, hit)
	require.Equal(t, before, c.AppendFreeList(nil))
	require.False(t, b.Admitted())

	hit, ok, err = c.Admit(&b.Request, prefixcache.NoLimit, 16)
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, 4, hit)
	require.Zero(t, c.FreeBlocks())
}

func TestStepWithoutRoomReturnsWhatTheWindowHasPassed(t *testing.T) {
	c := newCache(t, prefixcache.Config{Blocks: 5, Groups: []prefixcache.Group{window(4, 4)}})
	a := newSequence(t, 4, count(0, 16)...)
	hit, ok, err := c.Admit(&a.Request, prefixcache.NoLimit, 12)
	require.NoError(t, err)
	require.True(t, ok)
	require.Zero(t, hit)
	other := newSequence(t, 4, 70)
	admit(t, c, other)
	require.Zero(t, c.FreeBlocks())

	ok, err = c.Allocate(&a.Request, 4, 20)
	require.NoError(t, err)
	require.False(t, ok, "6 blocks more are wanted and 2 are free")
	require.Equal(t, []int32{0, 0, 3}, a.Table(0))
	require.Equal(t, 12, a.Computed())
	ok, err = c.Allocate(&a.Request, 4, 0)
	require.NoError(t, err)
	require.True(t, ok)
}

func TestPreemptedRequestHitsItsOwnBlocks(t *testing.T) {
	c := newCache(t, single(10, 4))
	a := newSequence(t, 4, count(0, 9)...)
	admit(t, c, a)
	decode(t, c, a, 9)
	require.NoError(t, c.Preempt(&a.Request))
	require.Zero(t, a.Computed())
	require.Equal(t, 9, c.FreeBlocks())
	require.Equal(t, 8, admit(t, c, a))
	require.Equal(t, prefixcache.Stats{
		New:     prefixcache.Lookups{Requests: 1, Tokens: 9},
		Resumed: prefixcache.Lookups{Requests: 1, Tokens: 10, HitTokens: 8},
	}, c.Stats())
}

func TestRequestCanSkipTheLookup(t *testing.T) {
	c := newCache(t, single(10, 4))
	a := newSequence(t, 4, count(0, 9)...)
	admit(t, c, a)
	b := newSequence(t, 4, count(0, 9)...)
	b.SkipLookup = true
	require.Zero(t, admit(t, c, b))
	require.Equal(t, int64(1), c.Stats().New.Requests)
	require.Equal(t, b.Hashes, b.Registered(0))
}

func TestCachingCanBeOff(t *testing.T) {
	cfg := single(6, 4)
	cfg.DisableCaching, cfg.Events = true, true
	c := newCache(t, cfg)
	for range 2 {
		a := newSequence(t, 4, count(0, 9)...)
		require.Zero(t, admit(t, c, a))
		require.Empty(t, a.Registered(0))
		require.NoError(t, c.Free(&a.Request))
	}
	require.Equal(t, []int32{2, 1, 3, 5, 4}, c.AppendFreeList(nil), "all go to the tail")
	require.Zero(t, c.Keys())
	require.Empty(t, c.DrainEvents(nil))
}

func TestEvictedBlocksStayWhereTheyAre(t *testing.T) {
	cfg := single(10, 4)
	cfg.Events = true
	c := newCache(t, cfg)
	a := newSequence(t, 4, count(0, 13)...)
	admit(t, c, a)
	c.DrainEvents(nil)
	require.NoError(t, c.EvictBlocks(2, 9))
	require.Equal(t, []prefixcache.Event{{Kind: prefixcache.Removed, Hashes: a.Hashes[1:2]}}, c.DrainEvents(nil))
	require.Equal(t, []int32{1, 2, 3, 4}, a.Table(0))
	require.Equal(t, int64(1), c.Stats().Dropped)
	decode(t, c, a, 13)
	require.False(t, c.Contains(a.Hashes[1], 0), "a block is registered once")

	b := newSequence(t, 4, count(0, 13)...)
	require.Equal(t, 4, admit(t, c, b))
}

func TestEvictingAHashDropsEveryCopy(t *testing.T) {
	c := newCache(t, prefixcache.Config{Blocks: 30, Groups: []prefixcache.Group{full(4), window(4, 8)}})
	a, b := newSequence(t, 4, count(0, 8)...), newSequence(t, 4, count(0, 8)...)
	admit(t, c, a)
	admit(t, c, b) // computes the second block once more, in both groups
	require.Equal(t, 4, c.EvictHash(a.Hashes[1]))
	require.False(t, c.Contains(a.Hashes[1], 0))
	require.False(t, c.Contains(a.Hashes[1], 1))
	require.True(t, c.Contains(a.Hashes[0], 1))
	require.Zero(t, c.EvictHash(a.Hashes[1]))
	require.Zero(t, c.EvictHash(blockhash.Hash{}))
	require.False(t, c.Contains(a.Hashes[0], 2))
	require.False(t, c.Contains(a.Hashes[0], -1))
}

func TestResetNeedsAnIdleCache(t *testing.T) {
	cfg := single(10, 4)
	cfg.Events = true
	c := newCache(t, cfg)
	a := newSequence(t, 4, count(0, 9)...)
	admit(t, c, a)
	require.False(t, c.Reset())
	require.Equal(t, 2, c.Keys())
	require.NoError(t, c.Free(&a.Request))
	before := c.AppendFreeList(nil)
	c.DrainEvents(nil)
	require.True(t, c.Reset())
	require.Zero(t, c.Keys())
	require.Equal(t, before, c.AppendFreeList(nil))
	require.Equal(t, []prefixcache.Event{{Kind: prefixcache.Cleared}}, c.DrainEvents(nil))
	again := newSequence(t, 4, count(0, 9)...)
	require.Zero(t, admit(t, c, again))
}

func TestGroupsOfEqualShapeAreHitTogether(t *testing.T) {
	c := newCache(t, prefixcache.Config{Blocks: 30, Groups: []prefixcache.Group{full(4), full(4)}})
	a := newSequence(t, 4, count(0, 13)...)
	admit(t, c, a)
	require.NoError(t, c.EvictBlocks(a.Table(1)[1]))
	b := newSequence(t, 4, count(0, 13)...)
	require.Equal(t, 4, admit(t, c, b))
	require.Equal(t, a.Table(0)[:1], b.Table(0)[:1])
	require.Equal(t, a.Table(1)[:1], b.Table(1)[:1])
}

func TestRequestCanBeUsedForAnotherSequence(t *testing.T) {
	c := newCache(t, single(20, 4))
	a := newSequence(t, 4, count(0, 30)...)
	admit(t, c, a)
	require.NoError(t, c.Free(&a.Request))
	require.Nil(t, a.Table(0))
	require.Nil(t, a.HitHashes())
	require.Nil(t, a.Registered(0))

	other := newSequence(t, 4, count(500, 6)...)
	a.Prompt, a.Tokens, a.Hashes = 6, 6, other.Hashes
	require.Zero(t, admit(t, c, a))
	require.Len(t, a.Table(0), 2)
}
