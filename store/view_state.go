package store

import (
	"sync"
	"sync/atomic"

	auxerrors "github.com/auxoutput/auxoutput/errors"
)

// viewState is what a view refers to. It is reused, under another ticket, once
// the view is closed and nobody uses it any more.
type viewState struct {
	store *Store
	found found
	lent  lentCopies

	// word is the ticket in its upper half, and in the lower half whether the view
	// is closed and how many uses of it are under way. In one word, so that a use
	// begins only while the view is open, and one of those who close it and end
	// uses of it sees that nothing is left.
	word atomic.Uint64
}

const (
	viewIsClosed = 1 << 31
	viewUses     = viewIsClosed - 1 // no process has so many goroutines
	lastTicket   = 1<<32 - 1
)

var viewPool = sync.Pool{New: func() any { return new(viewState) }}

func (v *viewState) ticket() uint32 { return uint32(v.word.Load() >> 32) }
func (v *viewState) closed() bool   { return v.word.Load()&viewIsClosed != 0 }

// begin begins a use of the view: until it ends, the state is this view's and the
// blocks are held. A closed view is an error.
func (v View) begin(op string) error {
	if v.state == nil {
		return viewClosed(op, "")
	}
	for {
		word := v.state.word.Load()
		if uint32(word>>32) != v.ticket || word&viewIsClosed != 0 {
			return viewClosed(op, "")
		}
		if v.state.word.CompareAndSwap(word, word+1) {
			return nil
		}
	}
}

// end ends a use. It returns an error that wraps ErrClosed if the view was closed
// meanwhile, and gives the blocks back if this was the last use.
func (v *viewState) end() error {
	word := v.word.Add(^uint64(0))
	if word&viewIsClosed == 0 {
		return nil
	}
	if word&viewUses == 0 {
		v.release()
	}
	return auxerrors.ErrClosed
}

// close closes the view with this ticket, and gives the blocks back if nobody uses
// it. It returns false if the view is closed already.
func (v *viewState) close(ticket uint32) bool {
	for {
		word := v.word.Load()
		if uint32(word>>32) != ticket || word&viewIsClosed != 0 {
			return false
		}
		if v.word.CompareAndSwap(word, (word|viewIsClosed)+1) { // closing it is a use
			v.lent.poison() // what was given out until now is not to be used any more
			_ = v.end()
			return true
		}
	}
}

// release gives the blocks back and the state to the next view. The view is closed
// and nobody uses it.
func (v *viewState) release() {
	v.lent.poison()
	s := v.store
	s.lock()
	s.unpinViews(&v.found)
	s.endUse()
	s.mu.Unlock()
	v.store = nil
	if ticket := v.ticket(); ticket < lastTicket { // or an old view could come to life again
		v.word.Store(uint64(ticket+1) << 32)
		viewPool.Put(v)
	}
}

func viewClosed(op, when string) error {
	return &auxerrors.BlockObjectStoreError{Op: op, Reason: auxerrors.ErrClosed, Index: -1, Detail: "the view is closed" + when}
}
