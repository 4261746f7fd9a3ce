package store_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/store"
)

func TestShutdownSaysWhichViewsItWaitsForAndTheLastOneGivesTheMemoryBack(t *testing.T) {
	s, err := store.New(store.Options{MaxBytes: 4 * testBlock, BlockBytes: testBlock})
	require.NoError(t, err)
	put(t, s, 0, 1, 2)
	var views []store.View
	for range 2 {
		view, err := s.View(hashesOf(2, 0))
		require.NoError(t, err)
		views = append(views, view)
	}
	mapped := s.Stats().MappedBytes

	ctx, cancel := context.WithTimeoutCause(t.Context(), time.Millisecond, errors.New("the pod is going"))
	defer cancel()
	for range 2 { // it can be called again, and says the same
		err = s.Shutdown(ctx)
		require.ErrorIs(t, err, auxerrors.ErrInUse)
		require.ErrorContains(t, err, "the pod is going")
		require.ErrorContains(t, err, "2 views are open, 0 reads and puts are under way")
		var typed *auxerrors.BlockObjectStoreError
		require.ErrorAs(t, err, &typed)
		require.Equal(t, "shutdown", typed.Op)
		require.Equal(t, 4, typed.Limit)
	}
	_, err = s.Put(store.Batch{Blocks: blocksOf(3)})
	require.ErrorIs(t, err, auxerrors.ErrClosed)
	_, err = s.Get(nil, hashesOf(0))
	require.ErrorIs(t, err, auxerrors.ErrClosed)
	_, err = s.View(hashesOf(0))
	require.ErrorIs(t, err, auxerrors.ErrClosed)

	for _, view := range views {
		require.Equal(t, mapped, s.Stats().MappedBytes)
		rows, err := view.Block(1)
		require.NoError(t, err, "a view that is open shows its rows")
		require.Equal(t, rowsFor(0, 0, testBlock), rows)
		require.NoError(t, view.Close())
	}
	require.NoError(t, s.Close(), "nothing is left to wait for")
	require.NoError(t, s.Shutdown(ctx))
	require.Zero(t, s.Stats().MappedBytes)
	require.Zero(t, s.Stats().OpenViews)
}

func TestShutdownOfAStoreThatNobodyUsesNeedsNoTime(t *testing.T) {
	s, err := store.New(store.Options{MaxBytes: 4 * testBlock, BlockBytes: testBlock})
	require.NoError(t, err)
	put(t, s, 0, 1, 2)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, s.Shutdown(ctx))
	require.NoError(t, s.Close())
	_, err = s.Reset()
	require.ErrorIs(t, err, auxerrors.ErrClosed)
}

func TestShutdownEndsWhenItsContextDoesAndCloseGoesOnWaiting(t *testing.T) {
	s, err := store.New(store.Options{MaxBytes: 4 * testBlock, BlockBytes: testBlock})
	require.NoError(t, err)
	put(t, s, 0)
	view, err := s.View(hashesOf(0))
	require.NoError(t, err)
	closed := make(chan error)
	go func() { closed <- s.Close() }()
	for { // until Close has begun
		if _, err := s.Get(nil, hashesOf(0)); errors.Is(err, auxerrors.ErrClosed) {
			break
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	shut := make(chan error)
	go func() { shut <- s.Shutdown(ctx) }()
	cancel()
	err = <-shut
	require.ErrorIs(t, err, auxerrors.ErrInUse)
	require.ErrorIs(t, err, context.Canceled)
	select {
	case err := <-closed:
		require.FailNow(t, "Close did not wait for the view", "%v", err)
	default:
	}
	require.NoError(t, view.Close())
	require.NoError(t, <-closed)
}
