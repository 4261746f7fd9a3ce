package store

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/auxoutput/auxoutput/blockhash"
	auxerrors "github.com/auxoutput/auxoutput/errors"
)

// Store keeps blocks of rows under their hashes. Make one with [New].
type Store struct {
	blockBytes int
	maxBytes   int64
	verify     bool
	seed       maphash.Seed
	memory     memory

	patience   int // how often to try for mu before sleeping
	mu         sync.Mutex
	changed    sync.Cond // something that a waiter may wait for has happened
	waiters    int       // goroutines waiting for changed
	stuckPuts  int       // puts that wait for a slot to be no longer copied from
	closed     bool
	unmapped   bool
	inFlight   int // copies under way and open views: what Close waits for
	generation uint64
	current    atomic.Uint64 // a copy of generation, for those who do not hold mu

	index    index
	recency  recency
	pending  pending
	departed departed

	slots   slots
	retains int // blocks that are retained
	counts  counts
	warm    warmth
}

// New reserves the memory for a store and returns it empty, in generation 0.
// Options that make no sense are a [auxerrors.ConfigError]; memory that the
// system refuses is a [auxerrors.BlockObjectStoreError] that wraps
// [auxerrors.ErrMemory].
func New(options Options) (*Store, error) {
	slots, err := options.slots()
	if err != nil {
		return nil, err
	}
	s := &Store{
		blockBytes: options.BlockBytes,
		maxBytes:   options.MaxBytes,
		verify:     options.Verify,
		seed:       maphash.MakeSeed(),
		patience:   patience(),
		departed:   newDeparted(slots),
	}
	s.changed.L = &s.mu
	if err := s.memory.reserve(options, slots); err != nil {
		return nil, &auxerrors.BlockObjectStoreError{
			Op: "new", Reason: auxerrors.ErrMemory, Index: -1, Limit: slots,
			Detail: err.Error(), Advice: "lower max_bytes, or raise the memory limit of the process",
		}
	}
	s.index = index{cells: s.memory.cells, nodes: s.memory.nodes}
	s.recency = recency{nodes: s.memory.nodes}
	s.slots = newSlots(s.memory.nodes)
	return s, nil
}

// BlockBytes is the size of every block.
func (s *Store) BlockBytes() int { return s.blockBytes }

// Slots is the number of blocks that fit.
func (s *Store) Slots() int { return s.slots.total }

// Generation is the current generation, which [Batch.Generation] has to name.
func (s *Store) Generation() uint64 {
	s.lock()
	defer s.mu.Unlock()
	return s.generation
}

// Reset starts a new generation and returns it: every block, every retain and
// every memory of what was evicted is gone at once. Reads and views that have
// begun end with the rows they began with.
func (s *Store) Reset() (uint64, error) {
	s.lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0, s.closedError("reset")
	}
	if s.inFlight == 0 {
		s.slots.freeAll()
	} else {
		s.slots.freeAllButPinned()
	}
	clear(s.index.cells)
	s.recency.clear()
	s.pending.clear()
	s.retains = 0
	s.generation++
	s.current.Store(s.generation)
	s.notify()
	return s.generation, nil
}

// Close waits for the reads, views and puts that have begun, gives the memory
// back and makes every later operation an [auxerrors.ErrClosed]. A second call
// waits for the first and does nothing more.
//
// Whoever holds a [View] and closes the store waits for ever: close views first.
func (s *Store) Close() error {
	s.lock()
	defer s.mu.Unlock()
	if s.closed {
		for !s.unmapped {
			s.wait()
		}
		return nil
	}
	s.closed = true
	s.notify()
	for s.inFlight > 0 {
		s.wait()
	}
	s.index, s.recency, s.pending = index{}, recency{}, pending{}
	s.slots.nodes = nil
	err := s.memory.release()
	s.unmapped = true
	s.notify()
	if err != nil {
		return &auxerrors.BlockObjectStoreError{Op: "close", Reason: auxerrors.ErrMemory, Index: -1, Limit: s.slots.total, Detail: err.Error()}
	}
	return nil
}

// wait lets others at the store until something has changed.
func (s *Store) wait() {
	s.waiters++
	s.changed.Wait()
	s.waiters--
}

// notify wakes those who wait.
func (s *Store) notify() {
	if s.waiters > 0 {
		s.changed.Broadcast()
	}
}

// tag is a seeded hash of a block hash, of which the upper half places it in the
// index. Block hashes come from prompts that others choose, so without the seed
// they could crowd one place.
type tag uint64

func (s *Store) tag(hash *blockhash.Hash) tag {
	// The bytes where they are: [maphash.Comparable] would copy them first, in
	// pieces that the processor has to wait for before it can read them again.
	return tag(maphash.Bytes(s.seed, unsafe.Slice((*byte)(unsafe.Pointer(hash)), unsafe.Sizeof(*hash))))
}

// rows is the memory of a slot.
func (s *Store) rows(slot int32) []byte { return s.run(slot, 1) }

// run is the memory of n neighbouring slots.
func (s *Store) run(slot int32, n int) []byte {
	from := (int(slot) - 1) * s.blockBytes
	to := from + n*s.blockBytes
	return s.memory.rows[from:to:to]
}

// neighbours is how many slots at the beginning of the list lie one behind the
// other, and so can be copied in one piece.
func neighbours(slots []int32) int {
	n := 1
	for n < len(slots) && slots[n] == slots[n-1]+1 {
		n++
	}
	return n
}

func (s *Store) closedError(op string) *auxerrors.BlockObjectStoreError {
	return &auxerrors.BlockObjectStoreError{Op: op, Reason: auxerrors.ErrClosed, Index: -1, Limit: s.slots.total}
}
