package store

import (
	"github.com/auxoutput/auxoutput/blockhash"
)

// Prefix counts the leading hashes whose blocks are stored. It touches nothing.
// A closed store has none.
func (s *Store) Prefix(hashes []blockhash.Hash) int {
	s.lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0
	}
	n := 0
	for n < len(hashes) && s.index.find(s.tag(&hashes[n]), &hashes[n]) != 0 {
		n++
	}
	return n
}

// RetainPrefix counts the leading hashes whose blocks are stored and retains
// exactly those, in one step: none of them can be evicted between the answer and
// its use. It is what a row-gated KV hit is made of. Another generation than the
// store's is ErrGeneration.
func (s *Store) RetainPrefix(generation uint64, hashes []blockhash.Hash) (int, error) {
	s.lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0, s.closedError("retain prefix")
	}
	if generation != s.generation {
		return 0, s.generationError("retain prefix", generation)
	}
	n := 0
	for ; n < len(hashes); n++ {
		slot := s.index.find(s.tag(&hashes[n]), &hashes[n])
		if slot == 0 || s.recency.nodes[slot].refs == maxRefs {
			break
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
	s.lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0, s.closedError("remove")
	}
	if generation != s.generation {
		return 0, s.generationError("remove", generation)
	}
	n := 0
	for i := range hashes {
		slot := s.index.find(s.tag(&hashes[i]), &hashes[i])
		if slot == 0 || s.recency.nodes[slot].is(doomed) {
			continue
		}
		n++
		if s.recency.nodes[slot].refs > 0 {
			s.recency.nodes[slot].flags |= doomed
			continue
		}
		s.depart(slot, removed)
		s.counts.removed++
	}
	return n, nil
}
