package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/store"
)

// TestStatsCountEverythingOnce does each thing that is counted, and compares the whole
// snapshot after it.
func TestStatsCountEverythingOnce(t *testing.T) {
	const slots = 4
	s, err := store.New(store.Options{MaxBytes: slots*testBlock + 1, BlockBytes: testBlock, Verify: true})
	require.NoError(t, err)
	want := store.Stats{
		Slots: slots, MaxBytes: slots*testBlock + 1, BlockBytes: testBlock,
		MappedBytes: s.Stats().MappedBytes, MetadataBytes: slots * (int64(store.MetadataBytes) + 8),
	}
	same := func(what string) {
		t.Helper()
		want.UsedBytes = int64(want.Used) * testBlock
		want.Misses = want.EvictedMiss + want.RemovedMiss + want.NeverStored + want.AbsentMiss
		require.Equal(t, want, s.Stats(), what)
	}
	same("new")
	putAll := func(batch store.Batch) {
		t.Helper()
		batch.Generation = s.Generation()
		_, err := s.Put(batch)
		require.NoError(t, err)
		want.Puts++
	}

	putAll(store.Batch{Blocks: blocksOf(0, 1, 2, 3), Retain: hashesOf(0, 0, 9)})
	want.Stored, want.Used, want.Retained, want.Pending = 4, 4, 1, 1
	same("four blocks, one of them retained, and a retain without a block")
	other := []store.Block{{Hash: hashOf(1), Rows: rowsFor(1, 1, testBlock)}, blocksOf(2)[0]}
	putAll(store.Batch{Blocks: other})
	want.Present, want.Conflicts = 2, 1
	same("two that are present, one with other rows")
	putAll(store.Batch{Blocks: blocksOf(4)})
	want.Stored, want.Evicted = 5, 1 // block 3, the oldest
	same("one evicts another")
	putAll(store.Batch{Blocks: blocksOf(5), Retain: hashesOf(1, 2, 4, 5), Release: hashesOf(5)})
	want.Dropped, want.Retained = 1, 4
	same("one gives way in its own batch")
	putAll(store.Batch{Blocks: blocksOf(6), Partial: true})
	want.LeftOut = 1
	same("one is left out")
	_, err = s.Put(store.Batch{Blocks: blocksOf(6)})
	require.Error(t, err)
	want.RefusedPuts = 1
	same("a batch is refused")
	putAll(store.Batch{Release: hashesOf(1, 2, 4, 9)})
	want.Retained, want.Pending = 1, 0
	same("releases")

	_, err = s.Get(nil, hashesOf(0, 1, 1))
	require.NoError(t, err)
	want.Reads, want.BlocksRead = 1, 3
	view, err := s.View(hashesOf(1, 2))
	require.NoError(t, err)
	want.Reads, want.BlocksRead, want.OpenViews = 2, 5, 1
	same("a read and a view")
	n, err := s.Remove(0, hashesOf(1, 7, 0)) // viewed, absent, retained
	require.NoError(t, err)
	require.Equal(t, 2, n)
	want.Removed, want.Used, want.Orphaned = 1, 3, 1
	same("a viewed block is removed at once, a retained one with its last release")
	require.NoError(t, view.Close())
	want.OpenViews, want.Orphaned = 0, 0
	putAll(store.Batch{Release: hashesOf(0, 0)})
	want.Removed, want.Used, want.Retained = 2, 2, 0
	same("and there it goes")

	for _, miss := range []struct {
		hash    int
		counter *uint64
	}{{3, &want.EvictedMiss}, {0, &want.RemovedMiss}, {1, &want.RemovedMiss}, {6, &want.NeverStored}} {
		_, err = s.Get(nil, hashesOf(2, miss.hash, 3))
		require.Error(t, err)
		*miss.counter++
		same("a miss is that of the first hash that is absent")
	}
	_, err = s.Reset()
	require.NoError(t, err)
	want.Generation, want.Used = 1, 0
	same("counters go on across a reset")
	require.NoError(t, s.Close())
	want.MappedBytes = 0
	same("and are there when the store is closed")
}
