package store

import (
	"sync"

	auxerrors "github.com/auxoutput/auxoutput/errors"
)

var stagedPool = sync.Pool{New: func() any { return new(staged) }}

// Put does what a batch says, as one step:
//
//  1. Check everything. What is wrong is returned as a
//     [auxerrors.BlockObjectStoreError], and nothing has changed: ErrClosed,
//     ErrGeneration, ErrPayloadSize, ErrInvalidHash, ErrNotRetained, or
//     ErrCannotFit if there is no room even after evicting all that may go.
//  2. Retain, then release. Hashes whose count reaches zero are terminal.
//  3. Each distinct block becomes newest; one that is present keeps its bytes.
//  4. Terminal hashes that are present become newest, newer than the blocks.
//  5. The oldest blocks are evicted until the rest fits. Spared are retained and
//     viewed blocks, and the batch's own unless they are terminal: such a block
//     may be its own victim and is then not stored ([PutResult.Dropped]). If that
//     is not room enough the batch is refused, or cut short if it is Partial.
//
// Rows are copied in after that, outside the lock; who reads such a block
// meanwhile waits for it. Put returns when the copies are done.
//
// The order is that of vLLM's store (put: retain, release, insert, terminal
// move, evict, write), but a failure rolls everything back.
func (s *Store) Put(batch Batch) (PutResult, error) {
	p := stagedPool.Get().(*staged)
	defer stagedPool.Put(p)

	fault := s.stage(p, &batch)

	s.lock()
	if s.closed {
		fault = s.closedError("put")
	} else if fault == nil {
		fault = s.admit(p, &batch)
	}
	if fault != nil {
		s.counts.refusedPuts++
		fault.Used = s.slots.used
		s.mu.Unlock()
		return PutResult{}, fault
	}
	result := s.commit(p, &batch)
	if result.Stored == 0 {
		s.mu.Unlock()
		return result, nil
	}
	s.inFlight++
	s.mu.Unlock()

	s.fill(p, batch.Blocks)

	s.lock()
	defer s.mu.Unlock()
	s.endFill(p, batch.Generation)
	return result, nil
}

// endFill ends the copies of a put that was committed in a generation: its blocks
// can be read.
func (s *Store) endFill(p *staged, generation uint64) {
	stale := generation != s.generation
	for i := range p.items {
		if it := &p.items[i]; !it.stored && !it.dropped {
			s.recency.nodes[it.slot].flags &^= filling
			s.slots.unpinCopy(it.slot, stale)
		}
	}
	s.waiting.filled.Broadcast()
	s.endUse()
}

// fill copies the rows of the new blocks in. What is neighbouring both in the
// store and in the caller's memory is copied in one piece.
func (s *Store) fill(p *staged, blocks []Block) {
	var rows []byte // found to be neighbours, and not copied yet
	var slot, next int32
	for i := range p.items {
		it := &p.items[i]
		if it.stored || it.dropped {
			continue
		}
		more := blocks[it.first].Rows
		if it.slot == next && follows(rows, more) {
			rows = rows[:len(rows)+len(more)]
			next++
			continue
		}
		if len(rows) > 0 {
			copy(s.run(slot, int(next-slot)), rows)
		}
		rows, slot, next = more, it.slot, it.slot+1
	}
	copy(s.run(slot, int(next-slot)), rows)
}

// follows tells whether b lies right behind a in an array that both are parts of.
func follows(a, b []byte) bool {
	return cap(a)-len(a) >= len(b) && &a[:len(a)+1][len(a)] == &b[0]
}

// admit checks a batch against the store and decides what has to go. It waits
// where room is only a matter of copies that end by themselves. It leaves the
// counts changed when it succeeds, and everything as it was when not.
func (s *Store) admit(p *staged, b *Batch) *auxerrors.BlockObjectStoreError {
	fault, wait := s.tryAdmit(p, b, s.waiting.first != nil)
	if !wait {
		return fault
	}
	s.waiting.join(p)
	for wait {
		s.waiting.wait(p.queued.turn)
		fault, wait = s.tryAdmit(p, b, false) // only the first in the queue is woken
	}
	s.waiting.leave()
	return fault
}

// tryAdmit is admit without waiting. If it reports wait, everything is as it was.
// Behind other puts that wait there is no slot for this one yet.
func (s *Store) tryAdmit(p *staged, b *Batch, behind bool) (fault *auxerrors.BlockObjectStoreError, wait bool) {
	if s.closed {
		return &auxerrors.BlockObjectStoreError{Op: "put", Reason: auxerrors.ErrClosed, Index: -1, Limit: s.slots.total}, false
	}
	if b.Generation != s.generation {
		return s.generationError("put", b.Generation), false
	}
	s.resolve(p, b)
	fault = s.count(p, b)
	if fault == nil {
		fault, wait = s.selectVictims(p, b.Partial)
		wait = fault == nil && (wait || behind && p.absent > 0)
	}
	s.unmark(p)
	if fault != nil || wait {
		s.uncount(p)
	}
	return fault, wait
}
