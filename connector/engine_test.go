package connector_test

import (
	"encoding/binary"
	"errors"
	"slices"

	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/blockhash"
	"github.com/auxoutput/auxoutput/connector"
	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/prefixcache"
	"github.com/auxoutput/auxoutput/routing"
	"github.com/auxoutput/auxoutput/store"
)

// choices is where the engine of the tests gets its decisions from.
type choices interface {
	between(low, high int) int
}

type engineConfig struct {
	mode     connector.Mode
	block    int // tokens of a hash block
	coarse   int // hash blocks of a KV block
	kvBlocks int
	slots    int
	lag      int // steps that are scheduled ahead of the oldest output
	budget   int // tokens of a step
	most     int // running requests
	drafts   int
	writer   bool
	settles  bool // register a block as its last token arrives, and not when the request next runs
	stamped  bool // the last byte of a row says in which step it was computed
}

// engine is a small serving engine: a prefix cache, a scheduler with chunks,
// preemption, drafts and lag, and a model whose rows follow from the tokens.
type engine struct {
	t         require.TestingT
	cfg       engineConfig
	pick      choices
	profile   routing.Profile
	root      blockhash.Hash
	cache     *prefixcache.Cache
	store     *store.Store
	writer    *store.Writer
	worker    *connector.Worker
	scheduler *connector.Scheduler

	waiting, running []*sequence
	flights          []flight
	preempted        bool // since the last step: nobody is admitted in the next one
	meta             connector.Metadata
	out              connector.Output
	used             map[string]int                      // requests by id
	parts            map[blockhash.Hash][]blockhash.Hash // hash blocks of a KV block, by the hash of the last
	wholes           map[blockhash.Hash][]blockhash.Hash // KV blocks that a hash block is part of, by their last hashes
	served           int
	missing          int
	tooLarge         int
	refused          int

	watch     observer
	contents  map[blockhash.Hash]content
	completed uint64 // blocks of accepted rows that steps have completed
	settled   byte   // outputs processed so far, the last byte of the number
}

// observer looks at the engine from step to step.
type observer interface {
	begun()               // the worker has accepted the metadata in meta
	processed(run flight) // the worker has processed an output
}

// content is the tokens that a hash stands for: a block of them, and those before.
type content struct {
	tokens []uint32
	at     int // the first one of the block
}

// sequence is a request.
type sequence struct {
	id      string
	prompt  int
	start   int      // routed_experts_prompt_start
	tokens  []uint32 // all of them, the ones still to be sampled too
	known   int
	kv      prefixcache.Request
	chain   *blockhash.Chain
	emitted int  // rows taken so far end here
	real    *int // rows computed and accepted in this life
	life    int
	paused  bool
	landed  int // the last life whose first output was processed, counted from 1
	ended   bool
}

// flight is a step whose output is to come.
type flight struct {
	step       connector.Step
	generation uint64
	runs       []run
}

type run struct {
	s        *sequence
	life     int
	real     *int
	start    int
	base     int // tokens that are no drafts
	drafts   int
	sampling bool
}

func newEngine(t require.TestingT, cfg engineConfig, pick choices) *engine {
	profile, err := routing.NewProfile(2, 2, 256)
	require.NoError(t, err)
	blockBytes, err := profile.BlockBytes(cfg.block)
	require.NoError(t, err)
	root, err := blockhash.DefaultRoot(blockhash.SHA256CBOR)
	require.NoError(t, err)
	e := &engine{t: t, cfg: cfg, pick: pick, profile: profile, root: root, used: map[string]int{}, contents: map[blockhash.Hash]content{}, parts: map[blockhash.Hash][]blockhash.Hash{}, wholes: map[blockhash.Hash][]blockhash.Hash{}}
	e.cache, err = prefixcache.New(prefixcache.Config{
		Blocks: cfg.kvBlocks, HashTokens: cfg.block, Events: true,
		Groups: []prefixcache.Group{{Kind: prefixcache.FullAttention, BlockTokens: cfg.block * cfg.coarse}},
	})
	require.NoError(t, err)
	e.store, err = store.New(store.Options{MaxBytes: int64(cfg.slots * blockBytes), BlockBytes: blockBytes, Verify: true})
	require.NoError(t, err)
	if cfg.writer {
		e.writer, err = store.NewWriter(e.store, 2*cfg.most)
		require.NoError(t, err)
	}
	e.worker, err = connector.NewWorker(e.store, connector.Options{
		Mode: cfg.mode, Profile: profile, BlockTokens: cfg.block, HashesPerKVBlock: cfg.coarse,
		MaxSequences: cfg.most, MaxStepTokens: cfg.budget, MaxInFlight: cfg.lag + 1, Writer: e.writer,
	})
	require.NoError(t, err)
	e.scheduler, err = connector.NewScheduler(cfg.mode)
	require.NoError(t, err)
	return e
}

func (e *engine) close() {
	if e.writer != nil {
		require.NoError(e.t, e.writer.Close())
	}
	require.NoError(e.t, e.worker.Close())
	require.NoError(e.t, e.store.Close())
}

// add brings a request. Its id may be that of one that is gone.
func (e *engine) add(id string, tokens []uint32, prompt, start int) {
	chain, err := blockhash.NewChain(blockhash.SHA256CBOR, e.root, e.cfg.block, blockhash.Request{})
	require.NoError(e.t, err)
	s := &sequence{id: id, prompt: prompt, start: start, tokens: tokens, chain: chain, emitted: start}
	s.kv.Prompt = prompt
	e.know(s, prompt)
	e.used[id]++
	e.waiting = append(e.waiting, s)
}

func (e *engine) know(s *sequence, known int) {
	s.chain.Append(s.tokens[s.known:known]...)
	s.known = known
	s.kv.Tokens, s.kv.Hashes = known, s.chain.Hashes()
	for i, hash := range s.kv.Hashes {
		e.contents[hash] = content{s.tokens, i * e.cfg.block}
	}
	for part := range slices.Chunk(s.kv.Hashes, e.cfg.coarse) {
		last := part[len(part)-1]
		if len(part) < e.cfg.coarse || e.parts[last] != nil {
			continue
		}
		e.parts[last] = part
		for _, hash := range part {
			e.wholes[hash] = append(e.wholes[hash], last)
		}
	}
}

func (s *sequence) request() connector.Request {
	return connector.Request{
		ID: s.id, Tokens: s.known, Outputs: s.known - s.prompt, PromptStart: s.start,
		Hashes: s.kv.Hashes, Registered: len(s.kv.Registered(0)),
	}
}

// leave ends the life of a running request: finish, abort or preemption.
func (e *engine) leave(s *sequence, back bool) {
	require.NoError(e.t, e.scheduler.Finish(s.id, s.kv.Hashes, len(s.kv.Registered(0))))
	if back {
		require.NoError(e.t, e.cache.Preempt(&s.kv))
	} else {
		require.NoError(e.t, e.cache.Free(&s.kv))
		s.ended = true
	}
	s.life++
	e.running = slices.DeleteFunc(e.running, func(r *sequence) bool { return r == s })
	if back {
		e.waiting = slices.Insert(e.waiting, 0, s)
	}
}

// schedule decides on a step, and begins it.
func (e *engine) schedule() {
	for _, hash := range e.worker.DrainEvicted(nil) {
		e.cache.EvictHash(hash)
	}
	budget := e.cfg.budget
	var runs []run
	preempted := e.preempted
	e.preempted = false
	for i := 0; i < len(e.running) && budget > 0; i++ {
		s := e.running[i]
		if e.pauses(s) {
			continue
		}
		r := e.next(s, budget)
		if r.base+r.drafts == 0 {
			continue
		}
		if !e.reserve(s, r.start+r.base+r.drafts) {
			if s.ended {
				i--
				continue
			}
			// Room comes back only when what is preempted has ended for the worker.
			if last := e.running[len(e.running)-1]; last != s {
				e.leave(last, true)
			}
			preempted = true
			break
		}
		for s.kv.Admitted() && !e.allocate(s, r) {
			if r.drafts > 0 {
				r.drafts = 0
				continue
			}
			preempted = true
			e.leave(e.running[len(e.running)-1], true)
		}
		if !s.kv.Admitted() {
			break
		}
		runs = append(runs, r)
		budget -= r.base + r.drafts
	}
	for !preempted && len(e.waiting) > 0 && len(e.running) < e.cfg.most && budget > 0 {
		s := e.waiting[0]
		r, ok := e.admit(s, budget)
		if s.ended {
			continue
		}
		if !ok {
			break
		}
		e.running, e.waiting = append(e.running, s), e.waiting[1:]
		runs = append(runs, r)
		budget -= r.base
	}
	e.begin(runs)
}

// pauses reports whether a request sits a step out, though there is something to do
// for it. It does not do so twice in a row.
func (e *engine) pauses(s *sequence) bool {
	s.paused = e.cfg.settles && !s.paused && e.pick.between(0, 4) == 4
	return s.paused
}

// next is what a running request does in a step.
func (e *engine) next(s *sequence, budget int) run {
	r := run{s: s, life: s.life, real: s.real, start: s.kv.Computed()}
	left := s.known - s.kv.Computed()
	switch {
	case left > 0:
		r.base = min(left, e.pick.between(1, budget))
		r.sampling = r.base == left
	case len(e.flights) > 0 && s.known < len(s.tokens): // the token that is being sampled
		r.base, r.sampling = 1, true
	default:
		return run{}
	}
	if r.sampling && s.known > s.prompt {
		r.drafts = min(e.pick.between(0, e.cfg.drafts), budget-r.base)
	}
	return r
}

// allocate gives a running request its KV blocks.
func (e *engine) allocate(s *sequence, r run) bool {
	known := max(0, min(r.base, s.known-s.kv.Computed()))
	ok, err := e.cache.Allocate(&s.kv, known, r.base-known+r.drafts)
	require.NoError(e.t, err)
	return ok
}

// reserve asks for room for the rows of what a request registers up to a position.
func (e *engine) reserve(s *sequence, end int) bool {
	gate := e.worker.Gate()
	if gate == nil {
		return true
	}
	ok, err := gate.Reserve(s.id, s.kv.Hashes[:min(end/e.cfg.block, len(s.kv.Hashes))])
	if errors.Is(err, auxerrors.ErrCannotFit) {
		e.tooLarge++
		e.give(s)
		return false
	}
	require.NoError(e.t, err)
	return ok
}

// give gives a request up.
func (e *engine) give(s *sequence) {
	if s.kv.Admitted() {
		e.leave(s, false)
		return
	}
	s.ended = true
	e.waiting = slices.DeleteFunc(e.waiting, func(w *sequence) bool { return w == s })
}

// admit brings a waiting request in, or leaves everything as it is.
func (e *engine) admit(s *sequence, budget int) (run, bool) {
	hit, err := e.cache.Lookup(&s.kv, prefixcache.NoLimit)
	require.NoError(e.t, err)
	limit, gate := prefixcache.NoLimit, e.worker.Gate()
	if gate != nil {
		n, err := gate.Admit(s.id, s.kv.Hashes[:hit/e.cfg.block])
		require.NoError(e.t, err)
		limit = n * e.cfg.block
		hit, err = e.cache.Lookup(&s.kv, limit)
		require.NoError(e.t, err)
		defer func() {
			if !s.kv.Admitted() {
				require.NoError(e.t, gate.Drop(s.id))
			}
		}()
	}
	base := min(s.known-hit, e.pick.between(1, budget))
	if !e.reserve(s, hit+base) {
		return run{}, false
	}
	got, ok, err := e.cache.Admit(&s.kv, limit, base)
	require.NoError(e.t, err)
	if !ok {
		return run{}, false
	}
	require.Equal(e.t, hit, got)
	s.real = &hit
	return run{s: s, life: s.life, real: s.real, start: hit, base: base, sampling: hit+base == s.known}, true
}

// begin sends the metadata of a step.
func (e *engine) begin(runs []run) {
	var scheduled, others []connector.Request
	in := map[*sequence]bool{}
	for _, r := range runs {
		scheduled = append(scheduled, r.s.request())
		in[r.s] = true
	}
	for _, s := range e.running {
		if !in[s] {
			others = append(others, s.request())
		}
	}
	if e.cfg.mode == connector.Linked {
		e.removed()
	}
	require.NoError(e.t, e.scheduler.Build(&e.meta, scheduled, others))
	step, err := e.worker.Begin(&e.meta)
	require.NoError(e.t, err)
	if e.watch != nil {
		e.watch.begun()
	}
	if len(runs) > 0 || len(e.flights) > 0 {
		e.flights = append(e.flights, flight{step, e.scheduler.Generation(), runs})
	}
}

// turn schedules a step and processes the output whose turn it is.
func (e *engine) turn() {
	e.schedule()
	for len(e.flights) > e.cfg.lag {
		e.settle()
	}
}

func (e *engine) shuffled(n int) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	for i := n - 1; i > 0; i-- {
		j := e.pick.between(0, i)
		order[i], order[j] = order[j], order[i]
	}
	return order
}

// row is the row of a position: it depends on the weights and on all tokens up to
// there. Behind the last token, where drafts are, it is noise.
func (e *engine) row(generation uint64, tokens []uint32, position int) []byte {
	const prime = 1099511628211
	sum := uint64(14695981039346656037) ^ generation
	for p := 0; p <= position; p++ {
		token := uint32(0xffffffff)
		if p < len(tokens) {
			token = tokens[p]
		}
		sum = (sum ^ uint64(token)) * prime
	}
	sum ^= sum >> 29
	return binary.LittleEndian.AppendUint64(nil, sum*prime)[4:8]
}

// evict takes the hashes from a KV block.
func (e *engine) evict(block int32) {
	e.cache.DrainEvents(nil)
	require.NoError(e.t, e.cache.EvictBlocks(block))
	e.removed()
}

// removed tells of the hashes that the KV cache lost: those of a KV block that are
// in no other one.
func (e *engine) removed() {
	for _, event := range e.cache.DrainEvents(nil) {
		if event.Kind != prefixcache.Removed {
			continue
		}
		for _, last := range event.Hashes {
			for _, hash := range e.parts[last] {
				if !slices.ContainsFunc(e.wholes[hash], func(whole blockhash.Hash) bool { return e.cache.Contains(whole, 0) }) {
					e.scheduler.Remove(hash)
				}
			}
		}
	}
}
