package store

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/auxoutput/auxoutput/blockhash"
	auxerrors "github.com/auxoutput/auxoutput/errors"
)

// Writer publishes batches to a store in the background, in the order in which
// they are put. Its queue is bounded: when it is full, Put waits. Nothing is
// ever dropped to make room.
//
// The first batch that the store refuses ends it: that failure is sticky, later
// batches are not applied, and every later call returns an error that wraps both
// [auxerrors.ErrPublication] and the cause. The one exception is a batch whose
// generation the store has left behind by a reset: its rows could never be read,
// so it is left out and counted by [Writer.Late].
//
// A Writer is safe for concurrent use.
type Writer struct {
	store *Store
	room  chan struct{} // one token for each batch that is put and not applied yet
	work  chan struct{} // tells the goroutine that there is something in the queue
	done  chan struct{} // closed when the goroutine has ended

	mu      sync.Mutex
	queue   []Batch
	put     uint64        // batches put so far: the ticket of the last one
	applied uint64        // batches applied, left out or skipped so far
	moved   chan struct{} // closed when applied has grown; nil if nobody waits
	late    uint64
	closed  bool
	failure error
}

// NewWriter starts a writer whose queue holds at most depth batches. vLLM's
// connector uses twice its largest number of concurrent requests. Less than one
// is a [auxerrors.ConfigError]. The writer does not own the store: close the
// writer first, then the store.
func NewWriter(s *Store, depth int) (*Writer, error) {
	if depth < 1 {
		return nil, &auxerrors.ConfigError{Field: "depth", Value: depth, Want: "at least 1", Reason: auxerrors.ErrTooSmall}
	}
	w := &Writer{
		store: s,
		room:  make(chan struct{}, depth),
		work:  make(chan struct{}, 1),
		done:  make(chan struct{}),
	}
	go w.run()
	return w, nil
}

// Put queues a batch and returns its ticket for [Writer.Wait]. It waits while
// the queue is full, until ctx ends. The batch, rows included, belongs to the
// writer until it is applied. An empty batch needs no place in the queue.
func (w *Writer) Put(ctx context.Context, batch Batch) (ticket uint64, err error) {
	if len(batch.Blocks) == 0 && len(batch.Retain) == 0 && len(batch.Release) == 0 {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.put, w.state("put")
	}
	if err := ctx.Err(); err != nil {
		return 0, w.cancelled("put", err)
	}
	select {
	case w.room <- struct{}{}:
	case <-ctx.Done():
		return 0, w.cancelled("put", ctx.Err())
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.state("put"); err != nil {
		<-w.room
		return 0, err
	}
	w.queue = append(w.queue, batch)
	w.put++
	w.wake()
	return w.put, nil
}

// Get is [Store.Get] after all batches that were put before it, and no others,
// are applied.
func (w *Writer) Get(ctx context.Context, dst []byte, hashes []blockhash.Hash) ([]byte, error) {
	if err := w.Flush(ctx); err != nil {
		return dst, err
	}
	return w.store.Get(dst, hashes)
}

// View is [Store.View] after all batches that were put before it, and no others,
// are applied.
func (w *Writer) View(ctx context.Context, hashes []blockhash.Hash) (View, error) {
	if err := w.Flush(ctx); err != nil {
		return View{}, err
	}
	return w.store.View(hashes)
}

// Flush waits until all batches that were put before it are applied.
func (w *Writer) Flush(ctx context.Context) error {
	w.mu.Lock()
	ticket, err := w.put, w.state("flush")
	w.mu.Unlock()
	if err != nil {
		return err
	}
	return w.Wait(ctx, ticket)
}

// Wait waits until the batch with this ticket is applied, and with it all
// before it.
func (w *Writer) Wait(ctx context.Context, ticket uint64) error {
	for {
		w.mu.Lock()
		if ticket > w.put {
			put := w.put
			w.mu.Unlock()
			return &auxerrors.BlockObjectStoreError{
				Op: "wait", Reason: auxerrors.ErrOutOfRange, Index: -1,
				Detail: fmt.Sprintf("ticket %d of %d", ticket, put),
			}
		}
		if err := w.failed("wait"); err != nil || w.applied >= ticket {
			w.mu.Unlock()
			return err
		}
		if w.moved == nil {
			w.moved = make(chan struct{})
		}
		moved := w.moved
		w.mu.Unlock()
		select {
		case <-moved:
		case <-ctx.Done():
			return w.cancelled("wait", ctx.Err())
		}
	}
}

// Queued is the number of batches that are put and not applied yet.
func (w *Writer) Queued() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return int(w.put - w.applied)
}

// Late is the number of batches that were left out because the store was reset
// after they were put.
func (w *Writer) Late() uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.late
}

// Close applies everything that is queued, ends the goroutine and returns the
// failure, if there was one. Calls after it find the writer closed, except for
// further calls of Close, which return the same.
func (w *Writer) Close() error {
	w.mu.Lock()
	w.closed = true
	w.wake()
	w.mu.Unlock()
	<-w.done
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.failed("close")
}

// run applies batches until the writer is closed and the queue is empty.
func (w *Writer) run() {
	defer close(w.done)
	for range w.work {
		for {
			w.mu.Lock()
			if len(w.queue) == 0 {
				closed := w.closed
				w.mu.Unlock()
				if closed {
					return
				}
				break
			}
			batch := w.queue[0]
			w.queue[0] = Batch{}
			w.queue = w.queue[1:]
			skip := w.failure != nil
			w.mu.Unlock()

			var err error
			if !skip {
				_, err = w.store.Put(batch)
			}
			w.finish(batch.Generation, err)
			<-w.room
		}
	}
}

// finish accounts for a batch that is through.
func (w *Writer) finish(generation uint64, err error) {
	late := errors.Is(err, auxerrors.ErrGeneration) && generation < w.store.Generation()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.applied++
	switch {
	case late:
		w.late++
	case err != nil:
		w.failure = err
	}
	if w.moved != nil {
		close(w.moved)
		w.moved = nil
	}
}

// wake tells the goroutine to look at the queue. One pending call is enough.
func (w *Writer) wake() {
	select {
	case w.work <- struct{}{}:
	default:
	}
}

// state is why nothing more can be done with the writer, if so.
func (w *Writer) state(op string) error {
	if err := w.failed(op); err != nil {
		return err
	}
	if w.closed {
		return &auxerrors.BlockObjectStoreError{Op: op, Reason: auxerrors.ErrClosed, Index: -1, Detail: "the writer is closed"}
	}
	return nil
}

func (w *Writer) failed(op string) error {
	if w.failure == nil {
		return nil
	}
	return &auxerrors.BlockObjectStoreError{
		Op: op, Reason: fmt.Errorf("%w: %w", auxerrors.ErrPublication, w.failure), Index: -1,
	}
}

func (w *Writer) cancelled(op string, cause error) error {
	return &auxerrors.BlockObjectStoreError{Op: op, Reason: cause, Index: -1, Detail: "gave up waiting for the writer"}
}
