package store

import (
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/cespare/xxhash/v2"

	"github.com/auxoutput/auxoutput/blockhash"
	auxerrors "github.com/auxoutput/auxoutput/errors"
)

// found is where the blocks of a read are. It is reused from read to read.
type found struct {
	tags       []tag
	slots      []int32
	generation uint64 // in which the slots held these blocks
}

var foundPool = sync.Pool{New: func() any { return new(found) }}

// maxResult is more bytes than a slice can have on 64-bit platforms, as far as a
// platform has so many: a slice that cannot be made must not be asked for while
// blocks are pinned.
const maxResult = math.MaxInt >> (16 * (^uint(0) >> 63))

// anyGeneration lets a read go ahead in whatever generation the store is.
const anyGeneration = math.MaxUint64

// Get appends the rows of the blocks to dst, in the order given: len(hashes) x
// BlockBytes bytes, all of them or none. A hash may occur more than once. On
// success every block becomes newest, the last of the list first, so that the
// head of a chain ends newest.
//
// On error dst is returned as it was. The error is a
// [auxerrors.BlockObjectStoreError]: ErrEvicted, ErrRemoved or ErrNeverStored
// (all of them ErrAbsent), or ErrAbsent alone where the store no longer knows,
// naming the first hash that is absent; ErrCorrupt with the verify option;
// ErrInvalidHash; ErrClosed; ErrTooLarge for more bytes than a slice can have.
//
// Get waits for blocks whose rows are being copied in, and for puts that came
// before it and wait for a slot that is being copied.
func (s *Store) Get(dst []byte, hashes []blockhash.Hash) ([]byte, error) {
	return s.get(dst, hashes, anyGeneration)
}

func (s *Store) get(dst []byte, hashes []blockhash.Hash, generation uint64) ([]byte, error) {
	if len(hashes) > (maxResult-len(dst))/s.blockBytes {
		return dst, s.unlessClosed("get", &auxerrors.BlockObjectStoreError{
			Op: "get", Reason: auxerrors.ErrTooLarge, Index: -1, Limit: s.slots.total,
			Detail: fmt.Sprintf("%d blocks of %d bytes", len(hashes), s.blockBytes),
		})
	}
	f := foundPool.Get().(*found)
	defer foundPool.Put(f)
	if fault := s.acquire("get", hashes, f, generation, (*Store).pinCopies); fault != nil {
		return dst, fault
	}
	fault := s.check("get", hashes, f.slots)
	out := dst
	if fault == nil {
		out = slices.Grow(dst, len(hashes)*s.blockBytes)
		for rest := f.slots; len(rest) > 0; {
			n := neighbours(rest)
			out = append(out, s.run(rest[0], n)...)
			rest = rest[n:]
		}
	}
	s.lock()
	stale := f.generation != s.generation
	for _, slot := range f.slots {
		s.slots.unpinCopy(slot, stale)
	}
	s.endRead(len(hashes), fault)
	s.mu.Unlock()
	if fault != nil {
		return dst, fault
	}
	return out, nil
}

// acquire finds all blocks of a read and pins them, or none.
func (s *Store) acquire(op string, hashes []blockhash.Hash, f *found, generation uint64, pin func(*Store, []int32)) *auxerrors.BlockObjectStoreError {
	for i := range hashes {
		if hashes[i].IsZero() {
			return s.unlessClosed(op, s.hashError(op, auxerrors.ErrInvalidHash, hashes[i], i))
		}
	}
	s.prepare(f, hashes)

	s.lock()
	defer s.mu.Unlock()
	ahead := s.waiting.ahead()
	for {
		if s.closed {
			return &auxerrors.BlockObjectStoreError{Op: op, Reason: auxerrors.ErrClosed, Index: -1, Limit: s.slots.total}
		}
		if generation != anyGeneration && generation != s.generation {
			return s.generationError(op, generation)
		}
		absent, incomplete := s.locate(hashes, f.tags, f.slots)
		if absent >= 0 {
			return s.absentError(op, hashes, f.tags, absent)
		}
		if incomplete {
			s.waiting.wait(&s.waiting.filled)
			continue
		}
		if !s.waiting.isQueued(ahead) {
			break
		}
		s.waiting.wait(ahead.left)
	}
	f.generation = s.generation
	for _, slot := range f.slots {
		s.prefetch.neighbours(s.recency.nodes, slot)
	}
	pin(s, f.slots)
	s.inFlight++
	return nil
}

// prepare makes room for what a lookup finds, and computes the tags, which needs
// no lock.
func (s *Store) prepare(f *found, hashes []blockhash.Hash) {
	f.tags = slices.Grow(f.tags[:0], len(hashes))[:len(hashes)]
	f.slots = slices.Grow(f.slots[:0], len(hashes))[:len(hashes)]
	for i := range hashes {
		f.tags[i] = s.tag(&hashes[i])
	}
}

// prefetchAll prefetches the cells and nodes that tags lead to.
func (s *Store) prefetchAll(tags []tag) {
	for _, t := range tags {
		s.prefetch.cell(&s.index, t)
	}
	for _, t := range tags {
		s.prefetch.node(&s.index, t)
	}
}

// locate looks up all hashes: first the cells, then the nodes, so that within a
// pass the cache misses of different hashes overlap. It returns the index of the
// first absent one, or -1. It reports incomplete if rows are still being copied in.
func (s *Store) locate(hashes []blockhash.Hash, tags []tag, slots []int32) (absent int, incomplete bool) {
	for _, t := range tags {
		s.prefetch.cell(&s.index, t)
	}
	for i, t := range tags {
		slots[i] = s.index.candidate(t)
	}
	nodes := s.recency.nodes
	for i := range hashes {
		slot := slots[i]
		if slot != 0 && nodes[slot].hash != hashes[i] {
			slot = s.index.find(tags[i], &hashes[i])
			slots[i] = slot
		}
		if slot == 0 {
			return i, false
		}
		incomplete = incomplete || nodes[slot].is(filling)
	}
	return -1, incomplete
}

// pinCopies makes blocks newest, the last one first, and keeps their slots from being
// reused.
func (s *Store) pinCopies(slots []int32) {
	copied := 0 // what slots.pinCopy counts, in a register
	for i := len(slots) - 1; i >= 0; i-- {
		n := &s.recency.nodes[slots[i]]
		if n.busy == 0 && n.views == 0 {
			copied++
		}
		n.busy++
		if n.is(listed) {
			s.recency.touch(slots[i])
		}
	}
	s.slots.copied += copied
}

// endRead accounts for a read whose pins are gone.
func (s *Store) endRead(blocks int, fault *auxerrors.BlockObjectStoreError) {
	if fault != nil {
		s.counts.corrupt++
		fault.Used = s.slots.used
	} else {
		s.counts.reads++
		s.counts.blocksRead += uint64(blocks)
	}
	s.endUse()
}

// check compares pinned blocks with their checksums, if the store keeps any.
func (s *Store) check(op string, hashes []blockhash.Hash, slots []int32) *auxerrors.BlockObjectStoreError {
	if !s.verify {
		return nil
	}
	for i, slot := range slots {
		if xxhash.Sum64(s.rows(slot)) != s.memory.sums[slot] {
			fault := s.hashError(op, auxerrors.ErrCorrupt, hashes[i], i)
			fault.Advice = "something wrote into the store's memory; remove the block and publish it again"
			return fault
		}
	}
	return nil
}

// absentError says which block is absent and why, as far as that is known.
func (s *Store) absentError(op string, hashes []blockhash.Hash, tags []tag, at int) *auxerrors.BlockObjectStoreError {
	fault := s.hashError(op, auxerrors.ErrNeverStored, hashes[at], at)
	fault.Used = s.slots.used
	switch s.history.why(tags[at]) {
	case wasEvicted:
		s.counts.evictedMiss++
		fault.Reason = auxerrors.ErrEvicted
		fault.Advice = fmt.Sprintf("increase max_bytes (now %d): a KV cache hit needs rows that are kept as long as the KV block", s.maxBytes)
	case wasRemoved:
		s.counts.removedMiss++
		fault.Reason = auxerrors.ErrRemoved
	case neverStored:
		s.counts.neverStored++
	default:
		s.counts.absentMiss++
		fault.Reason = auxerrors.ErrAbsent
		fault.Detail = "it was never stored, or gave way so long ago that this is forgotten"
		fault.Advice = fmt.Sprintf("if it was stored, increase max_bytes (now %d)", s.maxBytes)
	}
	return fault
}

// unlessClosed is a fault of the call, or that the store is closed: who uses a closed
// store hears of that, whatever else is wrong.
func (s *Store) unlessClosed(op string, fault *auxerrors.BlockObjectStoreError) *auxerrors.BlockObjectStoreError {
	s.lock()
	defer s.mu.Unlock()
	if s.closed {
		return s.closedError(op)
	}
	return fault
}

func (s *Store) generationError(op string, generation uint64) *auxerrors.BlockObjectStoreError {
	return &auxerrors.BlockObjectStoreError{
		Op: op, Reason: auxerrors.ErrGeneration, Index: -1, Used: s.slots.used, Limit: s.slots.total,
		Detail: fmt.Sprintf("of generation %d, store in %d", generation, s.generation),
	}
}
