package store_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/blockhash"
	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/store"
)

const testBlock = 16

// newStore is a store of slots blocks of testBlock bytes that the test closes.
func newStore(t testing.TB, slots int) *store.Store {
	t.Helper()
	s, err := store.New(store.Options{MaxBytes: int64(slots) * testBlock, BlockBytes: testBlock})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func blocksOf(numbers ...int) []store.Block {
	blocks := make([]store.Block, len(numbers))
	for i, n := range numbers {
		blocks[i] = store.Block{Hash: hashOf(n), Rows: rowsFor(n, 0, testBlock)}
	}
	return blocks
}

func put(t testing.TB, s *store.Store, numbers ...int) {
	t.Helper()
	_, err := s.Put(store.Batch{Generation: s.Generation(), Blocks: blocksOf(numbers...)})
	require.NoError(t, err)
}

// TestMisuseIsATypedErrorAndChangesNothing runs each misuse on the same store:
// three slots, block 0 retained twice, 1 and 2 evictable, 9 retained and absent.
func TestMisuseIsATypedErrorAndChangesNothing(t *testing.T) {
	for name, tc := range map[string]struct {
		batch  store.Batch
		reason error
		index  int
	}{
		"payload too short":              {store.Batch{Blocks: []store.Block{blocksOf(3)[0], {Hash: hashOf(4), Rows: make([]byte, testBlock-1)}}}, auxerrors.ErrPayloadSize, 1},
		"payload too long":               {store.Batch{Blocks: []store.Block{{Hash: hashOf(4), Rows: make([]byte, testBlock+1)}}}, auxerrors.ErrPayloadSize, 0},
		"payload of nothing":             {store.Batch{Blocks: []store.Block{{Hash: hashOf(4)}}}, auxerrors.ErrPayloadSize, 0},
		"a block without a hash":         {store.Batch{Blocks: []store.Block{{Rows: make([]byte, testBlock)}}}, auxerrors.ErrInvalidHash, 0},
		"retaining no hash":              {store.Batch{Retain: make([]blockhash.Hash, 1)}, auxerrors.ErrInvalidHash, 0},
		"releasing no hash":              {store.Batch{Release: make([]blockhash.Hash, 1)}, auxerrors.ErrInvalidHash, 0},
		"releasing what is not retained": {store.Batch{Retain: hashesOf(1, 7), Release: hashesOf(2, 1, 7, 9)}, auxerrors.ErrNotRetained, 0},
		"releasing what nobody knows":    {store.Batch{Blocks: blocksOf(5), Release: hashesOf(0, 8)}, auxerrors.ErrNotRetained, 1},
		"releasing once too often":       {store.Batch{Release: hashesOf(0, 0, 0)}, auxerrors.ErrNotRetained, 0},
		"a batch of another generation":  {store.Batch{Generation: 1, Blocks: blocksOf(3)}, auxerrors.ErrGeneration, -1},
		"more than fits":                 {store.Batch{Blocks: blocksOf(3, 4, 5), Retain: hashesOf(3), Release: hashesOf(9)}, auxerrors.ErrCannotFit, -1},
		"retaining what is evictable and putting more than is left": {
			store.Batch{Blocks: blocksOf(3), Retain: hashesOf(1, 2)}, auxerrors.ErrCannotFit, -1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t, 3)
			_, err := s.Put(store.Batch{Blocks: blocksOf(0, 1, 2), Retain: hashesOf(0, 0, 9)})
			require.NoError(t, err)
			before, stats := s.Snapshot(), s.Stats()

			result, err := s.Put(tc.batch)
			require.ErrorIs(t, err, tc.reason)
			require.Zero(t, result)
			var typed *auxerrors.BlockObjectStoreError
			require.ErrorAs(t, err, &typed)
			require.Equal(t, tc.index, typed.Index)
			require.Equal(t, 3, typed.Limit)

			require.Equal(t, before, s.Snapshot())
			stats.RefusedPuts++
			require.Equal(t, stats, s.Stats())
			rows, err := s.Get(nil, hashesOf(0, 1, 2))
			require.NoError(t, err)
			require.Equal(t, append(append(rowsFor(0, 0, testBlock), rowsFor(1, 0, testBlock)...), rowsFor(2, 0, testBlock)...), rows)
		})
	}
}

func TestAReadOfAnAbsentBlockSaysWhichOneAndWhy(t *testing.T) {
	s := newStore(t, 2)
	put(t, s, 0, 1)
	put(t, s, 2) // evicts 1, the tail
	_, err := s.Remove(0, hashesOf(0))
	require.NoError(t, err)

	for _, tc := range []struct {
		name   string
		hashes []blockhash.Hash
		reason error
		index  int
		text   string
	}{
		{"evicted", hashesOf(2, 1), auxerrors.ErrEvicted, 1, "increase max_bytes (now 32)"},
		{"removed", hashesOf(0), auxerrors.ErrRemoved, 0, "removed"},
		{"never stored", hashesOf(2, 2, 7), auxerrors.ErrNeverStored, 2, "never stored"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dst := append(make([]byte, 0, 100), "before"...)
			got, err := s.Get(dst, tc.hashes)
			require.Equal(t, dst, got)
			require.ErrorIs(t, err, tc.reason)
			require.ErrorIs(t, err, auxerrors.ErrAbsent)
			require.ErrorContains(t, err, tc.text)
			var typed *auxerrors.BlockObjectStoreError
			require.ErrorAs(t, err, &typed)
			require.Equal(t, "get", typed.Op)
			require.Equal(t, tc.index, typed.Index)
			require.Equal(t, tc.hashes[tc.index].Bytes(), typed.Hash)
			require.Equal(t, 1, typed.Used)
			require.Equal(t, 2, typed.Limit)

			_, err = s.View(tc.hashes)
			require.ErrorIs(t, err, tc.reason)
		})
	}
	stats := s.Stats()
	require.EqualValues(t, 6, stats.Misses)
	require.EqualValues(t, 2, stats.EvictedMiss)
	require.EqualValues(t, 2, stats.RemovedMiss)
	require.EqualValues(t, 2, stats.NeverStored)

	_, err = s.Reset()
	require.NoError(t, err)
	_, err = s.Get(nil, hashesOf(1))
	require.ErrorIs(t, err, auxerrors.ErrNeverStored, "a new generation remembers nothing of the older")
}

func TestEverythingAfterCloseIsErrClosed(t *testing.T) {
	s, err := store.New(store.Options{MaxBytes: 64, BlockBytes: testBlock})
	require.NoError(t, err)
	put(t, s, 0)
	lease := s.Lease()
	require.NoError(t, lease.Retain(hashesOf(0)))
	w, err := store.NewWriter(s, 1)
	require.NoError(t, err)
	require.NoError(t, s.Close())
	require.NoError(t, s.Close())

	_, err = s.Put(store.Batch{})
	require.ErrorIs(t, err, auxerrors.ErrClosed)
	_, err = s.Put(store.Batch{Generation: 7, Blocks: []store.Block{{}}})
	require.Error(t, err)
	_, err = s.Get(nil, hashesOf(0))
	require.ErrorIs(t, err, auxerrors.ErrClosed)
	_, err = s.View(nil)
	require.ErrorIs(t, err, auxerrors.ErrClosed)
	_, err = s.RetainPrefix(0, hashesOf(0))
	require.ErrorIs(t, err, auxerrors.ErrClosed)
	_, err = s.Remove(0, hashesOf(0))
	require.ErrorIs(t, err, auxerrors.ErrClosed)
	_, err = s.Reset()
	require.ErrorIs(t, err, auxerrors.ErrClosed)
	require.Zero(t, s.Prefix(hashesOf(0)))
	require.Zero(t, s.Snapshot())
	require.Equal(t, 4, s.Stats().Slots)
	require.Zero(t, s.Stats().MappedBytes)
	require.ErrorIs(t, lease.Retain(hashesOf(0)), auxerrors.ErrClosed)
	require.NoError(t, lease.Close(), "there is nothing left to give back")
	_, err = w.Put(t.Context(), store.Batch{Blocks: blocksOf(0)})
	require.NoError(t, err)
	err = w.Flush(t.Context())
	require.True(t, errors.Is(err, auxerrors.ErrClosed) && errors.Is(err, auxerrors.ErrPublication), "%v", err)
	require.ErrorIs(t, w.Close(), auxerrors.ErrPublication)
}

func TestAViewedBlockIsNoVictimEvenOfTheBatchThatReleasesIt(t *testing.T) {
	s := newStore(t, 1)
	_, err := s.Put(store.Batch{Blocks: blocksOf(0), Retain: hashesOf(0)})
	require.NoError(t, err)
	view, err := s.View(hashesOf(0))
	require.NoError(t, err)
	next := store.Batch{Blocks: blocksOf(1), Release: hashesOf(0)}
	_, err = s.Put(next)
	require.ErrorIs(t, err, auxerrors.ErrCannotFit)
	rows, err := view.Block(0)
	require.NoError(t, err)
	require.Equal(t, rowsFor(0, 0, testBlock), rows)
	require.NoError(t, view.Close())
	result, err := s.Put(next)
	require.NoError(t, err)
	require.Equal(t, store.PutResult{Stored: 1, Evicted: 1}, result)
}
