package store

import (
	"slices"

	"github.com/auxoutput/auxoutput/blockhash"
)

// Prefix counts the leading hashes whose blocks are stored. It touches nothing, and
// costs in proportion to the count, however long the list is. A closed store has none.
func (s *Store) Prefix(hashes []blockhash.Hash) int {
	f := foundPool.Get().(*found)
	defer foundPool.Put(f)
	n := s.lockLeading(hashes, f)
	defer s.mu.Unlock()
	return n
}

// firstLook is how many hashes of a list are looked up at first. As long as all of
// them are there, the next look is longer by moreLook.
const firstLook, moreLook = 64, 4

// lockLeading locks the store, counts the leading hashes whose blocks are stored and
// finds their slots. The answer is that of one moment, and costs in proportion to
// what is there: most of a long list may be absent. A closed store has none.
//
// Tags need no lock. So it computes some, and looks with the lock held; where all of
// these are there, it lets go of the lock, computes more and looks again from the
// start, which adds a third to the looking.
func (s *Store) lockLeading(hashes []blockhash.Hash, f *found) int {
	f.tags = f.tags[:0]
	for look := firstLook; ; look *= moreLook {
		look = min(look, len(hashes))
		for i := len(f.tags); i < look; i++ {
			f.tags = append(f.tags, s.tag(&hashes[i]))
		}
		f.slots = slices.Grow(f.slots[:0], look)[:look]
		s.lock()
		if s.closed {
			return 0
		}
		n := s.leading(hashes[:look], f)
		if n < look || look == len(hashes) {
			return n
		}
		s.mu.Unlock()
	}
}

// leading counts the leading hashes whose blocks are stored and finds their slots, some
// at a time.
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
// its use. It is what a row-gated KV hit is made of, and costs in proportion to the
// count. It returns ErrGeneration if the store has been reset since that generation.
func (s *Store) RetainPrefix(generation uint64, hashes []blockhash.Hash) (int, error) {
	f := foundPool.Get().(*found)
	defer foundPool.Put(f)
	n := s.lockLeading(hashes, f)
	defer s.mu.Unlock()
	if s.closed {
		return 0, s.closedError("retain prefix")
	}
	if generation != s.generation {
		return 0, s.generationError("retain prefix", generation)
	}
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
