package prefixcache_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/blockhash"
	"github.com/auxoutput/auxoutput/prefixcache"
)

func TestDraftsAreNeverRegistered(t *testing.T) {
	c := newCache(t, single(10, 4))
	a := newSequence(t, 4, count(0, 6)...)
	admit(t, c, a)
	a.append(6)
	ok, err := c.Allocate(&a.Request, 1, 3) // tokens 6 to 9, of which 7 to 9 are guesses
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, 10, a.Computed())
	require.Len(t, a.Table(0), 3)
	require.Equal(t, 1, c.Keys(), "the second block holds a guess")

	require.NoError(t, c.Reject(&a.Request, 2))
	a.append(7, 8) // the draft that was accepted, and the one the model sampled
	require.Equal(t, 8, a.Computed())
	ok, err = c.Allocate(&a.Request, 1, 0)
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, 2, c.Keys())
	require.Equal(t, a.Hashes, a.Registered(0))
}

func TestStopTokenThatFillsABlockIsNotRegistered(t *testing.T) {
	c := newCache(t, single(10, 4))
	a := newSequence(t, 4, count(0, 7)...)
	admit(t, c, a)
	a.append(7) // completes the second block, and nothing is scheduled after it
	require.Len(t, a.Hashes, 2)
	require.Equal(t, a.Hashes[:1], a.Registered(0))
	require.False(t, c.Contains(a.Hashes[1], 0))
}

func TestHashesThatComeLateAreRegisteredLate(t *testing.T) {
	c := newCache(t, single(10, 4))
	a := newSequence(t, 4, count(0, 9)...)
	all := a.Hashes
	a.Hashes = all[:1]
	admit(t, c, a)
	require.Equal(t, 1, c.Keys())
	a.append(9)
	a.Hashes = all
	ok, err := c.Allocate(&a.Request, 1, 0)
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, 2, c.Keys())
}

func TestEventsCanBeOff(t *testing.T) {
	cfg := single(10, 8)
	cfg.HashTokens = 4
	c := newCache(t, cfg)
	a := newSequence(t, 4, count(0, 14)...)
	admit(t, c, a)
	require.Equal(t, 2, c.Keys())
	require.NoError(t, c.Free(&a.Request))
	require.True(t, c.Reset())
	require.Empty(t, c.DrainEvents(nil))
}

// TestPromptEndInsideACoarseBlockIsOneMoreKey has blocks of 8 tokens and hashes of
// 4: the prompt of 14 tokens has a hash boundary at 12, inside the second block.
func TestPromptEndInsideACoarseBlockIsOneMoreKey(t *testing.T) {
	cfg := single(10, 8)
	cfg.HashTokens, cfg.Events = 4, true
	c := newCache(t, cfg)
	a := newSequence(t, 4, count(0, 14)...)
	admit(t, c, a)
	part := prefixcache.Event{Kind: prefixcache.Stored, Hashes: a.Hashes[2:3], Parent: a.Hashes[1], Tokens: 4, BlockTokens: 4}
	require.Equal(t, []prefixcache.Event{
		{Kind: prefixcache.Stored, Hashes: a.Hashes[1:2], Tokens: 8, BlockTokens: 8}, part,
	}, c.DrainEvents(nil))
	require.Equal(t, a.Hashes[:2], a.Registered(0), "only whole blocks count")
	decode(t, c, a, 14)
	decode(t, c, a, 15)
	require.Equal(t, []prefixcache.Event{
		{Kind: prefixcache.Removed, Hashes: a.Hashes[2:3]},
		{Kind: prefixcache.Stored, Hashes: a.Hashes[3:4], Parent: a.Hashes[1], Tokens: 8, BlockTokens: 8}, part,
	}, c.DrainEvents(nil), "the entry goes, and comes back behind the key of the full block")
	require.Equal(t, 3, c.Keys())
	require.NoError(t, c.EvictBlocks(a.Table(0)[1]))
	require.Equal(t, []prefixcache.Event{
		{Kind: prefixcache.Removed, Hashes: a.Hashes[3:4]},
		{Kind: prefixcache.Removed, Hashes: a.Hashes[2:3]},
	}, c.DrainEvents(nil), "the key of the full block first")
	decode(t, c, a, 16)
	require.Equal(t, []prefixcache.Event{part}, c.DrainEvents(nil), "the next step files the entry again, the full block not")
}

// TestEagleLooksAheadFromTheFirstWholeSchedulerUnitOn has a scheduler unit of 8
// tokens and blocks of 8 and 4.
func TestEagleLooksAheadFromTheFirstWholeSchedulerUnitOn(t *testing.T) {
	c := newCache(t, prefixcache.Config{
		Blocks: 30, Groups: []prefixcache.Group{full(8), window(4, 9)}, Eagle: true,
	})
	a := newSequence(t, 4, count(0, 4)...)
	admit(t, c, a)
	for token := 4; token < 20; token++ {
		decode(t, c, a, uint32(token))
		blocks := 0 // of the window group
		if computed := token + 1; computed >= 8 {
			blocks = computed/8*2 + computed%8/4
		}
		require.Len(t, a.Registered(1), blocks, "%d tokens computed", token+1)
		require.Equal(t, len(a.Registered(1)), c.RegisteredBy(&a.Request, token+1, 1))
		require.Len(t, a.Registered(0), (token+1)/8*2)
	}
}

func TestResumedRequestFindsThePromptEndInItsOwnBlock(t *testing.T) {
	cfg := single(10, 8)
	cfg.HashTokens, cfg.Events = 4, true
	c := newCache(t, cfg)
	a := newSequence(t, 4, count(0, 14)...)
	admit(t, c, a)
	for token := range uint32(3) {
		decode(t, c, a, 14+token)
	}
	require.NoError(t, c.Preempt(&a.Request))
	c.DrainEvents(nil)
	require.Equal(t, 16, admit(t, c, a))
	require.Empty(t, c.DrainEvents(nil), "the entry at token 12 is there already")
	require.Equal(t, 3, c.Keys())
}

// TestUnreachableWindowBlocksAreLeftOut has hits that end on multiples of 16, of
// which a window of 5 tokens needs the last block of 4 only.
func TestUnreachableWindowBlocksAreLeftOut(t *testing.T) {
	for _, test := range []struct {
		name  string
		eagle bool
		want  []int
	}{
		{"all but the one before each possible end of a hit", false, []int{3, 7}},
		{"under EAGLE also the one after it is kept", true, []int{3, 4, 7, 8}},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newCache(t, prefixcache.Config{
				Blocks: 30, Groups: []prefixcache.Group{full(16), window(4, 5)}, Eagle: test.eagle,
			})
			a := newSequence(t, 4, count(0, 37)...)
			admit(t, c, a)
			var kept []int
			for i, h := range a.Hashes {
				if c.Contains(h, 1) {
					kept = append(kept, i)
				}
			}
			require.Equal(t, test.want, kept)
		})
	}
}

func TestEventHashesOutliveTheNextEvents(t *testing.T) {
	cfg := single(2000, 4)
	cfg.Events = true
	c := newCache(t, cfg)
	var events []prefixcache.Event
	var want [][]blockhash.Hash
	for i, tokens := range []int{800, 400, 40, 2400, 4} {
		s := newSequence(t, 4, count(10_000*i, tokens)...)
		admit(t, c, s)
		want = append(want, s.Hashes)
		if i%2 == 0 {
			events = c.DrainEvents(events)
		}
	}
	require.Empty(t, c.DrainEvents(nil))
	require.Len(t, events, len(want))
	for i, e := range events {
		require.Equal(t, want[i], e.Hashes, "event %d", i)
	}
}

func TestSettledTokensAreRegisteredButNotThoseInFlight(t *testing.T) {
	c, err := prefixcache.New(prefixcache.Config{
		Blocks: 8, Groups: []prefixcache.Group{{Kind: prefixcache.FullAttention, BlockTokens: 4}},
	})
	require.NoError(t, err)
	s := newSequence(t, 4, count(0, 6)...)
	_, ok, err := c.Admit(&s.Request, prefixcache.NoLimit, 6)
	require.NoError(t, err)
	require.True(t, ok)
	for range 2 { // two steps whose tokens are placeholders when they are scheduled
		ok, err = c.Allocate(&s.Request, 0, 1)
		require.NoError(t, err)
		require.True(t, ok)
	}
	s.append(6, 7)
	require.Equal(t, 1, c.Keys())
	require.NoError(t, c.Settle(&s.Request, 1))
	require.Equal(t, 1, c.Keys(), "token 7 has not run")
	require.NoError(t, c.Settle(&s.Request, 0))
	require.Equal(t, 2, c.Keys())
	require.Len(t, s.Registered(0), 2)

	require.ErrorIs(t, c.Settle(&s.Request, -1), prefixcache.ErrSchedule)
	require.ErrorIs(t, c.Settle(&s.Request, 9), prefixcache.ErrSchedule)
	require.NoError(t, c.Free(&s.Request))
	require.ErrorIs(t, c.Settle(&s.Request, 0), prefixcache.ErrNotAdmitted)
}
