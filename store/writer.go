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
// they are put. Its queue is bounded, in batches and in bytes: when it is full, Put
// waits. Nothing is ever dropped to make room.
//
// # What a batch of one caller means for the others
//
// What can be known when a batch is put is checked then, and only its caller hears
// of it: sizes, hashes, generation. What only the store can find out, as it applies
// the batch, ends the writer: a release of what is not retained (ErrNotRetained), or
// no room (ErrCannotFit). Such a failure is sticky. Later batches are not applied,
// for they may build on the one that is missing, as those of vLLM's connector do;
// [Writer.Wait] tells of each batch whether it was applied; every other call returns
// an error that wraps both [auxerrors.ErrPublication] and the cause. Callers that do
// not trust each other's releases take a Writer each, on the same store, release
// through a [Lease], and set [Batch.Partial].
//
// A batch that a reset of the store overtakes in the queue is no failure: its rows
// could never be read, so it is left out and counted by [Writer.Late].
//
// A Writer is safe for concurrent use. The zero Writer is closed.
type Writer struct {
	store *Store
	work  chan struct{} // tells the goroutine that there is something in the queue
	done  chan struct{} // closed when the goroutine has ended

	mu      sync.Mutex
	queue   writerQueue
	put     uint64        // batches put so far: the ticket of the last one
	applied uint64        // batches applied, left out or skipped so far
	moved   chan struct{} // closed when applied has grown; nil if nobody waits
	late    uint64
	closed  bool
	failure error
	failed  uint64 // the ticket of the batch that failed, if one did
}

// DefaultWriterBytes is how many bytes of batches a writer queues if its options do
// not say: 256 MiB.
const DefaultWriterBytes = 256 << 20

// WriterOptions describe a writer. Depth is required.
type WriterOptions struct {
	// Depth is how many batches may be put and not applied yet. vLLM's connector
	// uses twice its largest number of concurrent requests.
	Depth int

	// MaxBytes is how many bytes those batches may have together, their rows and
	// their lists of blocks and hashes; 0 stands for DefaultWriterBytes. A batch that
	// is larger by itself is taken once the queue is empty.
	MaxBytes int64
}

// NewWriter is [NewWriterWith] with so many batches and [DefaultWriterBytes].
func NewWriter(s *Store, depth int) (*Writer, error) {
	return NewWriterWith(s, WriterOptions{Depth: depth})
}

// NewWriterWith starts a writer. Options that make no sense are a
// [auxerrors.ConfigError]. The writer does not own the store: close the writer
// first, then the store.
func NewWriterWith(s *Store, options WriterOptions) (*Writer, error) {
	switch {
	case s == nil:
		return nil, &auxerrors.ConfigError{Field: "store", Value: nil, Want: "a store", Reason: auxerrors.ErrMismatch}
	case options.Depth < 1:
		return nil, &auxerrors.ConfigError{Field: "Depth", Value: options.Depth, Want: "at least 1", Reason: auxerrors.ErrTooSmall}
	case options.MaxBytes < 0:
		return nil, &auxerrors.ConfigError{Field: "MaxBytes", Value: options.MaxBytes, Want: "at least 1, or 0 for the default", Reason: auxerrors.ErrTooSmall}
	case options.MaxBytes == 0:
		options.MaxBytes = DefaultWriterBytes
	}
	w := &Writer{
		store: s,
		queue: writerQueue{depth: options.Depth, maxBytes: options.MaxBytes},
		work:  make(chan struct{}, 1),
		done:  make(chan struct{}),
	}
	go w.run()
	return w, nil
}

// Put queues a batch and returns its ticket for [Writer.Wait]. It waits while
// the queue is full, until ctx ends; those who wait are let in in their order. The
// batch, rows included, belongs to the writer until it is applied: whoever changes it
// meanwhile may end the writer. An empty batch needs no place in the queue.
//
// It returns ErrPayloadSize, ErrInvalidHash or ErrGeneration for a batch that the
// store would refuse, whatever happens until then. The writer goes on.
func (w *Writer) Put(ctx context.Context, batch Batch) (ticket uint64, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.state("put"); err != nil {
		return 0, err
	}
	if len(batch.Blocks) == 0 && len(batch.Retain) == 0 && len(batch.Release) == 0 {
		return w.put, nil
	}
	if err := w.store.refuses(&batch); err != nil {
		return 0, err
	}
	if err := ctx.Err(); err != nil {
		return 0, w.cancelled("put", err)
	}
	p := &queuedBatch{batch: batch, bytes: batchBytes(&batch)}
	w.queue.arrive(p)
	w.letIn()
	if p.ticket == 0 {
		w.awaitRoom(ctx, p)
	}
	return p.ticket, p.err
}

// letIn takes those who wait for room into the queue, as far as there is room.
func (w *Writer) letIn() {
	for p := w.queue.next(); p != nil; p = w.queue.next() {
		w.put++
		p.ticket = w.put
		p.tell()
		w.wake()
	}
}

// turnAway tells those who wait for room that there will be none.
func (w *Writer) turnAway() {
	for _, p := range w.queue.waiting {
		p.err = w.state("put")
		p.tell()
	}
	w.queue.waiting = nil
}

// awaitRoom waits until a batch has got its ticket, is turned away, or ctx ends. It is
// called with the mutex held, which it lets go meanwhile.
func (w *Writer) awaitRoom(ctx context.Context, p *queuedBatch) {
	p.told = make(chan struct{})
	w.mu.Unlock()
	select {
	case <-p.told:
	case <-ctx.Done():
	}
	w.mu.Lock()
	if p.ticket == 0 && p.err == nil {
		w.queue.giveUp(p)
		p.err = w.cancelled("put", ctx.Err())
		w.letIn() // what is behind it may be smaller
	}
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
// before it. It returns nil if that has happened, also after a later batch has failed
// or the writer was closed; and for a batch that was left out as late. If this batch or
// one before it has failed, it returns an error that wraps [auxerrors.ErrPublication]
// and the cause.
func (w *Writer) Wait(ctx context.Context, ticket uint64) error {
	for {
		w.mu.Lock()
		if ticket > w.put {
			put, err := w.put, w.state("wait")
			w.mu.Unlock()
			if err != nil {
				return err
			}
			return &auxerrors.BlockObjectStoreError{
				Op: "wait", Reason: auxerrors.ErrOutOfRange, Index: -1,
				Detail: fmt.Sprintf("ticket %d of %d", ticket, put),
			}
		}
		if w.failure != nil && ticket >= w.failed {
			err := w.failureOf("wait")
			w.mu.Unlock()
			return err
		}
		if w.applied >= ticket {
			w.mu.Unlock()
			return nil
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

// QueuedBytes is how many bytes the batches have that are put and not applied yet.
func (w *Writer) QueuedBytes() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.queue.bytes
}

// Late is the number of batches that were left out because the store was reset
// after they were put.
func (w *Writer) Late() uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.late
}

// Close applies everything that is queued, turns those away who wait for room, ends
// the goroutine and returns the failure, if there was one. Calls after it find the
// writer closed, except for Wait, and for further calls of Close, which return the
// same.
func (w *Writer) Close() error {
	if w.store == nil {
		return nil
	}
	w.mu.Lock()
	w.closed = true
	w.turnAway()
	w.wake()
	w.mu.Unlock()
	<-w.done
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.failureOf("close")
}

// run applies batches until the writer is closed and the queue is empty.
func (w *Writer) run() {
	defer close(w.done)
	for range w.work {
		for {
			w.mu.Lock()
			p := w.queue.take()
			closed, skip := w.closed, w.failure != nil
			w.mu.Unlock()
			if p == nil && closed {
				return
			}
			if p == nil {
				break
			}
			var err error
			if !skip {
				_, err = w.store.Put(p.batch)
			}
			w.finish(p, err)
		}
	}
}

// finish accounts for a batch that is through, and lets others in.
func (w *Writer) finish(p *queuedBatch, err error) {
	late := errors.Is(err, auxerrors.ErrGeneration) && p.batch.Generation < w.store.Generation()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.applied++
	w.queue.done(p)
	switch {
	case late:
		w.late++
	case err != nil:
		w.failure, w.failed = err, p.ticket
		w.turnAway()
	}
	w.letIn()
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
	if err := w.failureOf(op); err != nil {
		return err
	}
	if w.closed || w.store == nil {
		return &auxerrors.BlockObjectStoreError{Op: op, Reason: auxerrors.ErrClosed, Index: -1, Detail: "the writer is closed"}
	}
	return nil
}

func (w *Writer) failureOf(op string) error {
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
