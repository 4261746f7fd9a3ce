package prefixcache

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/auxoutput/auxoutput/blockhash"
)

// player drives the cache and the reference side by side.
type player struct {
	cache    *Cache
	model    *reference
	chains   map[*Request]*blockhash.Chain
	waiting  []*Request // preempted
	running  []*Request
	counted  map[key]int // what the events add up to
	root     blockhash.Hash
	numEvent int
}

func newPlayer(t *rapid.T, cfg Config) *player {
	cache, err := New(cfg)
	require.NoError(t, err)
	root, err := blockhash.SeedRoot(blockhash.XXH64, "")
	require.NoError(t, err)
	return &player{
		cache: cache, model: newReference(cache.Config()), chains: map[*Request]*blockhash.Chain{},
		counted: map[key]int{}, root: root,
	}
}

// grow appends tokens of a tiny vocabulary, so that prefixes are shared.
func (p *player) grow(t *rapid.T, r *Request, n int) {
	chain := p.chains[r]
	for range n {
		chain.Append(uint32(rapid.IntRange(0, 9).Draw(t, "token") / 9))
	}
	r.Tokens += n
	known := chain.Hashes()
	if rapid.IntRange(0, 7).Draw(t, "lag") == 0 {
		known = known[:max(len(r.Hashes), len(known)-1)]
	}
	r.Hashes = known
}

func (p *player) newRequest(t *rapid.T) *Request {
	chain, err := blockhash.NewChain(blockhash.XXH64, p.root, p.cache.Config().HashTokens, blockhash.Request{})
	require.NoError(t, err)
	r := &Request{SkipLookup: rapid.IntRange(0, 9).Draw(t, "skip lookup") == 0}
	p.chains[r] = chain
	r.Prompt = rapid.IntRange(1, 40).Draw(t, "prompt")
	p.grow(t, r, r.Prompt)
	return r
}

func (p *player) admit(t *rapid.T, r *Request) {
	limit := NoLimit
	if rapid.IntRange(0, 3).Draw(t, "limited") == 0 {
		limit = rapid.IntRange(0, 40).Draw(t, "limit")
	}
	found, err := p.cache.Lookup(r, limit)
	require.NoError(t, err)
	p.checkHit(t, r, limit, found)
	tokens := rapid.IntRange(1, r.Tokens-found).Draw(t, "schedule")
	promised := p.promise(t, r, limit, found+tokens)
	wantHit, wantOK := p.model.admit(r, limit, tokens)
	hit, ok, err := p.cache.Admit(r, limit, tokens)
	require.NoError(t, err)
	require.Equal(t, wantHit, hit)
	require.Equal(t, found, hit)
	require.Equal(t, wantOK, ok)
	require.Equal(t, ok, r.Admitted())
	p.waiting = slices.DeleteFunc(p.waiting, func(w *Request) bool { return w == r })
	if ok {
		p.running = append(p.running, r)
		promised.check(t, p.cache, r)
	} else {
		p.waiting = append(p.waiting, r)
	}
}

// checkHit compares a hit with the longest legal one, found by trying every
// length. EAGLE may give less.
func (p *player) checkHit(t *rapid.T, r *Request, limit, hit int) {
	cfg := p.cache.Config()
	best := 0
	if !cfg.DisableCaching && !r.SkipLookup {
		for n := 0; n <= min(limit, r.Tokens-1, len(r.Hashes)*cfg.HashTokens); n += cfg.SchedulerTokens {
			if p.legal(r, n) {
				best = n
			}
		}
	}
	if cfg.Eagle {
		require.LessOrEqual(t, hit, best)
		require.True(t, p.legal(r, hit))
	} else {
		require.Equal(t, best, hit)
	}
}

// legal reports whether every group has all blocks that the token at position n
// attends to.
func (p *player) legal(r *Request, n int) bool {
	for g, spec := range p.cache.Config().Groups {
		first := 0
		if spec.Kind == SlidingWindow {
			first = max(0, n-spec.Window+1) / spec.BlockTokens
			if spec.Window == 1 && !spec.Eagle {
				first = max(0, n-1) / spec.BlockTokens // needs no block, but the search wants one
			}
		}
		for i := first; i < n/spec.BlockTokens; i++ {
			if !p.cache.Contains(p.cache.groups[g].key(r.Hashes, i).hash, g) {
				return false
			}
		}
	}
	return true
}

// check compares everything that can be seen, and the inside with itself.
func (p *player) check(t *rapid.T) {
	c, m := p.cache, p.model
	free := toInts(c.AppendFreeList(nil))
	require.Equal(t, len(m.free), c.FreeBlocks())
	require.True(t, slices.Equal(m.free, free), "free list %v, want %v", free, m.free)
	require.Equal(t, len(m.filed), c.Keys())
	for _, r := range p.running {
		for g := range c.cfg.Groups {
			table := toInts(r.Table(g))
			require.True(t, slices.Equal(m.requests[r].tables[g], table), "table %v, want %v", table, m.requests[r].tables[g])
			require.Len(t, r.Registered(g), m.requests[r].cached[g]*c.groups[g].hashes)
		}
		require.Equal(t, m.requests[r].computed, r.Computed())
	}
	p.checkEvents(t, c.DrainEvents(nil))
	checkInside(t, c)
}

// checkEvents compares events one by one, and their sum with the index.
func (p *player) checkEvents(t *rapid.T, events []Event) {
	want := p.model.events[p.numEvent:]
	p.numEvent = len(p.model.events)
	require.Len(t, events, len(want))
	for i, e := range events {
		require.True(t, slices.Equal(want[i].Hashes, e.Hashes), "hashes of event %d", i)
		e.Hashes = want[i].Hashes
		require.Equal(t, want[i], e)
		for _, h := range e.Hashes {
			k := key{hash: h, group: uint8(e.Group)}
			if e.Kind == Stored {
				p.counted[k]++
			} else if p.counted[k]--; p.counted[k] == 0 {
				delete(p.counted, k)
			}
		}
		if e.Kind == Cleared {
			clear(p.counted)
		}
	}
	require.Len(t, p.counted, p.cache.Keys())
	for k, n := range p.counted {
		require.Len(t, ringOf(p.cache, k), n)
	}
	for k, blocks := range p.model.filed {
		require.Equal(t, blocks, ringOf(p.cache, k))
	}
}

// ringOf lists the blocks of a key in order of insertion.
func ringOf(c *Cache, k key) []int {
	return toInts(c.AppendHolders(k.hash, int(k.group), nil))
}

func toInts(ids []int32) []int {
	var list []int
	for _, id := range ids {
		list = append(list, int(id))
	}
	return list
}

// checkInside verifies what must always hold of a cache.
func checkInside(t require.TestingT, c *Cache) {
	used := 0
	for b := 1; b < c.cfg.Blocks; b++ {
		require.GreaterOrEqual(t, c.pool.users[b], int32(0))
		if c.pool.users[b] > 0 {
			used++
		}
	}
	require.Equal(t, c.cfg.Blocks-1, used+c.FreeBlocks(), "used and free blocks")
	for _, b := range c.AppendFreeList(nil) {
		require.Zero(t, c.pool.users[b], "users of free block %d", b)
	}
	require.False(t, c.index.hashed(nullBlock))
	keys := 0
	for _, e := range c.index.buckets {
		for ; e != 0; e = c.index.entries[e].chain {
			keys++
			k := c.index.entries[e].key
			for _, b := range ringOf(c, k) {
				require.True(t, c.index.has(int32(b), k), "block %d under a key it does not carry", b)
			}
		}
	}
	require.Equal(t, keys, c.Keys())
}

// TestEveryOperationEqualsTheReference plays random operations, wrong ones among
// them.
func TestEveryOperationEqualsTheReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { playOn(t, drawConfig(t)) })
}

// The same where the test above seldom goes.
func TestEveryOperationEqualsTheReferenceUnderEagleWithUnequalBlocks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { playOn(t, drawUnequalEagle(t)) })
}

func playOn(t *rapid.T, cfg Config) {
	p := newPlayer(t, cfg)
	for range rapid.IntRange(1, 60).Draw(t, "operations") {
		p.play(t, rapid.IntRange(0, 19).Draw(t, "operation"))
		p.check(t)
	}
}

func (p *player) play(t *rapid.T, op int) {
	var r *Request
	if len(p.running) > 0 {
		r = rapid.SampledFrom(p.running).Draw(t, "running")
	}
	switch {
	case op == 0:
		require.Equal(t, p.model.reset(), p.cache.Reset())
	case op == 1:
		b := rapid.IntRange(0, p.cache.cfg.Blocks-1).Draw(t, "block")
		p.model.evict(b)
		require.NoError(t, p.cache.EvictBlocks(int32(b)))
	case op == 2 && r != nil && len(r.Hashes) > 0:
		h := rapid.SampledFrom(r.Hashes).Draw(t, "hash")
		require.Equal(t, p.model.evictHash(h), p.cache.EvictHash(h))
	case op == 3 && len(p.waiting) > 0:
		p.admit(t, rapid.SampledFrom(p.waiting).Draw(t, "waiting"))
	case op < 8 || r == nil:
		p.admit(t, p.newRequest(t))
	case op == 8:
		p.misuse(t, r)
	case op < 11:
		p.model.release(r)
		p.running = slices.DeleteFunc(p.running, func(w *Request) bool { return w == r })
		if op == 9 {
			require.NoError(t, p.cache.Free(r))
			return
		}
		require.NoError(t, p.cache.Preempt(r))
		p.waiting = append(p.waiting, r)
	case op == 11:
		if over := r.Computed() - (r.Tokens - 1); over > 0 {
			n := rapid.IntRange(1, over).Draw(t, "rejected")
			p.model.requests[r].computed -= n
			require.NoError(t, p.cache.Reject(r, n))
		}
	case op == 12:
		p.grow(t, r, rapid.IntRange(1, 3).Draw(t, "sampled"))
	default:
		if r.Computed() >= r.Tokens {
			p.grow(t, r, 1)
		}
		left := max(0, r.Tokens-r.Computed())
		n := rapid.IntRange(0, left).Draw(t, "schedule")
		drafts := 0
		if n == left {
			drafts = rapid.IntRange(0, 3).Draw(t, "drafts")
		}
		if n+drafts == 0 {
			return
		}
		promised := p.promise(t, r, NoLimit, r.Computed()+n+drafts)
		want := p.model.allocate(r, n+drafts)
		ok, err := p.cache.Allocate(r, n, drafts)
		require.NoError(t, err)
		require.Equal(t, want, ok)
		if ok {
			promised.check(t, p.cache, r)
		}
	}
}

// misuse does what is not allowed; the check after it sees that nothing changed.
func (p *player) misuse(t *rapid.T, r *Request) {
	c := p.cache
	_, _, err := c.Admit(r, NoLimit, 1)
	require.ErrorIs(t, err, ErrAdmitted)
	_, err = c.Allocate(r, max(0, r.Tokens-r.Computed())+1, 0)
	require.ErrorIs(t, err, ErrSchedule)
	_, err = c.Allocate(r, 0, 0)
	require.ErrorIs(t, err, ErrSchedule)
	require.ErrorIs(t, c.Reject(r, max(1, r.Computed()-r.Tokens+2)), ErrSchedule)
	require.ErrorIs(t, c.EvictBlocks(1, int32(c.cfg.Blocks)), ErrBlock)
	if r.Tokens == r.seen.tokens {
		r.Tokens--
		_, err = c.Allocate(r, 0, 1)
		r.Tokens++
		require.ErrorIs(t, err, ErrTokens)
	}
	require.ErrorIs(t, c.Free(new(Request)), ErrNotAdmitted)
}
