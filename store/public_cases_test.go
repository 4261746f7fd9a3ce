package store_test

import (
	"context"
	"encoding/binary"
	"errors"
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/blockhash"
	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/store"
)

// Bugs that people met in public projects, as far as a store of blocks is concerned.
// Each name has the number of the case. A block is four tokens of two layers with a
// top-2, and no two of its ids are equal, so that a shift by a token, a layer or a
// slot is seen. Here are the cases of rows and of memory; those of order, pins and keys
// are in public_cases_order_test.go.

// holds checks that the blocks are read back as they were first put.
func holds(t *testing.T, s *store.Store, numbers ...int) {
	t.Helper()
	var want []byte
	for _, n := range numbers {
		want = append(want, rowsFor(n, 0, testBlock)...)
	}
	got, err := s.Get(nil, hashesOf(numbers...))
	require.NoError(t, err)
	require.Equal(t, want, got)
}

// lacks checks that a read names an absent block and leaves the caller's bytes alone.
func lacks(t *testing.T, s *store.Store, number int, reason error) {
	t.Helper()
	dst := append(make([]byte, 0, 4*testBlock), "before"...)
	got, err := s.Get(dst, hashesOf(number))
	require.ErrorIs(t, err, reason)
	require.Equal(t, "before", string(got))
	require.Equal(t, make([]byte, testBlock), dst[:cap(dst)][len(dst):][:testBlock], "nothing was written behind it either")
	var typed *auxerrors.BlockObjectStoreError
	require.ErrorAs(t, err, &typed)
	require.Equal(t, hashOf(number).Bytes(), typed.Hash)
}

// keeps puts a batch that must be accepted.
func keeps(t *testing.T, s *store.Store, batch store.Batch) store.PutResult {
	t.Helper()
	batch.Generation = s.Generation()
	result, err := s.Put(batch)
	require.NoError(t, err)
	return result
}

func TestPublicCase_PC_001_AHashWithoutRowsNeverGetsThoseOfAnother(t *testing.T) {
	s := newStore(t, 4)
	put(t, s, 0, 1, 2, 3)
	// The KV cache drops block 3, and KV from elsewhere takes its place as block 9.
	_, err := s.Remove(0, hashesOf(3))
	require.NoError(t, err)
	lacks(t, s, 9, auxerrors.ErrNeverStored)

	_, err = s.Get(nil, hashesOf(0, 1, 2, 9))
	var typed *auxerrors.BlockObjectStoreError
	require.ErrorAs(t, err, &typed)
	require.Equal(t, 3, typed.Index)
	require.Equal(t, hashOf(9).Bytes(), typed.Hash)
}

func TestPublicCase_PC_002_RowsFollowTheirHashFromSlotToSlot(t *testing.T) {
	s := newStore(t, 4)
	put(t, s, 0, 1, 2)
	// Block 1 leaves, another request's block takes its slot, and block 1 comes back
	// into another one.
	_, err := s.Remove(0, hashesOf(1))
	require.NoError(t, err)
	put(t, s, 7)
	put(t, s, 1)
	holds(t, s, 0, 1, 2)
	holds(t, s, 2, 7, 1, 0)
}

func TestPublicCase_PC_004_AHashThatIsOnlyRetainedIsAbsentAndNotZeros(t *testing.T) {
	s := newStore(t, 4)
	keeps(t, s, store.Batch{Retain: hashesOf(0)})
	require.Equal(t, 1, s.Stats().Pending)
	lacks(t, s, 0, auxerrors.ErrNeverStored)
	_, err := s.View(hashesOf(0))
	require.ErrorIs(t, err, auxerrors.ErrNeverStored)
	require.Zero(t, s.Prefix(hashesOf(0)))

	put(t, s, 0)
	holds(t, s, 0)
}

func TestPublicCase_PC_005_TheStoreKeepsWhatItIsGivenAndJudgesNoIds(t *testing.T) {
	s := newStore(t, 2)
	keeps(t, s, store.Batch{Blocks: []store.Block{{Hash: hashOf(0), Rows: make([]byte, testBlock)}}})
	got, err := s.Get(nil, hashesOf(0))
	require.NoError(t, err)
	require.Equal(t, make([]byte, testBlock), got, "zeros that were published, not zeros of the store")
	require.EqualValues(t, 1, s.Stats().Stored)
	lacks(t, s, 1, auxerrors.ErrNeverStored)
}

func TestPublicCase_PC_007_AFailedBackgroundPutReachesTheNextCall(t *testing.T) {
	for name, next := range map[string]func(*store.Writer) error{
		"put": func(w *store.Writer) error {
			_, err := w.Put(t.Context(), store.Batch{Blocks: blocksOf(1)})
			return err
		},
		"get": func(w *store.Writer) error { _, err := w.Get(t.Context(), nil, hashesOf(0)); return err },
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t, 2)
			w := newWriter(t, s, 4)
			put(t, s, 0)
			_, err := w.Put(t.Context(), store.Batch{Blocks: []store.Block{{Hash: hashOf(5), Rows: make([]byte, testBlock+1)}}})
			require.ErrorIs(t, err, auxerrors.ErrPayloadSize, "what can be known at once is told at once")
			_, err = w.Put(t.Context(), store.Batch{Blocks: blocksOf(5), Release: hashesOf(6)})
			require.NoError(t, err, "nothing is known yet")
			require.Error(t, w.Flush(t.Context()))
			err = next(w)
			require.ErrorIs(t, err, auxerrors.ErrPublication)
			require.ErrorIs(t, err, auxerrors.ErrNotRetained, "the cause is not swallowed")
			require.ErrorIs(t, w.Close(), auxerrors.ErrNotRetained)
		})
	}
}

func TestPublicCase_PC_008_ASecondWriterOfOneLayerOverwritesNothing(t *testing.T) {
	s, err := store.New(store.Options{MaxBytes: 2 * testBlock, BlockBytes: testBlock, Verify: true})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	put(t, s, 0)
	drafted := rowsFor(0, 0, testBlock)
	for token := range 4 { // layer 0 of each token
		drafted[4*token]++
		drafted[4*token+1]++
	}
	result := keeps(t, s, store.Batch{Blocks: []store.Block{{Hash: hashOf(0), Rows: drafted}}})
	require.Equal(t, store.PutResult{Present: 1, Conflicts: 1}, result)
	require.EqualValues(t, 1, s.Stats().Conflicts)
	holds(t, s, 0)
}

func TestPublicCase_PC_022_WhatIsReadIsTheCallersOwn(t *testing.T) {
	s := newStore(t, 2)
	given := blocksOf(0)
	keeps(t, s, store.Batch{Blocks: given})
	clear(given[0].Rows)
	read, err := s.Get(nil, hashesOf(0))
	require.NoError(t, err)
	read[0] = 99
	holds(t, s, 0)
}

func TestPublicCase_PC_040_TheFirstRowsWinWhileTheyArePresent(t *testing.T) {
	second := store.Batch{Blocks: []store.Block{{Hash: hashOf(0), Rows: rowsFor(0, 1, testBlock)}}}
	s := newStore(t, 1)
	put(t, s, 0)
	require.Equal(t, store.PutResult{Present: 1}, keeps(t, s, second))
	holds(t, s, 0)

	put(t, s, 1) // block 0 has to go
	lacks(t, s, 0, auxerrors.ErrEvicted)
	require.Equal(t, store.PutResult{Stored: 1, Evicted: 1}, keeps(t, s, second))
	got, err := s.Get(nil, hashesOf(0))
	require.NoError(t, err)
	require.Equal(t, rowsFor(0, 1, testBlock), got, "after eviction the recomputed rows are the first")
}

func TestPublicCase_PC_055_ReadingRowsTakesNoSecondCopyOfThem(t *testing.T) {
	// 1,000 tokens of 48 layers, top-8, two bytes an id: 62 blocks of 16 tokens; the
	// last 8 tokens are a tail and not the store's.
	const rowBytes, blockTokens, blocks = 48 * 8 * 2, 16, 62
	s, err := store.New(store.Options{MaxBytes: blocks * blockTokens * rowBytes, BlockBytes: blockTokens * rowBytes})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	hashes := make([]blockhash.Hash, blocks)
	var want []byte
	for i := range hashes {
		hashes[i] = hashOf(i)
		rows := rowsFor(i, 0, s.BlockBytes())
		want = append(want, rows...)
		keeps(t, s, store.Batch{Blocks: []store.Block{{Hash: hashes[i], Rows: rows}}})
	}
	before := s.Stats()
	require.EqualValues(t, 768_000, before.UsedBytes+8*rowBytes)

	dst := make([]byte, 0, len(want))
	got, err := s.Get(dst, hashes)
	require.NoError(t, err)
	require.Equal(t, want, got, "items keep their width")
	require.Same(t, &dst[:1][0], &got[0], "the caller's buffer is used as it is")
	after := s.Stats()
	require.Equal(t, before.UsedBytes, after.UsedBytes)
	require.Equal(t, before.MappedBytes, after.MappedBytes)
}

func TestPublicCase_PC_064_TheBudgetIsNeverRoundedUp(t *testing.T) {
	const blockBytes = 16 * 43 * 6 * 4
	t.Run("a thousandth of it, filled", func(t *testing.T) {
		const maxBytes = 21_390_950 // 20.4 MiB
		s, err := store.New(store.Options{MaxBytes: maxBytes, BlockBytes: blockBytes})
		require.NoError(t, err)
		defer func() { require.NoError(t, s.Close()) }()
		require.Equal(t, maxBytes/blockBytes, s.Slots())
		rows := make([]byte, blockBytes)
		for i := range s.Slots() + 10 {
			keeps(t, s, store.Batch{Blocks: []store.Block{{Hash: hashOf(i), Rows: rows}}})
		}
		stats := s.Stats()
		require.Equal(t, stats.Slots, stats.Used)
		require.LessOrEqual(t, stats.UsedBytes, stats.MaxBytes)
		require.EqualValues(t, store.MetadataBytes*stats.Slots, stats.MetadataBytes)
	})
	t.Run("all of it, reserved", func(t *testing.T) {
		if raceEnabled || strconv.IntSize == 32 {
			t.Skip("LOUD: needs a mapping of 20.4 GiB")
		}
		maxBytes := int64(204) << 30 / 10
		s, err := store.New(store.Options{MaxBytes: maxBytes, BlockBytes: blockBytes})
		require.NoError(t, err)
		defer func() { require.NoError(t, s.Close()) }()
		require.Equal(t, 1_326_570, s.Slots())
		stats := s.Stats()
		const alignment = 4 * (2 << 20) // of rows, nodes, index and history: address space only, so that huge pages fit
		require.LessOrEqual(t, stats.MappedBytes, maxBytes+stats.MetadataBytes+alignment)
	})
}

func TestPublicCase_PC_067_GroupsThatShareHashesShareTheirRows(t *testing.T) {
	s := newStore(t, 4)
	put(t, s, 0, 1, 2, 3)
	for range 2 { // the same blocks again, once for each KV group
		require.Equal(t, store.PutResult{Present: 4}, keeps(t, s, store.Batch{Blocks: blocksOf(0, 1, 2, 3)}))
	}
	require.Equal(t, 4, s.Stats().Used)
	require.Zero(t, s.Stats().Evicted)
	holds(t, s, 0, 1, 2, 3)
}

// TestTenMillionHashesThroughAThousandSlotsAreReadRightAndCostNoMemory is the same at
// full length.
func TestPublicCase_PC_068_BookKeepingIsBoundedByWhatIsStored(t *testing.T) {
	const slots, puts, batch = 1000, 1000, 100
	s, err := store.New(store.Options{MaxBytes: slots * 16, BlockBytes: 16})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	digest := make([]byte, 32)
	blocks, hashes := make([]store.Block, batch), make([]blockhash.Hash, batch)
	run := func(first int) {
		for i := range blocks {
			binary.LittleEndian.PutUint64(digest, uint64(first*batch+i))
			hash, err := blockhash.FromBytes(digest)
			require.NoError(t, err)
			blocks[i], hashes[i] = store.Block{Hash: hash, Rows: digest[:16]}, hash
		}
		// Retained ahead of its rows, published, let go: what a request does.
		keeps(t, s, store.Batch{Retain: hashes})
		keeps(t, s, store.Batch{Blocks: blocks, Release: hashes})
	}
	run(0)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	mapped := s.Stats().MappedBytes
	for i := range puts {
		run(i)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	stats := s.Stats()
	require.Equal(t, slots, stats.Used)
	require.Zero(t, stats.Pending)
	require.Zero(t, stats.Retained)
	require.EqualValues(t, puts*batch-slots, stats.Evicted)
	require.Equal(t, mapped, stats.MappedBytes)
	require.Less(t, int64(after.HeapAlloc)-int64(before.HeapAlloc), int64(1<<20))
	require.Len(t, s.Snapshot().Evictable, slots)
}

func TestPublicCase_PC_071_PublishingIsBoundedAndLeavesNoFiles(t *testing.T) {
	const blockBytes, depth, puts = 16 * 48 * 8, 4, 1000
	folder := t.TempDir()
	t.Chdir(folder)
	t.Setenv("TMPDIR", folder)
	s, err := store.New(store.Options{MaxBytes: (puts + 1) * blockBytes, BlockBytes: blockBytes})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	w := newWriter(t, s, depth)

	for i := range puts {
		_, err := w.Put(t.Context(), store.Batch{Blocks: []store.Block{{Hash: hashOf(i), Rows: rowsFor(i, 0, blockBytes)}}})
		require.NoError(t, err)
		require.LessOrEqual(t, w.Queued(), depth)
	}
	require.NoError(t, w.Flush(t.Context()))
	require.Zero(t, w.Queued())
	require.Equal(t, puts, s.Stats().Used, "nothing is dropped to keep up")

	// Behind a large batch the queue fills, and a put is held back: the queue is full
	// before it and after it, so that its deadline passed while it waited for a place.
	var large [2][]store.Block // in turn: each evicts the other, so that all is copied again
	for turn := range large {
		for i := range puts {
			large[turn] = append(large[turn], store.Block{Hash: hashOf((turn+1)*puts + i), Rows: make([]byte, blockBytes)})
		}
	}
	small := store.Batch{Blocks: []store.Block{{Hash: hashOf(0), Rows: make([]byte, blockBytes)}}}
	heldBack := func(attempt int) bool {
		_, err := w.Put(t.Context(), store.Batch{Blocks: large[attempt%2]})
		require.NoError(t, err)
		for range depth - 1 {
			_, err := w.Put(t.Context(), small)
			require.NoError(t, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Microsecond)
		defer cancel()
		if w.Queued() < depth || ctx.Err() != nil {
			return false // the machine was busy with something else
		}
		_, err = w.Put(ctx, small)
		return errors.Is(err, context.DeadlineExceeded) && w.Queued() == depth
	}
	held := false
	for attempt := 0; attempt < 200 && !held; attempt++ {
		held = heldBack(attempt)
		require.NoError(t, w.Flush(t.Context()))
	}
	require.True(t, held, "no put was held back")

	files, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Empty(t, files)
}
