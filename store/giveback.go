package store

import (
	"fmt"

	"github.com/auxoutput/auxoutput/blockhash"
	auxerrors "github.com/auxoutput/auxoutput/errors"
)

// giveBack releases every hash as often as it is listed, as far as it is retained, as
// one step. It is what the release of a batch is not: whoever closes a lease can do
// nothing about a hash that somebody else has released. That is an ErrNotRetained,
// which names the first one of the list, says how many there are, and stands for
// nothing else: the others are given back.
//
// If the store was reset since that generation, or closed, it has nothing to take
// back, and that is no error.
func (s *Store) giveBack(generation uint64, hashes []blockhash.Hash) error {
	f := foundPool.Get().(*found)
	defer foundPool.Put(f)
	s.prepare(f, hashes)
	s.lock()
	defer s.mu.Unlock()
	if s.closed || generation != s.generation {
		return nil
	}
	s.prefetchAll(f.tags)
	missing, first := 0, 0
	for i := len(hashes) - 1; i >= 0; i-- { // so that the head ends newest
		if !s.releaseOne(f.tags[i], &hashes[i]) {
			missing, first = missing+1, i
		}
	}
	s.counts.puts++
	if missing == 0 {
		return nil
	}
	fault := s.hashError("close lease", auxerrors.ErrNotRetained, hashes[first], first)
	fault.Used = s.slots.used
	fault.Detail = fmt.Sprintf("%d of %d retains are gone, as somebody else released these hashes; the others are given back", missing, len(hashes))
	return fault
}

// releaseOne lowers the count of a hash, and does what has to be done when it reaches
// zero. It returns false if the hash is not retained.
func (s *Store) releaseOne(t tag, hash *blockhash.Hash) bool {
	slot := s.index.find(t, hash)
	if slot == 0 {
		at, ok := s.pending.find(hash)
		if !ok || s.pending.entries[at].refs == 0 {
			return false
		}
		if s.pending.entries[at].refs--; s.pending.entries[at].refs == 0 {
			s.pending.remove(at)
		}
		return true
	}
	n := &s.recency.nodes[slot]
	if n.refs == 0 {
		return false
	}
	if n.refs--; n.refs > 0 {
		return true
	}
	if n.is(removed) {
		s.drop(slot, wasRemoved)
		s.counts.removed++
		return true
	}
	s.release(nil, counter{ofNode, slot})
	return true
}
