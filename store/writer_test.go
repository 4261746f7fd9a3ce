package store_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/store"
)

func newWriter(t testing.TB, s *store.Store, depth int) *store.Writer {
	t.Helper()
	w, err := store.NewWriter(s, depth)
	require.NoError(t, err)
	t.Cleanup(func() { w.Close() })
	return w
}

func TestAWriterNeedsAQueue(t *testing.T) {
	_, err := store.NewWriter(newStore(t, 1), 0)
	require.ErrorIs(t, err, auxerrors.ErrTooSmall)
}

func TestAReadSeesWhatWasPutBeforeIt(t *testing.T) {
	s := newStore(t, 8)
	w := newWriter(t, s, 3)
	for i := range 200 {
		_, err := w.Put(t.Context(), store.Batch{Blocks: blocksOf(i)})
		require.NoError(t, err)
		rows, err := w.Get(t.Context(), nil, hashesOf(i))
		require.NoError(t, err)
		require.Equal(t, rowsFor(i, 0, testBlock), rows)
		view, err := w.View(t.Context(), hashesOf(i))
		require.NoError(t, err)
		require.NoError(t, view.Close())
	}
	require.NoError(t, w.Close())
	require.Zero(t, w.Queued())
}

func TestBatchesAreAppliedInTheOrderOfTheirTickets(t *testing.T) {
	s := newStore(t, 1)
	w := newWriter(t, s, 8)
	var last uint64
	for i := range 500 {
		ticket, err := w.Put(t.Context(), store.Batch{Blocks: blocksOf(i)})
		require.NoError(t, err)
		require.Equal(t, last+1, ticket)
		last = ticket
	}
	require.NoError(t, w.Wait(t.Context(), last))
	require.Equal(t, hashesOf(499), s.Snapshot().Evictable)
	require.ErrorIs(t, w.Wait(t.Context(), last+1), auxerrors.ErrOutOfRange)
	empty, err := w.Put(t.Context(), store.Batch{})
	require.NoError(t, err)
	require.Equal(t, last, empty, "an empty batch has the ticket of the one before")
}

func TestAPutWhoseContextIsCancelledAlreadyLeavesNoTrace(t *testing.T) {
	s := newStore(t, 2)
	w := newWriter(t, s, 1)
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := w.Put(cancelled, store.Batch{Blocks: blocksOf(0)})
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, w.Flush(t.Context()))
	require.Zero(t, s.Stats().Puts)
}

func TestTheFirstFailureIsStickyAndReachesEveryLaterCall(t *testing.T) {
	s := newStore(t, 2)
	w := newWriter(t, s, 4)
	ctx := t.Context()
	_, err := w.Put(ctx, store.Batch{Release: hashesOf(0)})
	require.NoError(t, err, "the failure is not known yet")
	_ = w.Flush(ctx)

	for name, call := range map[string]func() error{
		"put":       func() error { _, err := w.Put(ctx, store.Batch{Blocks: blocksOf(1)}); return err },
		"empty put": func() error { _, err := w.Put(ctx, store.Batch{}); return err },
		"get":       func() error { _, err := w.Get(ctx, nil, hashesOf(1)); return err },
		"view":      func() error { _, err := w.View(ctx, hashesOf(1)); return err },
		"flush":     func() error { return w.Flush(ctx) },
		"wait":      func() error { return w.Wait(ctx, 1) },
		"close":     w.Close,
		"close 2":   w.Close,
	} {
		err := call()
		require.ErrorIs(t, err, auxerrors.ErrPublication, name)
		require.ErrorIs(t, err, auxerrors.ErrNotRetained, "%s names the cause", name)
	}
	require.Zero(t, s.Stats().Used)
}

func TestCloseAppliesWhatIsQueued(t *testing.T) {
	s := newStore(t, 64)
	w := newWriter(t, s, 64)
	for i := range 64 {
		_, err := w.Put(t.Context(), store.Batch{Blocks: blocksOf(i)})
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	require.Equal(t, 64, s.Stats().Used)
	_, err := w.Put(t.Context(), store.Batch{Blocks: blocksOf(1)})
	require.ErrorIs(t, err, auxerrors.ErrClosed)
	_, err = w.Get(t.Context(), nil, hashesOf(1))
	require.ErrorIs(t, err, auxerrors.ErrClosed)
	require.NoError(t, w.Close())
}

func TestManyGoroutinesShareAWriter(t *testing.T) {
	s := newStore(t, 4096)
	w := newWriter(t, s, 2)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 100 {
				n := g*100 + i
				if _, err := w.Put(t.Context(), store.Batch{Blocks: blocksOf(n)}); err != nil {
					t.Error(err)
				}
				if rows, err := w.Get(t.Context(), nil, hashesOf(n)); err != nil || string(rows) != string(rowsFor(n, 0, testBlock)) {
					t.Errorf("block %d: %v", n, err)
				}
			}
		})
	}
	wg.Go(func() {
		for range 50 {
			if err := w.Flush(t.Context()); err != nil && !errors.Is(err, auxerrors.ErrClosed) {
				t.Error(err)
			}
		}
	})
	wg.Wait()
	require.NoError(t, w.Close())
	require.EqualValues(t, 800, s.Stats().Puts)
}
