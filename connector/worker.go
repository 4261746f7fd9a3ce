package connector

import (
	"math"

	"errors"
	"fmt"
	"sync"

	"github.com/auxoutput/auxoutput/blockhash"
	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/routing"
	"github.com/auxoutput/auxoutput/store"
)

// Options describe a worker half. Only Writer and HashesPerKVBlock may be zero.
type Options struct {
	Mode        Mode
	Profile     routing.Profile
	BlockTokens int // tokens of a hash block

	MaxSequences  int // most requests that run at a time (max_num_seqs)
	MaxStepTokens int // most tokens of a step (max_num_batched_tokens)
	MaxInFlight   int // most steps begun and not processed: 1, or 2 with async scheduling

	// HashesPerKVBlock is how many hash blocks a KV block has: the fine blocks of
	// an unfinished coarse one wait in the tail pool. 0 means 1.
	HashesPerKVBlock int

	// Writer publishes in the background, if it is not nil. Reads wait for the
	// puts before them; a put that fails is sticky there. Not in Linked mode.
	Writer *store.Writer
}

// Worker is the half of the connector that sees the rows. Make one with
// [NewWorker], or with [Idle] on a rank that returns none. It is safe for
// concurrent use.
type Worker struct {
	idle        bool
	blockTokens int
	rowBytes    int
	inFlight    int
	gate        *Gate
	evicts      *[]blockhash.Hash // where the store is to name what it evicts
	partial     bool              // blocks without room are left out: who needs them fails alone

	mu         sync.Mutex
	closed     bool
	generation uint64 // of the last metadata that began
	rows       publisher
	pool       *TailPool
	lives      lives
	evicted    []blockhash.Hash

	steps    []*begun // that are not through, oldest first
	spare    []*begun
	numbers  uint64 // steps begun so far
	deferred error  // what went wrong with a step that has no output to report it

	scratch
}

// scratch is memory that is used again from step to step.
type scratch struct {
	checks    uint64
	starting  map[string]bool
	scheduled []*life // hints by place in the lists of a step
	batched   []*life
	ending    []*life
	plans     []plan
	completed []TailBlock
	blocks    []store.Block
	retain    []blockhash.Hash
	release   []blockhash.Hash
}

// Step is a step that has begun. The zero Step is a warm-up step.
type Step struct {
	number     uint64
	generation uint64
	empty      bool // nothing is scheduled in it
}

// begun is a step whose output is to come, or whose metadata has not taken effect.
type begun struct {
	number   uint64
	applied  bool
	meta     Metadata   // as long as it is not applied
	holdings []*holding // what the gate holds for each scheduled request that is new
}

// NewWorker makes a worker half over a store, which stays the caller's. Options
// that make no sense, or do not fit the store, are an errors.ConfigError.
func NewWorker(s *store.Store, o Options) (*Worker, error) {
	blocks, err := o.check(s)
	if err != nil {
		return nil, err
	}
	pool, err := NewTailPool(blocks, o.BlockTokens, o.Profile.RowBytes())
	if err != nil {
		return nil, err
	}
	w := &Worker{
		blockTokens: o.BlockTokens,
		rowBytes:    o.Profile.RowBytes(),
		inFlight:    o.MaxInFlight,
		rows:        publisher{store: s, writer: o.Writer},
		pool:        pool,
		lives:       lives{byID: make(map[string]*life)},
		scratch:     scratch{starting: make(map[string]bool)},
	}
	w.rows.follow()
	if o.Mode.gated() {
		w.gate = newGate(s, o.Writer)
	}
	w.partial = o.Mode == FailClosed
	if o.Mode == Linked {
		w.evicts = &w.evicted
	}
	return w, nil
}

// check returns the size of the tail pool.
func (o Options) check(s *store.Store) (blocks int, err error) {
	blockBytes, err := o.Profile.BlockBytes(o.BlockTokens)
	if err != nil {
		return 0, err
	}
	finer := max(o.HashesPerKVBlock, 1) - 1
	switch {
	case o.Mode > Reference:
		return 0, &auxerrors.ConfigError{Field: "mode", Value: o.Mode, Want: "one of the modes", Reason: auxerrors.ErrOutOfRange}
	case s == nil:
		return 0, &auxerrors.ConfigError{Field: "store", Value: nil, Want: "a store", Reason: auxerrors.ErrMismatch}
	case s.BlockBytes() != blockBytes:
		return 0, &auxerrors.ConfigError{Field: "store", Value: fmt.Sprintf("blocks of %d bytes", s.BlockBytes()), Want: fmt.Sprintf("blocks of %d tokens x %d bytes", o.BlockTokens, o.Profile.RowBytes()), Reason: auxerrors.ErrMismatch}
	case o.HashesPerKVBlock < 0:
		return 0, &auxerrors.ConfigError{Field: "hashes per KV block", Value: o.HashesPerKVBlock, Want: "at least 1", Reason: auxerrors.ErrTooSmall}
	case o.Mode == Linked && o.Writer != nil:
		return 0, &auxerrors.ConfigError{Field: "writer", Value: "set", Want: "none in linked mode, where evictions must be known at once", Reason: auxerrors.ErrMismatch}
	}
	blocks, err = PoolBlocks(o.BlockTokens, o.MaxSequences, o.MaxStepTokens, o.MaxInFlight)
	if err != nil {
		return 0, err
	}
	const most = math.MaxInt32
	if finer > (most-blocks)/o.MaxSequences {
		return 0, &auxerrors.ConfigError{Field: "hashes per KV block", Value: o.HashesPerKVBlock, Want: "a tail pool of less than 2^31 blocks", Reason: auxerrors.ErrTooLarge}
	}
	return blocks + finer*o.MaxSequences, nil
}

// Idle makes a worker half for a rank that returns no rows: everything succeeds
// and does nothing.
func Idle() *Worker { return &Worker{idle: true} }

// Gate is where hits are admitted in the modes RowGated and Linked; nil in others.
func (w *Worker) Gate() *Gate { return w.gate }

// DrainEvicted appends the hashes of blocks that the store evicted since the last
// call, in Linked mode: the engine drops them from the KV cache
// (prefixcache.Cache.EvictHash) before it schedules again.
func (w *Worker) DrainEvicted(hashes []blockhash.Hash) []blockhash.Hash {
	w.mu.Lock()
	defer w.mu.Unlock()
	hashes = append(hashes, w.evicted...)
	w.evicted = w.evicted[:0]
	return hashes
}

// Stats is what the worker holds at a moment.
type Stats struct {
	Generation uint64
	Requests   int // requests with a state
	InFlight   int // steps begun and not processed
	Tails      int // incomplete blocks
	Waiting    int // full blocks whose hash is not known
	PoolBlocks int // blocks of the tail pool
	PoolFree   int // of these, free: PoolBlocks - Tails - Waiting
}

// Stats takes a snapshot.
func (w *Worker) Stats() Stats {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.idle {
		return Stats{}
	}
	return Stats{
		Generation: w.generation,
		Requests:   len(w.lives.byID),
		InFlight:   len(w.steps),
		Tails:      w.pool.Tails(),
		Waiting:    w.pool.Blocks() - w.pool.Free() - w.pool.Tails(),
		PoolBlocks: w.pool.Blocks(),
		PoolFree:   w.pool.Free(),
	}
}

// Close ends all requests, releases what they retain and makes everything later
// an errors.ErrClosed. The store and the writer stay open. A second call does
// nothing.
func (w *Worker) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.idle || w.closed {
		return nil
	}
	w.closed = true
	release := w.release[:0]
	for _, l := range w.lives.byID {
		release = append(release, l.hashes...)
		l.drop(w.pool)
	}
	for _, step := range w.steps {
		for _, h := range step.holdings {
			release = append(release, h.pins()...)
		}
	}
	w.steps = clearAll(w.steps)
	w.lives.endAll()
	err := w.rows.put(store.Batch{Release: release})
	if err == nil && w.gate != nil {
		err = w.gate.close()
	}
	if errors.Is(err, auxerrors.ErrClosed) || errors.Is(err, auxerrors.ErrGeneration) {
		return nil // the references went with the store, or with its generation
	}
	return err
}
