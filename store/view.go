package store

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/auxoutput/auxoutput/blockhash"
	auxerrors "github.com/auxoutput/auxoutput/errors"
)

// View shows the rows of blocks without copying them. It holds its blocks until
// it is closed: they cannot be evicted, and their slots are not reused. A View
// is a small value; the zero View is closed.
//
// Methods on a closed view return an error that wraps [auxerrors.ErrClosed]. The
// slices that [View.Block] gives out must not be written to, nor used after
// Close. In builds with the race detector they are copies which Close overwrites,
// so that a test of rows finds such a use.
type View struct {
	state  *viewState
	ticket uint64 // the state's ticket while this view is open
}

// viewState is what a view refers to. It is reused, under another ticket, once
// the view is closed.
type viewState struct {
	store  *Store
	found  found
	ticket atomic.Uint64
	lent   lentCopies
}

var viewPool = sync.Pool{New: func() any { return new(viewState) }}

// View opens a view of blocks, in the order given; a hash may occur more than
// once. It is [Store.Get] without the copy: the same errors, and the same touch.
// When the view is closed its blocks become newest.
func (s *Store) View(hashes []blockhash.Hash) (View, error) {
	return s.view(hashes, anyGeneration)
}

func (s *Store) view(hashes []blockhash.Hash, generation uint64) (View, error) {
	state := viewPool.Get().(*viewState)
	if fault := s.acquire("view", hashes, &state.found, generation, (*Store).pinViews); fault != nil {
		viewPool.Put(state)
		return View{}, fault
	}
	state.store = s
	fault := s.check("view", hashes, state.found.slots)
	s.lock()
	s.memory.views.Add(1)
	if fault != nil {
		s.unpinViews(&state.found)
		s.endRead(0, fault)
		s.mu.Unlock()
		state.store = nil // or the pool would keep the store
		viewPool.Put(state)
		return View{}, fault
	}
	s.counts.reads++
	s.counts.blocksRead += uint64(len(hashes))
	s.mu.Unlock()
	return View{state: state, ticket: state.ticket.Load()}, nil
}

// pinViews keeps blocks from being evicted, and so without a place in the recency
// list, until the view is closed.
func (s *Store) pinViews(slots []int32) {
	viewed, copied := 0, 0 // counted in registers
	for _, slot := range slots {
		n := &s.recency.nodes[slot]
		if n.views == 0 {
			viewed++
			if n.busy > 0 {
				copied--
			}
		}
		n.views++
		if n.is(listed) {
			s.recency.unlink(slot)
		}
	}
	s.slots.viewed += viewed
	s.slots.copied += copied
}

// unpinViews ends a view of slots: what nothing else holds becomes newest. Blocks of
// an older generation are gone.
func (s *Store) unpinViews(f *found) {
	stale := f.generation != s.generation
	for i := len(f.slots) - 1; i >= 0; i-- {
		slot := f.slots[i]
		n := &s.recency.nodes[slot]
		if n.views--; n.views > 0 {
			continue
		}
		s.slots.viewEnded(slot, stale)
		if !stale && n.is(live) && n.refs == 0 {
			s.makeNewest(slot)
		}
	}
	s.memory.views.Add(-1)
}

func (v View) open(op string) error {
	if v.state == nil || v.state.ticket.Load() != v.ticket {
		return &auxerrors.BlockObjectStoreError{Op: op, Reason: auxerrors.ErrClosed, Index: -1, Detail: "the view is closed"}
	}
	return nil
}

// Len is the number of blocks, 0 for a closed view.
func (v View) Len() int {
	if v.open("view") != nil {
		return 0
	}
	return len(v.state.found.slots)
}

// Block is the rows of block i: BlockBytes bytes, read-only, valid until Close.
func (v View) Block(i int) ([]byte, error) {
	if err := v.open("view block"); err != nil {
		return nil, err
	}
	found := &v.state.found
	if i < 0 || i >= len(found.slots) {
		return nil, &auxerrors.BlockObjectStoreError{
			Op: "view block", Reason: auxerrors.ErrOutOfRange, Index: -1,
			Detail: fmt.Sprintf("block %d of %d", i, len(found.slots)),
		}
	}
	return v.state.lent.lend(v.state.store.rows(found.slots[i])), nil
}

// WriteTo writes the rows of all blocks to w, neighbouring blocks in one piece.
// It returns the number of bytes written and the first error of w.
func (v View) WriteTo(w io.Writer) (int64, error) {
	if err := v.open("view write"); err != nil {
		return 0, err
	}
	var written int64
	for rest := v.state.found.slots; len(rest) > 0; {
		n := neighbours(rest)
		rows := v.state.store.run(rest[0], n)
		wrote, err := w.Write(rows)
		written += int64(wrote)
		if err == nil && wrote < len(rows) {
			err = io.ErrShortWrite
		}
		if err != nil {
			return written, fmt.Errorf("auxoutput: view: after %d bytes: %w", written, err)
		}
		rest = rest[n:]
	}
	return written, nil
}

// Close ends the view. A second call returns an error that wraps
// [auxerrors.ErrClosed] and changes nothing.
func (v View) Close() error {
	if err := v.open("view close"); err != nil {
		return err
	}
	if !v.state.ticket.CompareAndSwap(v.ticket, v.ticket+1) {
		return v.open("view close")
	}
	s, state := v.state.store, v.state
	state.lent.poison()
	s.lock()
	s.unpinViews(&state.found)
	s.endUse()
	s.mu.Unlock()
	state.store = nil
	viewPool.Put(state)
	return nil
}
