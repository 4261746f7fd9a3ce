package store_test

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/blockhash"
	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/store"
)

// heapInUse is what is left on the Go heap after a collection.
func heapInUse() int64 {
	var memory runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&memory)
	return int64(memory.HeapAlloc)
}

// TestTenMillionHashesThroughAThousandSlotsAreReadRightAndCostNoMemory puts a
// hundred hashes at a time that were never seen before, with retains of hashes that
// never get a block, and reads them back.
func TestTenMillionHashesThroughAThousandSlotsAreReadRightAndCostNoMemory(t *testing.T) {
	const slots, blockBytes, batch, waiting = 1000, 8, 100, 8
	hashes := 10_000_000
	if testing.Short() || raceEnabled {
		hashes = 200_000
		t.Logf("LOUD: only %d hashes under -short or the race detector", hashes)
	}
	s, err := store.New(store.Options{MaxBytes: slots * blockBytes, BlockBytes: blockBytes})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	r := rand.New(rand.NewPCG(1, 1))
	digest := make([]byte, 16)
	fresh := func() blockhash.Hash {
		binary.LittleEndian.PutUint64(digest, r.Uint64())
		binary.LittleEndian.PutUint64(digest[8:], r.Uint64())
		hash, err := blockhash.FromBytes(digest)
		if err != nil {
			t.Fatal(err)
		}
		return hash
	}
	put := store.Batch{Blocks: make([]store.Block, batch)}
	list := make([]blockhash.Hash, batch)
	want, got := make([]byte, batch*blockBytes), make([]byte, 0, batch*blockBytes)
	var long blockhash.Hash // evicted long ago
	first := s.Stats()
	var least, most int64
	for turn := range hashes / batch {
		for i := range list {
			list[i] = fresh()
			rows := want[i*blockBytes : (i+1)*blockBytes]
			binary.LittleEndian.PutUint64(rows, list[i].Low64()^0x5a)
			put.Blocks[i] = store.Block{Hash: list[i], Rows: rows}
		}
		put.Release, put.Retain = put.Retain, nil // what has waited for a turn is given back
		for range waiting {
			put.Retain = append(put.Retain, fresh())
		}
		if _, err := s.Put(put); err != nil {
			t.Fatal(err)
		}
		if got, err = s.Get(got[:0], list); err != nil || !bytes.Equal(want, got) {
			t.Fatalf("turn %d: wrong rows: %v", turn, err)
		}
		if turn%(hashes/batch/20) != 0 {
			continue
		}
		// Here and there the state is looked at.
		stats := s.Stats()
		require.Equal(t, waiting, stats.Pending, "retains without a block are forgotten with their release")
		require.Equal(t, first.MappedBytes, stats.MappedBytes)
		require.Equal(t, first.MetadataBytes, stats.MetadataBytes)
		require.Zero(t, stats.Retained+stats.Orphaned)
		if turn == 0 {
			long = list[0]
			continue
		}
		require.Equal(t, slots, stats.Used)
		_, err := s.Get(nil, []blockhash.Hash{long})
		require.ErrorIs(t, err, auxerrors.ErrAbsent)
		heap := heapInUse()
		if least == 0 {
			least = heap
		}
		least, most = min(least, heap), max(most, heap)
	}
	require.Less(t, most-least, int64(1<<20), "the heap is not flat")
	stats := s.Stats()
	require.EqualValues(t, hashes, stats.Stored)
	require.EqualValues(t, hashes-slots, stats.Evicted)
	require.EqualValues(t, hashes, stats.BlocksRead)
	require.Len(t, s.Snapshot().Evictable, slots)
}
