package engine

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/auxoutput/auxoutput/bench/truth"
	"github.com/auxoutput/auxoutput/blockhash"
	"github.com/auxoutput/auxoutput/connector"
	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/prefixcache"
	"github.com/auxoutput/auxoutput/store"
)

// Engine is a simulated serving engine. It is for one goroutine.
type Engine struct {
	cfg       Config
	rng       *rand.Rand
	root      blockhash.Hash
	cache     *prefixcache.Cache
	store     *store.Store
	scheduler *connector.Scheduler
	worker    *connector.Worker
	gate      *connector.Gate
	writer    *store.Writer
	offload   *offload
	pool      kvPool
	lost      map[uint64]bool // admissions whose rows are incomplete

	step       int
	loseNext   bool
	damageNext bool
	idle       int // steps in a row with nothing running and nothing in flight
	waiting    []*sequence
	running    []*sequence
	plans      []*plan // begun, and not executed yet
	report     Report

	// Memory used again from step to step.
	meta      connector.Metadata
	out       connector.Output
	batch     connector.Batch
	scheduled []connector.Request
	others    []connector.Request
	truth     []byte
	keys      []blockhash.Hash
	blocks    []int32
	reused    []connector.KVBlock
}

// algorithm is what the engine hashes with: fast, as the rows do not depend on it.
const algorithm = blockhash.XXHashCBOR

// New makes an engine in which nothing is going on.
func New(cfg Config) (*Engine, error) {
	cfg, err := cfg.complete()
	if err != nil {
		return nil, err
	}
	blockBytes, err := cfg.Profile.BlockBytes(cfg.HashTokens)
	if err != nil {
		return nil, err
	}
	root, err := blockhash.SeedRoot(algorithm, "engine")
	if err != nil {
		return nil, err
	}
	e := &Engine{cfg: cfg, root: root, rng: rand.New(rand.NewPCG(cfg.Seed, 0x656e67696e65)), lost: make(map[uint64]bool)}
	e.offload = newOffload(cfg.OffloadBlocks / e.ratio())
	e.pool = newKVPool(cfg.KVBlocks)
	if e.cache, err = prefixcache.New(cfg.cache()); err != nil {
		return nil, err
	}
	e.scheduler, err = connector.NewScheduler(connector.SchedulerOptions{
		Checked: cfg.Checked, Mode: cfg.Mode, KVBlocks: cfg.KVBlocks, HashesPerBlock: e.ratio(), Offload: e.offload.on(), Slots: cfg.Slots,
	})
	if err != nil {
		return nil, err
	}
	budget, err := store.Budget(cfg.Slots, 1, blockBytes)
	if err != nil {
		return nil, err
	}
	if e.store, err = store.New(store.Options{MaxBytes: budget, BlockBytes: blockBytes}); err != nil {
		return nil, err
	}
	if err := e.start(); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	e.report.Slots, e.report.MaxBytes = cfg.Slots, budget
	return e, nil
}

// start makes the worker half over the store.
func (e *Engine) start() (err error) {
	cfg := e.cfg
	if cfg.Writer {
		if e.writer, err = store.NewWriter(e.store, 2*cfg.Requests); err != nil {
			return err
		}
	}
	inFlight := 1
	if cfg.Lag {
		inFlight = 2
	}
	e.worker, err = connector.NewWorker(e.store, connector.Options{
		Checked: cfg.Checked, Mode: cfg.Mode, Profile: cfg.Profile, BlockTokens: cfg.HashTokens,
		MaxSequences: cfg.Requests, MaxStepTokens: cfg.BatchTokens, MaxInFlight: inFlight,
		HashesPerKVBlock: e.cache.Config().SchedulerTokens / cfg.HashTokens,
		Check:            cfg.Check, Writer: e.writer,
	})
	if err == nil {
		e.gate = e.worker.Gate()
	}
	return err
}

// Close gives the memory back.
func (e *Engine) Close() error {
	var errs []error
	if e.worker != nil {
		errs = append(errs, e.worker.Close())
	}
	if e.writer != nil {
		errs = append(errs, e.writer.Close())
	}
	return errors.Join(append(errs, e.store.Close())...)
}

// Submit puts a job behind those that wait.
func (e *Engine) Submit(job *Job) error {
	switch {
	case len(job.Prompt) == 0:
		return fmt.Errorf("engine: job %s has no prompt", job.ID)
	case job.Output < 1 && job.Stop != ByAbort:
		return fmt.Errorf("engine: job %s has no output", job.ID)
	case job.PromptStart < 0 || job.PromptStart > len(job.Prompt):
		return fmt.Errorf("engine: job %s starts at %d of a prompt of %d", job.ID, job.PromptStart, len(job.Prompt))
	case e.cfg.MaxTokens > 0 && len(job.Prompt) >= e.cfg.MaxTokens:
		e.report.Requests++
		e.refuse(job, fmt.Errorf("%w: a prompt of %d tokens, and at most %d with its output", ErrNoRoom, len(job.Prompt), e.cfg.MaxTokens))
		return nil
	}
	s, err := e.newSequence(job)
	if err != nil {
		return err
	}
	e.enqueue(s)
	e.report.Requests++
	e.report.PromptTokens += int64(len(job.Prompt))
	return nil
}

// newSequence makes the state of a job.
func (e *Engine) newSequence(job *Job) (*sequence, error) {
	chain, err := blockhash.NewChain(algorithm, e.root, e.cfg.HashTokens, blockhash.Request{})
	if err != nil {
		return nil, err
	}
	s := &sequence{job: job, chain: chain, answered: job.PromptStart, room: math.MaxInt}
	if e.cfg.MaxTokens > 0 {
		s.room = e.cfg.MaxTokens - len(job.Prompt)
	}
	s.rows = truth.New(e.cfg.Profile, 0)
	s.check = s.rows
	s.learn(job.Prompt...)
	s.kv.Prompt, s.kv.SkipLookup = len(job.Prompt), job.SkipLookup
	s.tokens = append(s.tokens, job.Prompt...)
	return s, nil
}

// Busy reports whether jobs are waiting, running or in flight.
func (e *Engine) Busy() bool { return len(e.waiting)+len(e.running)+len(e.plans) > 0 }

// Live is the number of jobs that are not through.
func (e *Engine) Live() int { return len(e.waiting) + len(e.running) }

// Step schedules one step, and executes and settles the step whose turn it is.
func (e *Engine) Step() error {
	if err := e.abortDue(); err != nil {
		return err
	}
	if err := e.dropEvicted(); err != nil {
		return err
	}
	p, err := e.schedule()
	if err != nil {
		return err
	}
	e.step++
	e.report.Steps++
	if len(p.items) > 0 {
		e.plans = append(e.plans, p)
	}
	depth := 0
	if e.cfg.Lag && len(p.items) > 0 {
		depth = 1
	}
	for len(e.plans) > depth {
		if err := e.process(e.plans[0]); err != nil {
			return err
		}
		e.plans = e.plans[1:]
	}
	if e.idle++; len(e.running) > 0 || len(e.plans) > 0 {
		e.idle = 0
	}
	return nil
}

// process executes a step and settles its output.
func (e *Engine) process(p *plan) error {
	batch := e.execute(p)
	var err error
	if p.abandoned {
		err = e.worker.Abandon(p.step, &e.out)
	} else {
		e.damage(p, batch.Rows)
		err = e.worker.Process(p.step, batch, &e.out)
	}
	if p.generation != e.scheduler.Generation() {
		if !errors.Is(err, auxerrors.ErrGeneration) {
			return fmt.Errorf("engine: an output of generation %d in %d: %w", p.generation, e.scheduler.Generation(), err)
		}
		for _, it := range p.items {
			it.s.forget()
		}
		return nil
	}
	if err != nil {
		return err
	}
	if err := e.settle(p); err != nil {
		return err
	}
	return e.dropEvicted()
}

// abortDue ends the jobs whose client has gone away.
func (e *Engine) abortDue() error {
	for _, list := range [][]*sequence{e.running, e.waiting} {
		for _, s := range append([]*sequence(nil), list...) {
			if s.job.Stop == ByAbort && s.life > 0 && s.outputs() >= s.job.Output {
				if err := e.abort(s); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// Cancel ends a job whose client has gone away. An id that is not on its way is
// fine.
func (e *Engine) Cancel(id string) error {
	for _, list := range [][]*sequence{e.running, e.waiting} {
		for _, s := range list {
			if s.job.ID == id {
				return e.abort(s)
			}
		}
	}
	return nil
}

// CancelAny ends one of the jobs that wait or run, as a client may that goes away at
// any time. Which one follows from the draw.
func (e *Engine) CancelAny(draw uint64) error {
	if e.Live() == 0 {
		return nil
	}
	at := int(draw % uint64(e.Live()))
	if at < len(e.running) {
		return e.abort(e.running[at])
	}
	return e.abort(e.waiting[at-len(e.running)])
}

// LoseOutput makes the output of the last step that was scheduled never arrive.
func (e *Engine) LoseOutput() { e.loseNext = true }

// DamageRows makes the model capture wrong ids for one request of the next step.
func (e *Engine) DamageRows() { e.damageNext = true }

// ResetCache empties the prefix cache and starts a new generation, as after an
// update of the weights. Running sequences are preempted; tokens in flight are
// lost.
func (e *Engine) ResetCache() error {
	for len(e.running) > 0 {
		if err := e.preempt(e.running[len(e.running)-1]); err != nil {
			return err
		}
	}
	if !e.cache.Reset() {
		return errors.New("engine: the prefix cache could not be reset with nothing running")
	}
	e.scheduler.Reset()
	e.offload.clear()
	e.report.Resets++
	if e.gate == nil {
		return nil
	}
	return e.gate.Reset()
}

// CheckIdle reports what is left behind although nothing is going on.
func (e *Engine) CheckIdle() error {
	if e.Busy() {
		return errors.New("engine: not idle")
	}
	// What ended last is released by the next metadata.
	if _, err := e.schedule(); err != nil {
		return err
	}
	if e.writer != nil {
		if err := e.writer.Flush(context.Background()); err != nil {
			return err
		}
	}
	held, worker := e.store.Stats(), e.worker.Stats()
	leaks := []struct {
		what string
		n    int
	}{
		{"retained blocks", held.Retained}, {"retained hashes without a block", held.Pending}, {"open views", held.OpenViews},
		{"requests in the worker", worker.Requests}, {"steps in flight", worker.InFlight}, {"tails", worker.Tails},
		{"waiting blocks", worker.Waiting}, {"pool blocks", worker.PoolBlocks - worker.PoolFree},
		{"KV blocks", e.cfg.KVBlocks - 1 - e.cache.FreeBlocks()},
	}
	if e.gate != nil {
		leaks = append(leaks, struct {
			what string
			n    int
		}{"slots of the gate", e.cfg.Slots - e.gate.Room()})
	}
	for _, leak := range leaks {
		if leak.n != 0 {
			return fmt.Errorf("engine: %d %s are left behind", leak.n, leak.what)
		}
	}
	return nil
}
