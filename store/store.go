package store

import (
	"hash/maphash"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/auxoutput/auxoutput/blockhash"
	auxerrors "github.com/auxoutput/auxoutput/errors"
)

// Store keeps blocks of rows under their hashes. Make one with [New], and end it
// with [Store.Close] or [Store.Shutdown].
type Store struct {
	blockBytes int
	maxBytes   int64
	verify     bool
	seed       maphash.Seed
	memory     *memory
	cleanup    runtime.Cleanup // gives the memory back if the store is dropped without Close

	tries      int // how often to try for mu before sleeping
	mu         sync.Mutex
	waiting    waiting
	closed     bool
	unmapped   bool
	unmapError error
	inFlight   int // copies under way and open views: what Close waits for
	generation uint64
	current    atomic.Uint64 // a copy of generation, for those who do not hold mu

	index   index
	recency recency
	pending pending
	history history

	slots    slots
	retains  int // blocks that are retained
	counts   counts
	prefetch prefetch
}

// New reserves the memory for a store and returns it empty, in generation 0.
// Options that make no sense are a [auxerrors.ConfigError]; memory that the
// system refuses is a [auxerrors.BlockObjectStoreError] that wraps
// [auxerrors.ErrMemory].
//
// Close gives the memory back. A store that is dropped without Close is a leak
// until the garbage collector finds it, which may be late: it does not see how much
// memory hangs on it. [Process] counts such stores.
func New(options Options) (*Store, error) {
	slots, err := options.slots()
	if err != nil {
		return nil, err
	}
	m, err := newMemory(options, slots)
	if err != nil {
		return nil, &auxerrors.BlockObjectStoreError{
			Op: "new", Reason: auxerrors.ErrMemory, Index: -1, Limit: slots,
			Detail: err.Error(), Advice: "lower max_bytes, or raise the memory limit of the process",
		}
	}
	s := &Store{
		blockBytes: options.BlockBytes,
		maxBytes:   options.MaxBytes,
		verify:     options.Verify,
		seed:       maphash.MakeSeed(),
		memory:     m,
		tries:      lockTries(),
		recency:    recency{nodes: m.nodes},
		slots:      newSlots(m.nodes),
	}
	s.waiting.init(&s.mu)
	s.lookUpIn(m.table)
	process.open.Add(1)
	s.cleanup = runtime.AddCleanup(s, (*memory).dropped, m)
	return s, nil
}

// lookUpIn makes t the table in which blocks are found.
func (s *Store) lookUpIn(t table) {
	s.index = index{cells: t.cells, nodes: s.recency.nodes}
	s.history = history{marks: t.marks}
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

// tag is a seeded hash of a block hash, of which the upper half places it in the
// index. Block hashes come from prompts that others choose, so without the seed
// many of them could be made to fall into one place.
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
