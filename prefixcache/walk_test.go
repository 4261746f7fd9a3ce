package prefixcache

import (
	"slices"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/auxoutput/auxoutput/blockhash"
)

// walker drives a cache with drawn steps of an engine. It knows no right answer:
// what must hold after each step is for a property to say.
type walker struct {
	cache            *Cache
	root             blockhash.Hash
	chains           map[*Request]*blockhash.Chain
	running, waiting []*Request
	watch            watcher
}

// watcher is told what becomes of blocks, as the tables of the requests show it.
type watcher interface {
	hold(blocks []int32)     // a request hit these
	take(blocks []int32)     // the pool handed these out, in this order
	giveBack(blocks []int32) // a request with this table is through
	reset()
}

// walk checks an invariant after every drawn step on a cache.
func walk(t *rapid.T, cfg Config, watch watcher, invariant func(*rapid.T, *walker)) {
	cache, err := New(cfg)
	require.NoError(t, err)
	root, err := blockhash.SeedRoot(blockhash.XXH64, "")
	require.NoError(t, err)
	w := &walker{cache: cache, root: root, chains: map[*Request]*blockhash.Chain{}, watch: watch}
	actions := map[string]func(*rapid.T){
		"Arrive": w.arrive, "Resume": w.resume, "Allocate": w.allocate, "AllocateMore": w.allocate,
		"Reject": w.reject, "Settle": w.settle, "Free": w.free, "Preempt": w.preempt, "Reset": w.reset,
		"": func(t *rapid.T) { invariant(t, w) },
	}
	if watch == nil { // whoever watches the order of the free list wants no holes in it
		actions["EvictBlock"], actions["EvictHash"] = w.evictBlock, w.evictHash
	}
	t.Repeat(actions)
}

// one draws a request of a list, nil if there is none. Actions without a request
// return: rapid gives up where it draws nothing but skips.
func one(t *rapid.T, list []*Request) *Request {
	if len(list) == 0 {
		return nil
	}
	return rapid.SampledFrom(list).Draw(t, "request")
}

// sample makes tokens known, of a vocabulary so small that prefixes are shared.
// Hashes may come late.
func (w *walker) sample(t *rapid.T, r *Request, n int) {
	chain := w.chains[r]
	for range n {
		chain.Append(uint32(rapid.IntRange(0, 9).Draw(t, "token") / 9))
	}
	r.Tokens += n
	known := chain.Hashes()
	if rapid.IntRange(0, 7).Draw(t, "late hash") == 0 {
		known = known[:max(len(r.Hashes), len(known)-1)]
	}
	r.Hashes = known
}

func (w *walker) arrive(t *rapid.T) {
	chain, err := blockhash.NewChain(blockhash.XXH64, w.root, w.cache.Config().HashTokens, blockhash.Request{})
	require.NoError(t, err)
	r := &Request{SkipLookup: rapid.IntRange(0, 9).Draw(t, "skip lookup") == 0}
	w.chains[r] = chain
	r.Prompt = rapid.IntRange(1, 40).Draw(t, "prompt")
	w.sample(t, r, r.Prompt)
	w.waiting = append(w.waiting, r)
	w.admit(t, r)
}

func (w *walker) resume(t *rapid.T) {
	if r := one(t, w.waiting); r != nil {
		w.admit(t, r)
	}
}

func (w *walker) admit(t *rapid.T, r *Request) {
	found, err := w.cache.Lookup(r, NoLimit)
	require.NoError(t, err)
	hit, ok, err := w.cache.Admit(r, NoLimit, rapid.IntRange(1, r.Tokens-found).Draw(t, "schedule"))
	require.NoError(t, err)
	require.Equal(t, found, hit, "what was looked up")
	if !ok {
		return
	}
	w.waiting = slices.DeleteFunc(w.waiting, func(x *Request) bool { return x == r })
	w.running = append(w.running, r)
	if w.watch != nil {
		hits := hit / w.cache.cfg.Groups[0].BlockTokens
		w.watch.hold(r.Table(0)[:hits])
		w.watch.take(r.Table(0)[hits:])
	}
}

func (w *walker) allocate(t *rapid.T) {
	r := one(t, w.running)
	if r == nil {
		return
	}
	if r.Computed() >= r.Tokens {
		w.sample(t, r, rapid.IntRange(1, 3).Draw(t, "sampled"))
	}
	left, drafts := max(0, r.Tokens-r.Computed()), 0
	n := rapid.IntRange(0, left).Draw(t, "schedule")
	if n == left {
		drafts = rapid.IntRange(0, 3).Draw(t, "drafts")
	}
	if n+drafts == 0 {
		return
	}
	had := len(r.Table(0))
	ok, err := w.cache.Allocate(r, n, drafts)
	require.NoError(t, err)
	if ok && w.watch != nil {
		w.watch.take(r.Table(0)[had:])
	}
}

func (w *walker) reject(t *rapid.T) {
	r := one(t, w.running)
	if r == nil {
		return
	}
	if over := r.Computed() - (r.Tokens - 1); over > 0 {
		require.NoError(t, w.cache.Reject(r, rapid.IntRange(1, over).Draw(t, "rejected")))
	}
}

func (w *walker) settle(t *rapid.T) {
	if r := one(t, w.running); r != nil {
		w.sample(t, r, rapid.IntRange(0, 2).Draw(t, "sampled"))
		require.NoError(t, w.cache.Settle(r, rapid.IntRange(0, min(4, r.Computed())).Draw(t, "in flight")))
	}
}

func (w *walker) free(t *rapid.T) {
	if r := one(t, w.running); r != nil {
		w.leave(t, r, w.cache.Free)
	}
}

func (w *walker) preempt(t *rapid.T) {
	if r := one(t, w.running); r != nil {
		w.leave(t, r, w.cache.Preempt)
		w.waiting = append(w.waiting, r)
	}
}

func (w *walker) leave(t *rapid.T, r *Request, how func(*Request) error) {
	table := slices.Clone(r.Table(0))
	require.NoError(t, how(r))
	w.running = slices.DeleteFunc(w.running, func(x *Request) bool { return x == r })
	if w.watch != nil {
		w.watch.giveBack(table)
	}
}

func (w *walker) reset(t *rapid.T) {
	if w.cache.Reset() && w.watch != nil {
		w.watch.reset()
	}
}

func (w *walker) evictBlock(t *rapid.T) {
	require.NoError(t, w.cache.EvictBlocks(int32(rapid.IntRange(0, w.cache.cfg.Blocks-1).Draw(t, "block"))))
}

func (w *walker) evictHash(t *rapid.T) {
	if r := one(t, w.running); r != nil && len(r.Hashes) > 0 {
		w.cache.EvictHash(rapid.SampledFrom(r.Hashes).Draw(t, "hash"))
	}
}
