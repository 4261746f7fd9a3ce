package connector

import (
	"math"

	"errors"
	"fmt"
	"sync"

	"github.com/auxoutput/auxoutput/blockhash"
	"github.com/auxoutput/auxoutput/connector/guard"
	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/routing"
	"github.com/auxoutput/auxoutput/store"
)

// Options describe a worker half. Only Mode, HashesPerKVBlock, Writer and what says how
// rows are checked may be zero.
type Options struct {
	// Checked is the engine's set-up, as guard.Check let it pass. Without it, and with
	// capture off, there is no worker: see [Idle].
	Checked guard.Checked

	Mode        Mode
	Profile     routing.Profile
	BlockTokens int // tokens of a hash block

	MaxSequences  int // most requests that run at a time (max_num_seqs)
	MaxStepTokens int // most tokens of a step (max_num_batched_tokens)
	MaxInFlight   int // most steps begun and not processed: 1, or 2 with async scheduling

	// HashesPerKVBlock is the scheduler unit in hash blocks: with one KV group its
	// block size, with several the least common multiple of their block sizes,
	// divided by BlockTokens (vLLM's hashes_per_kv_block). The KV cache registers
	// whole units, and until then the blocks of a unit wait in the tail pool. 0
	// means 1.
	HashesPerKVBlock int

	// Check says which captured rows are looked at before they are published. The
	// zero value is CheckSampled.
	Check CheckLevel

	// Exempt are layers whose rows do not depend on the hidden state: dense ones,
	// and those routed by a hash of the token. They may repeat ids, rows and zeros.
	Exempt []int

	// MayRepeat leaves out the check for runs of equal rows
	// (routing.Checks.EqualRuns): for texts that repeat one token for hundreds of
	// positions, whose rows may repeat in truth.
	MayRepeat bool

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
	checker     rowChecker
	evicts      *[]blockhash.Hash // where the store is to name what it evicts
	partial     bool              // blocks without room are left out: who needs them fails alone

	mu         sync.Mutex
	closed     bool
	generation uint64 // of the last metadata that began
	rows       publisher
	pool       *TailPool
	lives      lives
	unheard    []*life          // lost, and no output has said so
	evicted    []blockhash.Hash // what DrainEvicted names
	failures   Failures

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

// NewWorker makes a worker half over a store, which stays the caller's. A set-up that
// was not checked is guard.ErrNotChecked, one with capture off guard.ErrCaptureOff.
// Options that make no sense, or do not fit the store, are an errors.ConfigError.
func NewWorker(s *store.Store, o Options) (*Worker, error) {
	blocks, err := o.check(s)
	if err != nil {
		return nil, err
	}
	checker, err := newRowChecker(o)
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
		checker:     checker,
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
	if err := o.Checked.Ready(); err != nil {
		return 0, err
	}
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
	case o.MaxInFlight > 2:
		return 0, &auxerrors.ConfigError{Field: "steps in flight", Value: o.MaxInFlight, Want: "1, or 2 with async scheduling", Reason: auxerrors.ErrTooLarge}
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

// DrainEvicted appends the keys of blocks whose rows are gone or will never come, as
// far as that showed since the last call: those that a failed read found absent, those
// of lost requests, and in Linked mode all that the store evicted. Before it schedules
// again the engine takes the hashes from their KV blocks ([Scheduler.AppendBlocks],
// prefixcache.Cache.EvictBlocks, [Scheduler.Evicted]). Otherwise each retry of the
// request hits the same KV blocks and fails in the same way.
func (w *Worker) DrainEvicted(keys []blockhash.Hash) []blockhash.Hash {
	w.mu.Lock()
	defer w.mu.Unlock()
	keys = append(keys, w.evicted...)
	w.evicted = w.evicted[:0]
	return keys
}

// Stats is what the worker holds at a moment.
type Stats struct {
	Generation uint64
	Requests   int // requests with a state
	InFlight   int // steps begun and not processed
	Tails      int // incomplete blocks
	Waiting    int // full blocks whose key is not known
	PoolBlocks int // blocks of the tail pool
	PoolFree   int // of these, free: PoolBlocks - Tails - Waiting

	Failures Failures // since the worker was made
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
		Failures:   w.failures,
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
		release = append(release, l.keys...)
		l.drop(w.pool)
	}
	for _, step := range w.steps {
		for _, h := range step.holdings {
			release = append(release, h.pins()...)
		}
	}
	w.steps = clearAll(w.steps)
	w.lives.endAll()
	err := w.rows.giveBack(release)
	if err == nil && w.gate != nil {
		err = w.gate.close()
	}
	if errors.Is(err, auxerrors.ErrClosed) || errors.Is(err, auxerrors.ErrGeneration) {
		return nil // the references went with the store, or with its generation
	}
	return err
}
