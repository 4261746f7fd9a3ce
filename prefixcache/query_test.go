package prefixcache

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/auxoutput/auxoutput/blockhash"
)

// promise is what the queries say of a call that comes next, by group.
type promise struct {
	blocks     [][]int32 // a waiting request takes hold of these
	registered []int     // hashes
}

// promise asks before a request is scheduled up to a position.
func (p *player) promise(t *rapid.T, r *Request, limit, end int) promise {
	var said promise
	for g := range p.cache.cfg.Groups {
		said.registered = append(said.registered, max(p.cache.RegisteredBy(r, end, g), len(r.Registered(g))))
		if r.Admitted() {
			continue
		}
		wantHit, want := p.model.lookup(r, limit)
		hit, blocks, err := p.cache.AppendHit(r, limit, g, []int32{-1})
		require.NoError(t, err)
		require.Equal(t, wantHit, hit)
		require.EqualValues(t, -1, blocks[0], "what was there")
		for i, b := range blocks[1:] {
			if i < p.model.skipped(g, hit) {
				require.Zero(t, b)
			} else {
				require.EqualValues(t, want[g][i], b)
			}
		}
		said.blocks = append(said.blocks, blocks[1:])
	}
	return said
}

func (said promise) check(t *rapid.T, c *Cache, r *Request) {
	for g, n := range said.registered {
		require.Len(t, r.Registered(g), n, "hashes that group %d has registered", g)
	}
	for g, blocks := range said.blocks {
		require.Len(t, blocks, r.Hit()/c.cfg.Groups[g].BlockTokens)
		require.Equal(t, blocks, r.Table(g)[:len(blocks):len(blocks)], "blocks that group %d hit", g)
	}
}

func TestQueriesOfARequestRefuseWhatLookupRefuses(t *testing.T) {
	c, err := New(Config{Blocks: 9, Groups: []Group{{BlockTokens: 4}}})
	require.NoError(t, err)
	r := &Request{Prompt: 9, Tokens: 9, Hashes: chainOf(t, 4, make([]uint32, 9))}
	ids := []int32{7}
	for _, test := range []struct {
		name         string
		r            *Request
		limit, group int
		want         error
	}{
		{"no request", nil, NoLimit, 0, ErrTokens},
		{"no tokens", new(Request), NoLimit, 0, ErrTokens},
		{"a negative limit", r, -1, 0, ErrSchedule},
		{"a group beyond the last", r, NoLimit, 1, ErrGroup},
		{"a negative group", r, NoLimit, -1, ErrGroup},
	} {
		t.Run(test.name, func(t *testing.T) {
			hit, blocks, err := c.AppendHit(test.r, test.limit, test.group, ids)
			require.ErrorIs(t, err, test.want)
			require.Zero(t, hit)
			require.Equal(t, ids, blocks)
		})
	}
	_, _, err = c.Admit(r, NoLimit, 9)
	require.NoError(t, err)
	_, _, err = c.AppendHit(r, NoLimit, 0, nil)
	require.ErrorIs(t, err, ErrAdmitted)
}

func TestThereIsNothingInAGroupThatTheCacheDoesNotHave(t *testing.T) {
	c, err := New(Config{Blocks: 9, Groups: []Group{{BlockTokens: 4}}})
	require.NoError(t, err)
	r := &Request{Prompt: 9, Tokens: 9, Hashes: chainOf(t, 4, make([]uint32, 9))}
	_, _, err = c.Admit(r, NoLimit, 9)
	require.NoError(t, err)
	for _, group := range []int{-1, 1, 256} {
		require.Empty(t, c.AppendHolders(r.Hashes[0], group, nil))
		require.Zero(t, c.RegisteredBy(r, 9, group))
	}
	require.Empty(t, c.AppendHolders(blockhash.Hash{}, 0, nil), "of no hash")
	require.Zero(t, c.RegisteredBy(nil, 9, 0))
	require.Zero(t, c.RegisteredBy(r, -1, 0))
	require.Equal(t, 1, c.RegisteredBy(r, 7, 0))
	require.Equal(t, 2, c.RegisteredBy(r, NoLimit, 0), "never beyond the known hashes")
}

func TestHoldersAreListedInTheOrderTheyWereFiled(t *testing.T) {
	c, err := New(Config{Blocks: 30, Groups: []Group{{BlockTokens: 4}}})
	require.NoError(t, err)
	hashes := chainOf(t, 4, make([]uint32, 9))
	var want []int32
	for range 3 {
		r := &Request{Prompt: 9, Tokens: 9, Hashes: hashes, SkipLookup: true}
		_, ok, err := c.Admit(r, NoLimit, 9)
		require.NoError(t, err)
		require.True(t, ok)
		want = append(want, r.Table(0)[1])
	}
	require.Equal(t, want, c.AppendHolders(hashes[1], 0, nil))
	require.NoError(t, c.EvictBlocks(want[0]))
	require.Equal(t, want[1:], c.AppendHolders(hashes[1], 0, nil))
}

// TestQueriesAllocateNothingWhereThereIsRoom has a full attention group and a window.
func TestQueriesAllocateNothingWhereThereIsRoom(t *testing.T) {
	c, err := New(Config{Blocks: 900, Groups: []Group{{BlockTokens: 4}, {Kind: SlidingWindow, BlockTokens: 4, Window: 9}}})
	require.NoError(t, err)
	hashes := chainOf(t, 4, make([]uint32, 800))
	first := &Request{Prompt: 800, Tokens: 800, Hashes: hashes}
	_, ok, err := c.Admit(first, NoLimit, 800)
	require.NoError(t, err)
	require.True(t, ok)
	again := &Request{Prompt: 800, Tokens: 800, Hashes: hashes}
	ids := make([]int32, 0, 200)
	require.Zero(t, testing.AllocsPerRun(20, func() {
		for g := range 2 {
			if hit, blocks, err := c.AppendHit(again, NoLimit, g, ids); err != nil || hit != 796 || len(blocks) != 199 {
				t.Errorf("hit of %d tokens in %d blocks, error %v", hit, len(blocks), err)
			}
			if c.RegisteredBy(again, 800, g) != 200 {
				t.Error("not all is registered")
			}
			if len(c.AppendHolders(hashes[3], g, ids)) != 1 {
				t.Error("not one holder")
			}
		}
	}))
}
