package store

import (
	"fmt"
	"io"

	"github.com/auxoutput/auxoutput/blockhash"
	auxerrors "github.com/auxoutput/auxoutput/errors"
)

// View shows the rows of blocks without copying them. It holds its blocks until
// it is closed: they cannot be evicted, and their slots are not reused. A View
// is a small value; the zero View is closed.
//
// Any goroutine may close a view, also while others use it. Close does not wait
// for them, so a consumer that is stuck holds up nobody but itself. From then on
// no use begins, and a [View.WriteTo] that is under way stops before its next
// Write. The blocks stay where they are until the last use has ended, and whoever
// ends it gives them back.
//
// Methods on a closed view return an error that wraps [auxerrors.ErrClosed]. The
// slices that [View.Block] gives out must not be written to, nor used after
// Close. In builds with the race detector they are copies which Close overwrites,
// so that a test of rows finds such a use.
type View struct {
	state  *viewState
	ticket uint32 // the state's ticket while this view is open or in use
}

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
	return View{state: state, ticket: state.ticket()}, nil
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

// Len is the number of blocks, 0 for a closed view.
func (v View) Len() int {
	if v.begin("view") != nil {
		return 0
	}
	n := len(v.state.found.slots)
	if v.state.end() != nil {
		return 0
	}
	return n
}

// Block is the rows of block i: BlockBytes bytes, read-only, valid until Close.
func (v View) Block(i int) (rows []byte, err error) {
	if err := v.begin("view block"); err != nil {
		return nil, err
	}
	if found := &v.state.found; i >= 0 && i < len(found.slots) {
		rows = v.state.lent.lend(v.state.store.rows(found.slots[i]))
	} else {
		err = &auxerrors.BlockObjectStoreError{
			Op: "view block", Reason: auxerrors.ErrOutOfRange, Index: -1,
			Detail: fmt.Sprintf("block %d of %d", i, len(found.slots)),
		}
	}
	if v.state.end() != nil {
		return nil, viewClosed("view block", "")
	}
	return rows, err
}

// WriteTo writes the rows of all blocks to w, neighbouring blocks in one piece.
// It returns the number of bytes written and the first error of w. If the view is
// closed meanwhile, it stops before the next Write with an error that wraps
// [auxerrors.ErrClosed]: what was written until then is right. A w that panics
// leaves the view as it was.
func (v View) WriteTo(w io.Writer) (written int64, err error) {
	if err := v.begin("view write"); err != nil {
		return 0, err
	}
	defer v.state.end()
	for rest := v.state.found.slots; len(rest) > 0; {
		if written > 0 && v.state.closed() {
			return written, viewClosed("view write", fmt.Sprintf(" since, after %d bytes", written))
		}
		n := neighbours(rest)
		rows := v.state.store.run(rest[0], n)
		wrote, err := w.Write(rows)
		if wrote < 0 || wrote > len(rows) {
			return written, fmt.Errorf("auxoutput: view: after %d bytes: the consumer says that it took %d bytes of %d", written, wrote, len(rows))
		}
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

// Close ends the view, without waiting for those who use it. A second call returns
// an error that wraps [auxerrors.ErrClosed] and changes nothing.
func (v View) Close() error {
	if v.state == nil || !v.state.close(v.ticket) {
		return viewClosed("view close", "")
	}
	return nil
}
