package store

import "github.com/auxoutput/auxoutput/blockhash"

// Snapshot is the whole state of a store at one moment, without the rows.
type Snapshot struct {
	Evictable []blockhash.Hash // blocks stored that may be evicted, oldest first
	Held      []Holding        // blocks stored that are retained or viewed, in no order
	Pending   []Holding        // hashes retained whose blocks are not stored, in no order
}

// Holding is a hash and what holds it.
type Holding struct {
	Hash  blockhash.Hash
	Refs  int // times the hash is retained
	Views int // open views that show the block
}

// Snapshot lists everything the store knows. It stops all other operations for a
// time in proportion to the blocks stored: it is there for tests and diagnosis.
// The snapshot of a closed store is empty.
func (s *Store) Snapshot() Snapshot {
	s.lock()
	defer s.mu.Unlock()
	var snapshot Snapshot
	if s.closed {
		return snapshot
	}
	nodes := s.recency.nodes
	for slot := s.recency.oldest(); slot != 0; slot = s.recency.newer(slot) {
		snapshot.Evictable = append(snapshot.Evictable, nodes[slot].hash)
	}
	for slot := int32(1); slot <= s.slots.fresh; slot++ {
		if n := &nodes[slot]; n.is(live) && n.held() {
			snapshot.Held = append(snapshot.Held, Holding{n.hash, int(n.refs), int(n.views)})
		}
	}
	for _, entry := range s.pending.entries {
		if entry.refs > 0 {
			snapshot.Pending = append(snapshot.Pending, Holding{Hash: entry.hash, Refs: int(entry.refs)})
		}
	}
	return snapshot
}
