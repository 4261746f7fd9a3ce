package store

import (
	"slices"
	"unsafe"

	"github.com/auxoutput/auxoutput/blockhash"
)

// writerQueue is the batches of a writer: those that have a place, and those that wait
// for one, in the order in which they came. The writer's mutex guards it.
type writerQueue struct {
	depth    int
	maxBytes int64

	queued  []*queuedBatch // they have a place and are not being applied yet
	places  int            // batches that have a place, with the one that is being applied
	bytes   int64          // of those
	waiting []*queuedBatch
}

// queuedBatch is a batch and what became of it.
type queuedBatch struct {
	batch  Batch
	bytes  int64
	ticket uint64        // its place, 0 as long as it waits for one
	err    error         // why it got none
	told   chan struct{} // closed when it has a ticket or an error; nil if nobody waits
}

func (p *queuedBatch) tell() {
	if p.told != nil {
		close(p.told)
	}
}

// arrive adds a batch to those that wait.
func (q *writerQueue) arrive(p *queuedBatch) { q.waiting = append(q.waiting, p) }

// giveUp takes a batch out of those that wait.
func (q *writerQueue) giveUp(p *queuedBatch) {
	q.waiting = slices.DeleteFunc(q.waiting, func(w *queuedBatch) bool { return w == p })
}

// next gives the first batch that waits its place, and returns nil if there is none or
// no room for it. What is larger than the bound gets a place when it is the only one.
func (q *writerQueue) next() *queuedBatch {
	if len(q.waiting) == 0 || q.places >= q.depth {
		return nil
	}
	p := q.waiting[0]
	if q.places > 0 && p.bytes > q.maxBytes-q.bytes {
		return nil
	}
	q.waiting[0] = nil
	q.waiting = q.waiting[1:]
	q.queued = append(q.queued, p)
	q.places++
	q.bytes += p.bytes
	return p
}

// take is the next batch to apply, nil if there is none. It keeps its place until done.
func (q *writerQueue) take() *queuedBatch {
	if len(q.queued) == 0 {
		return nil
	}
	p := q.queued[0]
	q.queued[0] = nil
	q.queued = q.queued[1:]
	return p
}

// done frees the place of a batch.
func (q *writerQueue) done(p *queuedBatch) {
	q.places--
	q.bytes -= p.bytes
}

// batchBytes is what a batch counts for in [WriterOptions.MaxBytes]: its rows and its
// lists of blocks and hashes.
func batchBytes(batch *Batch) int64 {
	bytes := int64(len(batch.Blocks)) * int64(unsafe.Sizeof(Block{}))
	for i := range batch.Blocks {
		bytes += int64(len(batch.Blocks[i].Rows))
	}
	return bytes + int64(len(batch.Retain)+len(batch.Release))*int64(unsafe.Sizeof(blockhash.Hash{}))
}

// refuses is the error with which the store would refuse a batch whatever happens
// before it is applied, or nil. It takes the store's lock only if there is one.
func (s *Store) refuses(b *Batch) error {
	fault := s.checkBatch(b)
	if fault == nil && b.Generation == s.current.Load() {
		return nil
	}
	s.lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return s.closedError("put")
	case fault == nil && b.Generation == s.generation: // a reset has come in between
		return nil
	case fault == nil:
		fault = s.generationError("put", b.Generation)
	}
	s.counts.refusedPuts++
	fault.Used = s.slots.used
	return fault
}
