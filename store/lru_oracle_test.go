package store_test

import (
	"slices"
	"testing"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/auxoutput/auxoutput/blockhash"
	"github.com/auxoutput/auxoutput/store"
)

// aged is a store beside golang-lru, an LRU that others wrote. As long as nothing is
// retained the two contracts coincide, but for the order in which a list is walked:
// golang-lru takes one key at a time, the store takes a list backwards.
type aged struct {
	store   *store.Store
	lru     *simplelru.LRU[int, []byte]
	slots   int
	evicted []int // by golang-lru, since the last put
	tries   int   // makes payloads differ
	full    bool  // golang-lru has evicted something
}

func newAged(t *rapid.T) *aged {
	a := &aged{slots: rapid.IntRange(1, 9).Draw(t, "slots")}
	var err error
	a.store, err = store.New(store.Options{MaxBytes: int64(a.slots * testBlock), BlockBytes: testBlock})
	require.NoError(t, err)
	a.lru, err = simplelru.NewLRU(a.slots, func(n int, _ []byte) { a.evicted = append(a.evicted, n) })
	require.NoError(t, err)
	return a
}

// some draws numbers of hashes, of which there are more than slots.
func (a *aged) some(t *rapid.T, label string, most int) []int {
	return rapid.SliceOfN(rapid.IntRange(0, 2*a.slots+1), 0, most).Draw(t, label)
}

// put publishes a batch that fits, distinct blocks only. What is present is touched
// before anything makes room for the rest: a batch does not push out its own blocks.
func (a *aged) put(t *rapid.T) {
	numbers := rapid.SliceOfNDistinct(rapid.IntRange(0, 2*a.slots+1), 0, a.slots, rapid.ID).Draw(t, "blocks")
	batch := store.Batch{Generation: a.store.Generation()}
	var gone []blockhash.Hash
	batch.Evicted = &gone
	for _, n := range numbers {
		a.tries++
		batch.Blocks = append(batch.Blocks, store.Block{Hash: hashOf(n), Rows: rowsFor(n, a.tries, testBlock)})
	}
	result, err := a.store.Put(batch)
	require.NoError(t, err)

	a.evicted = nil
	present := 0
	for _, n := range slices.Backward(numbers) {
		if _, there := a.lru.Get(n); there {
			present++
		}
	}
	for i, n := range slices.Backward(numbers) {
		rows := batch.Blocks[i].Rows
		if first, there := a.lru.Peek(n); there {
			rows = first // the first publication wins
		}
		a.lru.Add(n, rows)
	}
	a.full = a.full || len(a.evicted) > 0
	require.Equal(t, store.PutResult{Stored: len(numbers) - present, Present: present, Evicted: len(a.evicted)}, result)
	require.Equal(t, hashesOf(a.evicted...), append([]blockhash.Hash{}, gone...), "what made room, oldest first")
}

// get reads a list: all of it, or nothing and no touch.
func (a *aged) get(t *rapid.T) {
	numbers := a.some(t, "hashes", 5)
	if rapid.Bool().Draw(t, "of those present") && a.lru.Len() > 0 {
		numbers = rapid.SliceOfN(rapid.SampledFrom(a.lru.Keys()), 1, 5).Draw(t, "present")
	}
	rows, err := a.store.Get(nil, hashesOf(numbers...))
	var want []byte
	for _, n := range numbers {
		block, there := a.lru.Peek(n)
		if !there {
			require.Error(t, err)
			return
		}
		want = append(want, block...)
	}
	require.NoError(t, err)
	require.Equal(t, want, rows)
	for _, n := range slices.Backward(numbers) {
		a.lru.Get(n)
	}
}

// look counts a prefix, which is no use of it.
func (a *aged) look(t *rapid.T) {
	numbers := a.some(t, "prefix", 5)
	want := 0
	for want < len(numbers) && a.lru.Contains(numbers[want]) {
		want++
	}
	require.Equal(t, want, a.store.Prefix(hashesOf(numbers...)))
}

// lease retains a prefix and lets it go at once: that is a use of each block, from
// the last to the first.
func (a *aged) lease(t *rapid.T) {
	lease := a.store.Lease()
	numbers := a.some(t, "leased", 4)
	n, err := lease.RetainPrefix(hashesOf(numbers...))
	require.NoError(t, err)
	require.NoError(t, lease.Close())
	for _, number := range slices.Backward(numbers[:n]) {
		a.lru.Get(number)
	}
}

func (a *aged) remove(t *rapid.T) {
	numbers := a.some(t, "removed", 2)
	want := 0
	for _, n := range numbers {
		if a.lru.Remove(n) {
			want++
		}
	}
	got, err := a.store.Remove(a.store.Generation(), hashesOf(numbers...))
	require.NoError(t, err)
	require.Equal(t, want, got)
}

func (a *aged) reset(t *rapid.T) {
	if rapid.IntRange(0, 4).Draw(t, "reset") > 0 {
		return // or hardly anything would grow old
	}
	_, err := a.store.Reset()
	require.NoError(t, err)
	a.lru.Purge()
}

func (a *aged) check(t *rapid.T) {
	require.Equal(t, hashesOf(a.lru.Keys()...), append([]blockhash.Hash{}, a.store.Snapshot().Evictable...), "oldest first")
}

func TestBlocksAgeAsInAnLRUThatOthersWrote(t *testing.T) {
	full := 0
	rapid.Check(t, func(t *rapid.T) {
		a := newAged(t)
		defer func() { require.NoError(t, a.store.Close()) }()
		t.Repeat(map[string]func(*rapid.T){
			"Put": a.put, "PutMore": a.put, "Get": a.get, "Prefix": a.look, "Lease": a.lease,
			"Remove": a.remove, "Reset": a.reset, "": a.check,
		})
		if a.full {
			full++
		}
	})
	require.Positive(t, full, "nothing was ever evicted: draw more cases")
}
