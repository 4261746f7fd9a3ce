package store

import (
	"github.com/auxoutput/auxoutput/blockhash"
)

// Prefix counts the leading hashes whose blocks are stored. It touches nothing.
// A closed store has none.
func (s *Store) Prefix(hashes []blockhash.Hash) int {
	f := foundPool.Get().(*found)
	defer foundPool.Put(f)
	s.prepare(f, hashes)
	s.lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0
	}
	return s.leading(hashes, f)
}

// leading counts the leading hashes whose blocks are stored and finds their slots.
// It looks up some at a time: most of a long list may be absent.
func (s *Store) leading(hashes []blockhash.Hash, f *found) int {
	const some = 64
	for from := 0; from < len(hashes); from += some {
		to := min(from+some, len(hashes))
		if absent, _ := s.locate(hashes[from:to], f.tags[from:to], f.slots[from:to]); absent >= 0 {
			return from + absent
		}
	}
	return len(hashes)
}

// RetainPrefix counts the leading hashes whose blocks are stored and retains
// exactly those, in one step: none of them can be evicted between the answer and
// its use. It is what a row-gated KV hit is made of. Another generation than the
// store's is ErrGeneration.
func (s *Store) RetainPrefix(generation uint64, hashes []blockhash.Hash) (int, error) {
	f := foundPool.Get().(*found)
	defer foundPool.Put(f)
	s.prepare(f, hashes)
	s.lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0, s.closedError("retain prefix")
	}
	if generation != s.generation {
		return 0, s.generationError("retain prefix", generation)
	}
	n := s.leading(hashes, f)
	for i, slot := range f.slots[:n] {
		if s.recency.nodes[slot].refs == maxRefs {
			return i, nil
		}
		s.recency.nodes[slot].refs++
		s.hold(slot)
	}
	return n, nil
}

// Remove drops the blocks of the given hashes: one that is not retained at once,
// a retained one with its last release, unless it is put again before. A view
// that is open keeps its rows. Hashes that are absent are fine. It returns how
// many blocks were there to be dropped.
func (s *Store) Remove(generation uint64, hashes []blockhash.Hash) (int, error) {
	f := foundPool.Get().(*found)
	defer foundPool.Put(f)
	s.prepare(f, hashes)
	s.lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0, s.closedError("remove")
	}
	if generation != s.generation {
		return 0, s.generationError("remove", generation)
	}
	s.prefetchAll(f.tags)
	for _, t := range f.tags {
		s.prefetch.mark(&s.history, t)
	}
	n := 0
	for i := range hashes {
		slot := s.index.find(f.tags[i], &hashes[i])
		if slot == 0 || s.recency.nodes[slot].is(removed) {
			continue
		}
		n++
		if s.recency.nodes[slot].refs > 0 {
			s.recency.nodes[slot].flags |= removed
			continue
		}
		s.drop(slot, wasRemoved)
		s.counts.removed++
	}
	return n, nil
}
