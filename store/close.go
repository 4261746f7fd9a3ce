package store

import (
	"context"
	"fmt"

	auxerrors "github.com/auxoutput/auxoutput/errors"
)

// Close makes every later operation an [auxerrors.ErrClosed], waits for the reads,
// views and puts that have begun, and gives the memory back. Later calls wait for
// the first and return the same.
//
// A view that is never closed makes Close wait for ever. [Store.Shutdown] waits no
// longer than its context.
func (s *Store) Close() error { return s.shutdown(context.Background(), "close") }

// Shutdown is Close, but waits for reads, views and puts only until ctx ends. It
// then returns a [auxerrors.BlockObjectStoreError] that wraps [auxerrors.ErrInUse]
// and the context's error, and that says how many of them are left. The store is
// closed all the same: its memory stays mapped until the last of them has ended,
// and is given back then. Shutdown and Close can be called again to wait for that.
func (s *Store) Shutdown(ctx context.Context) error { return s.shutdown(ctx, "shutdown") }

func (s *Store) shutdown(ctx context.Context, op string) error {
	stop := context.AfterFunc(ctx, func() {
		s.lock()
		defer s.mu.Unlock()
		s.waiting.drained.Broadcast()
	})
	defer stop()

	s.lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.closed = true
		s.cleanup.Stop()
		process.open.Add(-1)
		s.waiting.wakeAll()
		s.unmapIfUnused()
	}
	for !s.unmapped {
		if s.inFlight > 0 && ctx.Err() != nil {
			views := int(s.memory.views.Load())
			return &auxerrors.BlockObjectStoreError{
				Op: op, Reason: fmt.Errorf("%w: %w", auxerrors.ErrInUse, context.Cause(ctx)),
				Index: -1, Used: s.slots.used, Limit: s.slots.total,
				Detail: fmt.Sprintf("%d views are open, %d reads and puts are under way; %d bytes stay mapped until they end",
					views, s.inFlight-views, s.memory.mapped()),
				Advice: "close the views, then call Close to wait for the rest",
			}
		}
		s.waiting.wait(&s.waiting.drained)
	}
	if s.unmapError != nil {
		return &auxerrors.BlockObjectStoreError{Op: op, Reason: auxerrors.ErrMemory, Index: -1, Limit: s.slots.total, Detail: s.unmapError.Error()}
	}
	return nil
}

// endUse ends a copy or a view. REQUIRES: s.mu is held, and the slots are unpinned.
func (s *Store) endUse() {
	s.inFlight--
	s.waiting.wakeFirst()
	s.unmapIfUnused()
}

// unmapIfUnused gives the memory of a closed store back once nobody uses it. That
// takes as long as the memory is large, so it is done outside the lock, and not by
// a read or a view that happens to be the last one.
func (s *Store) unmapIfUnused() {
	if s.closed && s.inFlight == 0 {
		s.index, s.history, s.recency, s.pending = index{}, history{}, recency{}, pending{}
		s.slots.nodes = nil
		go s.unmap()
	}
}

func (s *Store) unmap() {
	err := s.memory.release()
	s.lock()
	defer s.mu.Unlock()
	s.unmapped, s.unmapError = true, err
	s.waiting.drained.Broadcast()
}
