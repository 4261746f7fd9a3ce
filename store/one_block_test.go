package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/store"
)

func TestABudgetOfExactlyOneBlockIsAWholeStore(t *testing.T) {
	_, err := store.New(store.Options{MaxBytes: testBlock - 1, BlockBytes: testBlock})
	require.ErrorIs(t, err, auxerrors.ErrTooSmall)
	for _, populate := range []bool{false, true} {
		s, err := store.New(store.Options{MaxBytes: testBlock, BlockBytes: testBlock, Populate: populate})
		require.NoError(t, err)
		require.Equal(t, 1, s.Slots())
		for n := range 100 { // each evicts the one before
			put(t, s, n)
			rows, err := s.Get(nil, hashesOf(n))
			require.NoError(t, err)
			require.Equal(t, rowsFor(n, 0, testBlock), rows)
			require.Equal(t, hashesOf(n), s.Snapshot().Evictable)
		}
		_, err = s.Get(nil, hashesOf(98))
		require.ErrorIs(t, err, auxerrors.ErrEvicted)

		_, err = s.Put(store.Batch{Blocks: blocksOf(1, 2)})
		require.ErrorIs(t, err, auxerrors.ErrCannotFit, "a batch of two")
		result, err := s.Put(store.Batch{Blocks: blocksOf(1, 2), Partial: true})
		require.NoError(t, err)
		require.Equal(t, store.PutResult{Stored: 1, LeftOut: 1, Evicted: 1}, result)

		lease := s.Lease()
		n, err := lease.RetainPrefix(hashesOf(1, 2))
		require.NoError(t, err)
		require.Equal(t, 1, n)
		_, err = s.Put(store.Batch{Blocks: blocksOf(3)})
		require.ErrorIs(t, err, auxerrors.ErrCannotFit, "the only block is retained")
		require.NoError(t, lease.Close())

		view, err := s.View(hashesOf(1, 1, 1))
		require.NoError(t, err)
		_, err = s.Put(store.Batch{Blocks: blocksOf(3)})
		require.ErrorIs(t, err, auxerrors.ErrCannotFit, "the only block is viewed")
		require.NoError(t, view.Close())

		_, err = s.Put(store.Batch{Blocks: blocksOf(3)})
		require.NoError(t, err)
		removed, err := s.Remove(0, hashesOf(3, 1))
		require.NoError(t, err)
		require.Equal(t, 1, removed)
		put(t, s, 4)
		_, err = s.Reset()
		require.NoError(t, err)
		put(t, s, 5)
		require.Equal(t, 1, s.Prefix(hashesOf(5)))
		stats := s.Stats()
		require.Equal(t, 1, stats.Used)
		require.EqualValues(t, testBlock, stats.UsedBytes)
		require.Zero(t, stats.Orphaned+stats.Retained+stats.OpenViews+stats.Pending)
		require.NoError(t, s.Close())
	}
}
