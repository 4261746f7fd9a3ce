package store_test

import (
	"io"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/blockhash"
	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/store"
)

func TestAClosedViewShowsNothing(t *testing.T) {
	s := newStore(t, 2)
	put(t, s, 0, 1)
	view, err := s.View(hashesOf(0, 1))
	require.NoError(t, err)
	require.Equal(t, 2, view.Len())
	require.NoError(t, view.Close())
	// The same state serves another view by now, which the old one must not reach.
	other, err := s.View(hashesOf(1))
	require.NoError(t, err)
	for name, closed := range map[string]store.View{"closed": view, "zero": {}} {
		require.Zero(t, closed.Len(), name)
		_, err = closed.Block(0)
		require.ErrorIs(t, err, auxerrors.ErrClosed, name)
		n, err := closed.WriteTo(io.Discard)
		require.ErrorIs(t, err, auxerrors.ErrClosed, name)
		require.Zero(t, n, name)
		require.ErrorIs(t, closed.Close(), auxerrors.ErrClosed, name)
	}
	require.Equal(t, 1, s.Stats().OpenViews)
	rows, err := other.Block(0)
	require.NoError(t, err)
	require.Equal(t, rowsFor(1, 0, testBlock), rows)
	require.NoError(t, other.Close())
}

// TestOneOfManyWhoCloseAViewClosesIt has closers that wait for each view actively, so
// that they come as close to each other as they can.
func TestOneOfManyWhoCloseAViewClosesIt(t *testing.T) {
	const closers, rounds = 3, 5000
	s := newStore(t, 2)
	put(t, s, 0)
	var views [rounds]store.View
	var opened, closed, done atomic.Int64
	var wg sync.WaitGroup
	for range closers {
		wg.Go(func() {
			for round := range int64(rounds) {
				for opened.Load() <= round {
					runtime.Gosched()
				}
				if views[round].Close() == nil {
					closed.Add(1)
				}
				done.Add(1)
			}
		})
	}
	for round := range int64(rounds) {
		view, err := s.View(hashesOf(0))
		if err != nil {
			t.Error(err) // the closers have to come to an end
		}
		views[round] = view
		opened.Store(round + 1)
		for done.Load() < closers*(round+1) {
			runtime.Gosched()
		}
	}
	wg.Wait()
	require.EqualValues(t, rounds, closed.Load(), "each view is closed once")
	require.Zero(t, s.Stats().OpenViews)
	require.Equal(t, hashesOf(0), s.Snapshot().Evictable)
}

// TestAReadLongerThanMemoryIsAnError reads one block so often that the length of the
// answer is beyond an int. The block is huge, and costs what was written of it.
func TestAReadLongerThanMemoryIsAnError(t *testing.T) {
	const blockBytes = math.MaxInt>>17 + 1
	s, err := store.New(store.Options{MaxBytes: blockBytes, BlockBytes: blockBytes})
	if err != nil {
		t.Skipf("LOUD: the system has no address space for a block of %d bytes: %v", blockBytes, err)
	}
	defer func() { require.NoError(t, s.Close()) }()
	hashes := make([]blockhash.Hash, math.MaxInt/blockBytes+1)
	for i := range hashes {
		hashes[i] = hashOf(0)
	}
	got, err := s.Get([]byte("before"), hashes)
	require.ErrorIs(t, err, auxerrors.ErrTooLarge)
	var typed *auxerrors.BlockObjectStoreError
	require.ErrorAs(t, err, &typed)
	require.Equal(t, "before", string(got))
	_, err = s.View(hashes)
	require.ErrorIs(t, err, auxerrors.ErrNeverStored, "a view copies nothing")
}
