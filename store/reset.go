package store

// Reset starts a new generation and returns it: every block, every retain and
// every memory of what was evicted is gone at once. Reads, views and puts that have
// begun end with the rows they began with; their slots can be used again after that.
//
// It costs the same whatever the store holds, apart from giving the index of the
// old generation back to the system, which holds no one else up. On a closed store
// it is [auxerrors.ErrClosed].
func (s *Store) Reset() (uint64, error) {
	fresh, err := s.memory.newTable()
	generation, old, fault := s.startGeneration(fresh, err == nil)
	_ = old.release() // an error is of no consequence: nothing refers to it any more
	return generation, fault
}

// startGeneration is the part of Reset under the lock. Nothing in it grows with the
// store: the index and the history are replaced, and nodes are written when their
// slots are taken. It returns the table that is no longer needed.
func (s *Store) startGeneration(fresh table, got bool) (generation uint64, old table, err error) {
	s.lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0, fresh, s.closedError("reset")
	}
	if got {
		old = s.memory.replaceTable(fresh)
		s.lookUpIn(fresh)
	} else { // the system has no memory for a second table, and rows must go all the same
		clear(s.index.cells)
		clear(s.history.marks)
	}
	s.slots.reset()
	s.recency.reset()
	s.pending = pending{}
	s.retains = 0
	s.generation++
	s.current.Store(s.generation)
	s.waiting.wakeAll()
	return s.generation, old, nil
}
