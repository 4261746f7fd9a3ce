package store_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/auxoutput/auxoutput/blockhash"
	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/store"
	"github.com/auxoutput/auxoutput/store/storetest"
)

// behindWriter is a store whose batches all go through a [store.Writer]. A failure
// ends a writer, so that the next batch gets a new one.
type behindWriter struct {
	store *store.Store

	putting sync.Mutex // one put at a time, so that counters tell what became of it
	mu      sync.Mutex
	writer  *store.Writer // the one in use
}

func newBehindWriter(s *store.Store) (*behindWriter, error) {
	writer, err := store.NewWriter(s, 2)
	return &behindWriter{store: s, writer: writer}, err
}

func (b *behindWriter) current() *store.Writer {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.writer
}

// Put waits for its batch, and makes of counters and of the writer's failure what
// [store.Store.Put] would have returned.
func (b *behindWriter) Put(batch store.Batch) (store.PutResult, error) {
	if len(batch.Blocks)+len(batch.Retain)+len(batch.Release) == 0 {
		return b.store.Put(batch) // a writer takes an empty batch for nothing to do
	}
	b.putting.Lock()
	defer b.putting.Unlock()
	writer, ctx := b.current(), context.Background()
	before, late := b.store.Stats(), writer.Late()
	ticket, err := writer.Put(ctx, batch)
	if err == nil {
		err = writer.Wait(ctx, ticket)
	}
	switch {
	case errors.Is(err, auxerrors.ErrPublication):
		if closeErr := writer.Close(); !errors.Is(closeErr, auxerrors.ErrPublication) {
			return store.PutResult{}, errors.Join(err, closeErr, errors.New("the failure is not sticky"))
		}
		return store.PutResult{}, errors.Join(err, b.replace(writer))
	case err != nil:
		return store.PutResult{}, err
	case writer.Late() > late:
		return store.PutResult{}, &auxerrors.BlockObjectStoreError{Op: "put", Reason: auxerrors.ErrGeneration, Index: -1}
	}
	after := b.store.Stats()
	return store.PutResult{
		Stored: int(after.Stored - before.Stored), Present: int(after.Present - before.Present),
		Conflicts: int(after.Conflicts - before.Conflicts), LeftOut: int(after.LeftOut - before.LeftOut),
		Dropped: int(after.Dropped - before.Dropped), Evicted: int(after.Evicted - before.Evicted),
	}, nil
}

// replace makes a new writer, unless the old one was closed by Close.
func (b *behindWriter) replace(failed *store.Writer) error {
	fresh, err := store.NewWriter(b.store, 2)
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.writer != failed {
		return fresh.Close()
	}
	b.writer = fresh
	return nil
}

// read goes on with the next writer where the one in use has failed: that was
// another one's batch, and no answer to this read.
func (b *behindWriter) read(with func(*store.Writer) error) error {
	for {
		writer := b.current()
		err := with(writer)
		if !errors.Is(err, auxerrors.ErrPublication) || errors.Is(err, auxerrors.ErrClosed) {
			return err
		}
		b.putting.Lock() // until the put that failed has made a new one
		next := b.current()
		b.putting.Unlock()
		if next == writer {
			return err
		}
	}
}

func (b *behindWriter) Get(dst []byte, hashes []blockhash.Hash) (rows []byte, err error) {
	err = b.read(func(writer *store.Writer) error {
		rows, err = writer.Get(context.Background(), dst, hashes)
		return err
	})
	return rows, err
}

func (b *behindWriter) OpenView(hashes []blockhash.Hash) (view storetest.View, err error) {
	err = b.read(func(writer *store.Writer) error {
		view, err = writer.View(context.Background(), hashes)
		return err
	})
	return view, err
}

func (b *behindWriter) Prefix(hashes []blockhash.Hash) int { return b.store.Prefix(hashes) }

func (b *behindWriter) RetainPrefix(generation uint64, hashes []blockhash.Hash) (int, error) {
	return b.store.RetainPrefix(generation, hashes)
}

func (b *behindWriter) Remove(generation uint64, hashes []blockhash.Hash) (int, error) {
	return b.store.Remove(generation, hashes)
}

func (b *behindWriter) Reset() (uint64, error)   { return b.store.Reset() }
func (b *behindWriter) Snapshot() store.Snapshot { return b.store.Snapshot() }
func (b *behindWriter) Stats() store.Stats       { return b.store.Stats() }

// Close ends the store and then the writer, so that what it is asked in between has
// an answer of the store.
func (b *behindWriter) Close() error {
	err := b.store.Close()
	b.putting.Lock()
	defer b.putting.Unlock()
	if writerErr := b.current().Close(); writerErr != nil && !errors.Is(writerErr, auxerrors.ErrClosed) {
		err = errors.Join(err, writerErr)
	}
	return err
}

func writerFactory(slots, blockBytes int) (storetest.Store, error) {
	s, err := store.New(store.Options{MaxBytes: int64(slots * blockBytes), BlockBytes: blockBytes})
	if err != nil {
		return nil, err
	}
	return newBehindWriter(s)
}

func TestConformanceOfTheWriter(t *testing.T) { storetest.Run(t, writerFactory) }

func FuzzConformanceOfTheWriter(f *testing.F) {
	f.Fuzz(rapid.MakeFuzz(storetest.Property(writerFactory)))
}
