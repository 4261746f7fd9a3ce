package store

import "github.com/auxoutput/auxoutput/blockhash"

// commit carries out a batch that was admitted. Nothing here can fail.
func (s *Store) commit(p *staged, b *Batch) PutResult {
	var result PutResult
	for i := range p.items {
		if it := &p.items[i]; it.stored {
			s.recency.nodes[it.slot].flags &^= removed // brought back
		}
	}
	for _, slot := range p.victims {
		if s.recency.nodes[slot].is(removed) {
			s.drop(slot, wasRemoved)
			s.counts.removed++
			continue
		}
		if b.Evicted != nil {
			*b.Evicted = append(*b.Evicted, s.recency.nodes[slot].hash)
		}
		s.drop(slot, wasEvicted)
		result.Evicted++
	}
	s.forgetVictims(p, &result)
	if b.Evicted != nil && result.Dropped+result.LeftOut > 0 {
		for i := range p.items {
			if it := &p.items[i]; it.dropped && !it.stored {
				*b.Evicted = append(*b.Evicted, b.Blocks[it.first].Hash)
			}
		}
	}
	for _, c := range p.retains {
		if c.kind == ofNode && s.recency.nodes[c.at].refs > 0 {
			s.hold(c.at)
		}
	}
	for i := range p.items {
		it := &p.items[i]
		if it.stored {
			continue
		}
		hash := &b.Blocks[it.first].Hash
		s.pending.set(hash, it.dropped, it.refs)
		if !it.dropped {
			s.occupy(it, hash)
			result.Stored++
		}
	}
	for i := len(p.items) - 1; i >= 0; i-- {
		if it := &p.items[i]; !it.dropped {
			s.makeNewest(it.slot)
		}
	}
	for _, c := range p.terminals {
		s.release(p, c)
	}
	s.dropSpentPending(p)

	s.counts.puts++
	s.counts.stored += uint64(result.Stored)
	s.counts.present += uint64(result.Present)
	s.counts.conflicts += uint64(result.Conflicts)
	s.counts.dropped += uint64(result.Dropped)
	s.counts.leftOut += uint64(result.LeftOut)
	s.counts.evicted += uint64(result.Evicted)
	return result
}

// forgetVictims counts what is present, dropped and in conflict, and takes everything
// that names a victim's slot out of the plan before the slot is used again.
func (s *Store) forgetVictims(p *staged, result *PutResult) {
	for i := range p.items {
		it := &p.items[i]
		switch {
		case it.leftOut:
			result.LeftOut++
		case it.dropped:
			result.Dropped++
		case it.stored && s.recency.nodes[it.slot].is(live):
			result.Present++
		case it.stored: // its own victim
			it.dropped = true
			result.Dropped++
		}
		if it.differs || it.stored && s.verify && s.memory.sums[it.slot] != it.sum {
			result.Conflicts++
		}
	}
	kept := p.terminals[:0]
	for _, c := range p.terminals {
		if n := s.nodeOf(c); n == nil || n.is(live) {
			kept = append(kept, c)
		}
	}
	p.terminals = kept
}

// drop takes a block out of the store. Its slot is free at once, or as soon as
// the copies and views that have begun are through with it.
func (s *Store) drop(slot int32, why absence) {
	n := &s.recency.nodes[slot]
	s.history.add(n.tag, why)
	s.index.remove(n.tag, slot)
	if n.is(listed) {
		s.recency.unlink(slot)
	}
	if n.is(retained) {
		s.retains--
	}
	s.slots.leave(slot)
}

// hold keeps a block whose count is above zero from being evicted.
func (s *Store) hold(slot int32) {
	n := &s.recency.nodes[slot]
	if n.is(listed) {
		s.recency.unlink(slot)
	}
	if !n.is(retained) {
		n.flags |= retained
		s.retains++
	}
}

// occupy gives a new block a slot. Its rows are copied in later; until then it
// is found, but not read.
func (s *Store) occupy(it *item, hash *blockhash.Hash) {
	it.slot = s.slots.take()
	n := &s.recency.nodes[it.slot] // of which nothing is known but that it has no pins
	n.hash, n.tag, n.flags, n.refs = *hash, it.tag, live|filling, it.refs
	n.prev, n.next = 0, 0
	s.slots.pinCopy(it.slot)
	if s.verify {
		s.memory.sums[it.slot] = it.sum
	}
	s.index.insert(it.tag, it.slot)
	if it.refs > 0 {
		s.hold(it.slot)
	}
}

// makeNewest moves a block to the newest end of the list, unless it is held and so has no place.
func (s *Store) makeNewest(slot int32) {
	n := &s.recency.nodes[slot]
	switch {
	case n.is(listed):
		s.recency.touch(slot)
	case !n.held():
		s.recency.pushNewest(slot)
	}
}

// release ends the hold on a block whose count has reached zero.
func (s *Store) release(p *staged, c counter) {
	slot := c.at
	switch c.kind {
	case ofPending:
		return
	case ofItem:
		if p.items[c.at].dropped {
			return
		}
		slot = p.items[c.at].slot
	}
	n := &s.recency.nodes[slot]
	if n.is(retained) {
		n.flags &^= retained
		s.retains--
	}
	s.makeNewest(slot)
}
