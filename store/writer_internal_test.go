package store

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/blockhash"
	auxerrors "github.com/auxoutput/auxoutput/errors"
)

// TestAWaitThatIsCancelledLeavesItsBatchUnpublishedAndTheWriterUsable holds the
// store's lock, so that the writer cannot get on and everything that waits for it
// has to wait.
func TestAWaitThatIsCancelledLeavesItsBatchUnpublishedAndTheWriterUsable(t *testing.T) {
	s, err := New(Options{MaxBytes: 64, BlockBytes: 8})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	w, err := NewWriter(s, 2)
	require.NoError(t, err)
	batchOf := func(n uint64) Batch {
		return Batch{Blocks: []Block{{numbered(n), bytes.Repeat([]byte{byte(n)}, 8)}}, Retain: []blockhash.Hash{numbered(n)}}
	}

	s.mu.Lock()
	var tickets []uint64
	for n := range uint64(2) {
		ticket, err := w.Put(t.Context(), batchOf(n))
		require.NoError(t, err)
		tickets = append(tickets, ticket)
	}
	gone := errors.New("the request was cancelled")
	for name, wait := range map[string]func(context.Context) error{
		"put":   func(ctx context.Context) error { _, err := w.Put(ctx, batchOf(7)); return err },
		"flush": w.Flush,
		"wait":  func(ctx context.Context) error { return w.Wait(ctx, tickets[1]) },
		"get": func(ctx context.Context) error {
			dst, err := w.Get(ctx, []byte("before"), []blockhash.Hash{numbered(1)})
			require.Equal(t, "before", string(dst))
			return err
		},
		"view": func(ctx context.Context) error {
			view, err := w.View(ctx, []blockhash.Hash{numbered(1)})
			require.Zero(t, view)
			return err
		},
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		ended := make(chan error)
		go func() { ended <- wait(ctx) }()
		select {
		case err := <-ended:
			s.mu.Unlock()
			t.Fatalf("%s did not wait: %v", name, err)
		case <-time.After(2 * time.Millisecond): // it has begun to wait, most likely
		}
		cancel(gone)
		err := <-ended
		require.ErrorIs(t, err, context.Canceled, name)
		var typed *auxerrors.BlockObjectStoreError
		require.ErrorAs(t, err, &typed, name)
		require.NotErrorIs(t, err, auxerrors.ErrPublication, "%s: it is no failure of the writer", name)
	}
	require.Equal(t, 2, w.Queued())
	s.mu.Unlock()

	ticket, err := w.Put(t.Context(), batchOf(2))
	require.NoError(t, err)
	require.Equal(t, tickets[1]+1, ticket, "the cancelled batch has taken no place")
	require.NoError(t, w.Wait(t.Context(), ticket))
	rows, err := w.Get(t.Context(), nil, []blockhash.Hash{numbered(0), numbered(1), numbered(2)})
	require.NoError(t, err)
	require.Equal(t, bytes.Join([][]byte{bytes.Repeat([]byte{0}, 8), bytes.Repeat([]byte{1}, 8), bytes.Repeat([]byte{2}, 8)}, nil), rows)
	require.NoError(t, w.Close())
	stats := s.Stats()
	require.EqualValues(t, 3, stats.Puts)
	require.Equal(t, 3, stats.Retained)
	require.Zero(t, stats.Pending, "nor has it retained anything")
	require.Zero(t, s.Prefix([]blockhash.Hash{numbered(7)}))
}

func TestAPutThatWaitsForRoomIsTurnedAwayByClose(t *testing.T) {
	s, err := New(Options{MaxBytes: 64, BlockBytes: 8})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	w, err := NewWriter(s, 1)
	require.NoError(t, err)
	s.mu.Lock()
	_, err = w.Put(t.Context(), Batch{Blocks: []Block{{numbered(1), make([]byte, 8)}}})
	require.NoError(t, err)
	waiting, closed := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := w.Put(context.Background(), Batch{Blocks: []Block{{numbered(2), make([]byte, 8)}}})
		waiting <- err
	}()
	go func() { closed <- w.Close() }()
	for open := true; open; { // until Close has begun
		w.mu.Lock()
		open = !w.closed
		w.mu.Unlock()
	}
	s.mu.Unlock()
	require.NoError(t, <-closed, "what was queued is applied")
	require.ErrorIs(t, <-waiting, auxerrors.ErrClosed)
	require.Equal(t, 1, s.Prefix([]blockhash.Hash{numbered(1)}))
	require.Zero(t, s.Prefix([]blockhash.Hash{numbered(2)}))
	require.Zero(t, w.Queued())
}

// TestWhatIsQueuedBehindAFailureIsNotApplied queues everything before the first batch
// can be applied.
func TestWhatIsQueuedBehindAFailureIsNotApplied(t *testing.T) {
	s, err := New(Options{MaxBytes: 64, BlockBytes: 8})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	w, err := NewWriter(s, 8)
	require.NoError(t, err)
	s.mu.Lock()
	for n := range uint64(6) {
		batch := Batch{Blocks: []Block{{numbered(n), make([]byte, 8)}}}
		if n == 2 {
			batch.Release = []blockhash.Hash{numbered(9)}
		}
		_, err := w.Put(t.Context(), batch)
		require.NoError(t, err)
	}
	s.mu.Unlock()
	err = w.Close()
	require.ErrorIs(t, err, auxerrors.ErrPublication)
	require.ErrorIs(t, err, auxerrors.ErrNotRetained)
	require.Zero(t, w.Queued(), "what is not applied is accounted for")
	for n := range uint64(6) {
		require.Equal(t, n < 2, s.Prefix([]blockhash.Hash{numbered(n)}) == 1, "batch %d", n)
	}
	require.EqualValues(t, 2, s.Stats().Puts)
	require.EqualValues(t, 1, s.Stats().RefusedPuts)
}

// TestABatchThatAResetOvertookIsLeftOut queues batches of a generation and resets the
// store before any of them is applied.
func TestABatchThatAResetOvertookIsLeftOut(t *testing.T) {
	s, err := New(Options{MaxBytes: 64, BlockBytes: 8})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	w, err := NewWriter(s, 8)
	require.NoError(t, err)
	batchOf := func(n, generation uint64) Batch {
		return Batch{Generation: generation, Blocks: []Block{{numbered(n), make([]byte, 8)}}}
	}
	var tickets []uint64
	put := func(n, generation uint64) {
		ticket, err := w.Put(t.Context(), batchOf(n, generation))
		require.NoError(t, err)
		tickets = append(tickets, ticket)
	}
	s.mu.Lock()
	put(0, 0)
	for w.taken() < 1 { // it is being applied, as far as the lock lets it
		time.Sleep(time.Microsecond)
	}
	put(1, 0)
	put(2, 0)
	s.generation++ // what a reset does
	s.current.Store(s.generation)
	put(3, 1)
	s.mu.Unlock()
	for _, ticket := range tickets {
		require.NoError(t, w.Wait(t.Context(), ticket), "it is no failure")
	}
	require.EqualValues(t, 3, w.Late())
	require.Equal(t, []blockhash.Hash{numbered(3)}, s.Snapshot().Evictable)

	for _, generation := range []uint64{0, 2} {
		_, err = w.Put(t.Context(), batchOf(4, generation))
		require.ErrorIs(t, err, auxerrors.ErrGeneration, "of now, it is the caller's mistake")
	}
	require.EqualValues(t, 3, w.Late(), "and not counted as late")
	s.current.Store(0) // as if the reset came just now
	put(5, 1)
	require.NoError(t, w.Close())
	require.Equal(t, 1, s.Prefix([]blockhash.Hash{numbered(5)}))
}

// taken is how many batches the writer is applying.
func (w *Writer) taken() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.queue.places - len(w.queue.queued)
}

// TestABatchLargerThanTheQueueIsTakenAlone holds the store's lock, so that nothing is
// applied until it lets go.
func TestABatchLargerThanTheQueueIsTakenAlone(t *testing.T) {
	s, err := New(Options{MaxBytes: 64 * 8, BlockBytes: 8})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	batchOf := func(numbers ...uint64) Batch {
		var b Batch
		for _, n := range numbers {
			b.Blocks = append(b.Blocks, Block{numbered(n), make([]byte, 8)})
		}
		return b
	}
	one, large := batchOf(1), batchOf(2, 3, 4, 5)
	w, err := NewWriterWith(s, WriterOptions{Depth: 100, MaxBytes: 2 * batchBytes(&one)})
	require.NoError(t, err)
	s.mu.Lock()
	for range 2 {
		_, err := w.Put(t.Context(), one)
		require.NoError(t, err, "these fit")
	}
	put := func(b Batch) chan uint64 {
		waiting := make(chan uint64, 1)
		before := w.waiting()
		go func() {
			ticket, err := w.Put(context.Background(), b)
			if err != nil {
				t.Error(err)
			}
			waiting <- ticket
		}()
		for w.waiting() == before {
			time.Sleep(time.Microsecond)
		}
		return waiting
	}
	first := put(large)
	second := put(one)
	require.Equal(t, 2, w.Queued(), "the small one does not overtake the large one")
	require.LessOrEqual(t, w.QueuedBytes(), 2*batchBytes(&one))
	s.mu.Unlock()
	require.EqualValues(t, 3, <-first)
	require.EqualValues(t, 4, <-second)
	require.NoError(t, w.Close())
	require.Equal(t, 5, s.Stats().Used)
	require.Zero(t, w.QueuedBytes())
}

func TestWhoGivesUpWaitingMakesWayForASmallerBatch(t *testing.T) {
	s, err := New(Options{MaxBytes: 64 * 8, BlockBytes: 8})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	small := Batch{Blocks: []Block{{numbered(1), make([]byte, 8)}}}
	large := Batch{Blocks: []Block{{numbered(2), make([]byte, 8)}, {numbered(3), make([]byte, 8)}}}
	w, err := NewWriterWith(s, WriterOptions{Depth: 100, MaxBytes: 2 * batchBytes(&small)})
	require.NoError(t, err)
	s.mu.Lock()
	_, err = w.Put(t.Context(), small)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	gone, let := make(chan error, 1), make(chan error, 1)
	go func() { _, err := w.Put(ctx, large); gone <- err }()
	for w.waiting() < 1 {
		time.Sleep(time.Microsecond)
	}
	go func() { _, err := w.Put(context.Background(), small); let <- err }()
	for w.waiting() < 2 {
		time.Sleep(time.Microsecond)
	}
	cancel()
	require.ErrorIs(t, <-gone, context.Canceled)
	select {
	case err = <-let:
	case <-time.After(10 * time.Second):
		err = errors.New("there is room, and nobody is let in")
	}
	s.mu.Unlock()
	require.NoError(t, err)
	require.NoError(t, w.Close())
	require.EqualValues(t, 2, s.Stats().Puts)
}

func (w *Writer) waiting() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.queue.waiting)
}
