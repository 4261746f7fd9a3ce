package store_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/blockhash"
	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/store"
)

func TestOneClientsMalformedBatchIsItsOwnAffair(t *testing.T) {
	s := newStore(t, 8)
	_, err := s.Reset()
	require.NoError(t, err)
	w := newWriter(t, s, 4)
	zero := make([]blockhash.Hash, 1)
	for name, bad := range map[string]struct {
		batch  store.Batch
		reason error
	}{
		"rows that are too short":  {store.Batch{Generation: 1, Blocks: []store.Block{of(1, 0), {Hash: hashOf(2), Rows: make([]byte, 3)}}}, auxerrors.ErrPayloadSize},
		"rows that are too long":   {store.Batch{Generation: 1, Blocks: []store.Block{{Hash: hashOf(2), Rows: make([]byte, testBlock+1)}}}, auxerrors.ErrPayloadSize},
		"a block without a hash":   {store.Batch{Generation: 1, Blocks: []store.Block{{Rows: make([]byte, testBlock)}}}, auxerrors.ErrInvalidHash},
		"retaining no hash":        {store.Batch{Generation: 1, Blocks: blocksOf(1), Retain: zero}, auxerrors.ErrInvalidHash},
		"releasing no hash":        {store.Batch{Generation: 1, Release: zero}, auxerrors.ErrInvalidHash},
		"an older generation":      {store.Batch{Generation: 0, Blocks: blocksOf(1)}, auxerrors.ErrGeneration},
		"a generation to come":     {store.Batch{Generation: 2, Blocks: blocksOf(1)}, auxerrors.ErrGeneration},
		"a generation far to come": {store.Batch{Generation: 1 << 63, Retain: hashesOf(1)}, auxerrors.ErrGeneration},
	} {
		ticket, err := w.Put(t.Context(), bad.batch)
		require.ErrorIs(t, err, bad.reason, name)
		require.NotErrorIs(t, err, auxerrors.ErrPublication, "%s: nothing was put", name)
		var typed *auxerrors.BlockObjectStoreError
		require.ErrorAs(t, err, &typed, name)
		require.Zero(t, ticket, name)

		// The next client's is fine.
		ticket, err = w.Put(t.Context(), store.Batch{Generation: 1, Blocks: blocksOf(5)})
		require.NoError(t, err, name)
		require.NoError(t, w.Wait(t.Context(), ticket), name)
	}
	require.Zero(t, w.Late())
	require.Equal(t, hashesOf(5), s.Snapshot().Evictable)
	require.Zero(t, s.Stats().Pending)
	require.NoError(t, w.Close())
}

func TestAWaitTellsOfItsOwnBatchAlsoAfterALaterOneHasFailed(t *testing.T) {
	s := newStore(t, 8)
	w := newWriter(t, s, 8)
	mine, err := w.Put(t.Context(), store.Batch{Blocks: blocksOf(0)})
	require.NoError(t, err)
	theirs, err := w.Put(t.Context(), store.Batch{Release: hashesOf(7)})
	require.NoError(t, err)
	require.ErrorIs(t, w.Wait(t.Context(), theirs), auxerrors.ErrNotRetained)
	require.NoError(t, w.Wait(t.Context(), mine), "it is applied, and stays so")
	require.ErrorIs(t, w.Wait(t.Context(), theirs), auxerrors.ErrPublication)
	_, err = w.Put(t.Context(), store.Batch{Blocks: blocksOf(1)})
	require.ErrorIs(t, err, auxerrors.ErrPublication, "what would come behind it is refused")
	require.ErrorIs(t, w.Close(), auxerrors.ErrNotRetained)
	require.NoError(t, w.Wait(t.Context(), mine))
}

func TestWriterOptionsThatMakeNoSenseAreAnError(t *testing.T) {
	s := newStore(t, 1)
	for name, tc := range map[string]struct {
		store   *store.Store
		options store.WriterOptions
		field   string
	}{
		"no batches":          {s, store.WriterOptions{}, "Depth"},
		"fewer than none":     {s, store.WriterOptions{Depth: -1}, "Depth"},
		"fewer bytes than no": {s, store.WriterOptions{Depth: 1, MaxBytes: -1}, "MaxBytes"},
		"no store":            {nil, store.WriterOptions{Depth: 1}, "store"},
	} {
		_, err := store.NewWriterWith(tc.store, tc.options)
		var config *auxerrors.ConfigError
		require.ErrorAs(t, err, &config, name)
		require.Equal(t, tc.field, config.Field, name)
	}
	_, err := store.NewWriter(s, 0)
	require.ErrorIs(t, err, auxerrors.ErrTooSmall)
}

// TestTheQueueIsBoundedInBytes puts from many goroutines, some of it larger than the
// bound. Nothing is lost, and more than the bound is queued for a large batch alone.
func TestTheQueueIsBoundedInBytes(t *testing.T) {
	const putters, batches = 6, 60
	s := newStore(t, 64)
	one := store.Batch{Blocks: blocksOf(0)}
	const bound = int64(5 * testBlock * 3) // of the rows and the list, three times
	w, err := store.NewWriterWith(s, store.WriterOptions{Depth: 100, MaxBytes: bound})
	require.NoError(t, err)
	over := make(chan struct{})
	var putting, watching sync.WaitGroup
	watching.Go(func() {
		for {
			if bytes, batches := w.QueuedBytes(), w.Queued(); bytes > bound && batches > 1 && w.QueuedBytes() == bytes {
				t.Errorf("%d bytes in %d batches", bytes, batches)
				return
			}
			select {
			case <-over:
				return
			default:
			}
		}
	})
	for putter := range putters {
		putting.Go(func() {
			for i := range batches {
				batch := one
				if (putter+i)%7 == 0 {
					batch.Blocks = blocksOf(1, 2, 3, 4, 5, 6, 7, 8)
				}
				if _, err := w.Put(t.Context(), batch); err != nil {
					t.Error(err)
				}
			}
		})
	}
	putting.Wait()
	close(over)
	watching.Wait()
	require.NoError(t, w.Close())
	require.Zero(t, w.QueuedBytes())
	require.EqualValues(t, putters*batches, s.Stats().Puts)
}

// TestAPutThatGivesUpWaitingLetsTheNextOneIn lets half of those who wait for room give
// up.
func TestAPutThatGivesUpWaitingLetsTheNextOneIn(t *testing.T) {
	s := newStore(t, 64)
	w := newWriter(t, s, 1)
	for range 200 {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Microsecond)
		var wg sync.WaitGroup
		for i := range 6 {
			wg.Go(func() {
				with := t.Context()
				if i%2 == 0 {
					with = ctx
				}
				if _, err := w.Put(with, store.Batch{Blocks: blocksOf(i)}); err != nil && !errors.Is(err, context.DeadlineExceeded) {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		cancel()
	}
	require.NoError(t, w.Close())
	require.Zero(t, w.Queued())
}

func TestTheZeroWriterIsClosed(t *testing.T) {
	var w store.Writer
	_, err := w.Put(t.Context(), store.Batch{Blocks: blocksOf(0)})
	require.ErrorIs(t, err, auxerrors.ErrClosed)
	_, err = w.Put(t.Context(), store.Batch{})
	require.ErrorIs(t, err, auxerrors.ErrClosed)
	require.ErrorIs(t, w.Flush(t.Context()), auxerrors.ErrClosed)
	require.ErrorIs(t, w.Wait(t.Context(), 1), auxerrors.ErrClosed)
	require.NoError(t, w.Close())
	require.Zero(t, w.Queued())
}
