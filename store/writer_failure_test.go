package store_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/store"
)

// outcome is what the putter of a batch was told.
type outcome struct {
	ticket  uint64
	refused error // by Put
	waited  error // by Wait
}

// TestAWriterThatFailsInTheMiddleLosesNothingSilently lets many goroutines put
// through a short queue, and one of them something that the store refuses.
func TestAWriterThatFailsInTheMiddleLosesNothingSilently(t *testing.T) {
	const putters, batches, bad = 8, 50, 3*50 + 25
	s := newStore(t, putters*batches)
	w := newWriter(t, s, 4)
	outcomes := make([]outcome, putters*batches)
	var wg sync.WaitGroup
	for putter := range putters {
		wg.Go(func() {
			for i := range batches {
				n := putter*batches + i
				batch := store.Batch{Blocks: blocksOf(n)}
				if n == bad {
					batch.Release = hashesOf(n)
				}
				o := &outcomes[n]
				if o.ticket, o.refused = w.Put(t.Context(), batch); o.refused == nil && i%3 != 0 { // some do not ask
					o.waited = w.Wait(t.Context(), o.ticket)
				}
			}
		})
	}
	wg.Wait()
	err := w.Close()
	require.ErrorIs(t, err, auxerrors.ErrPublication)
	require.ErrorIs(t, err, auxerrors.ErrNotRetained)
	require.Zero(t, w.Queued(), "Close drains")
	require.Zero(t, w.Late())

	require.NoError(t, outcomes[bad].refused)
	applied := 0
	for n, o := range outcomes {
		there := s.Prefix(hashesOf(n)) == 1
		if there {
			applied++
		}
		switch {
		case o.refused != nil:
			require.False(t, there, "batch %d was refused and applied", n)
			require.ErrorIs(t, o.refused, auxerrors.ErrPublication)
			require.ErrorIs(t, o.refused, auxerrors.ErrNotRetained, "with the cause")
		default:
			require.Equal(t, o.ticket < outcomes[bad].ticket, there, "batch %d: all batches before the failure are applied, and none after it", n)
		}
		if o.waited != nil {
			require.ErrorIs(t, o.waited, auxerrors.ErrPublication)
			require.ErrorIs(t, o.waited, auxerrors.ErrNotRetained, "with the cause")
		}
		if o.waited == nil && o.refused == nil && n%batches%3 != 0 {
			require.True(t, there, "batch %d was acknowledged and is lost", n)
		}
	}
	stats := s.Stats()
	require.EqualValues(t, applied, stats.Puts)
	require.EqualValues(t, 1, stats.RefusedPuts, "after the first failure nothing is tried")
	require.NoError(t, func() error { _, err := s.Put(store.Batch{Blocks: blocksOf(bad)}); return err }(), "the store is unharmed")
}

func TestPutsThatWaitForRoomLearnOfTheFailureThatMadeIt(t *testing.T) {
	for range 50 {
		s := newStore(t, 64)
		w := newWriter(t, s, 1)
		_, err := w.Put(t.Context(), store.Batch{Release: hashesOf(0)})
		require.NoError(t, err)
		var wg sync.WaitGroup
		told := make([]error, 4)
		for i := range told {
			wg.Go(func() {
				ticket, err := w.Put(t.Context(), store.Batch{Blocks: blocksOf(i)})
				if err == nil {
					err = w.Wait(t.Context(), ticket)
				}
				told[i] = err
			})
		}
		wg.Wait()
		for _, err := range told {
			require.ErrorIs(t, err, auxerrors.ErrPublication)
		}
		require.ErrorIs(t, w.Close(), auxerrors.ErrNotRetained)
		require.Zero(t, s.Stats().Used)
	}
}
