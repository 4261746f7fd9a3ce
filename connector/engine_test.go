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
	window   int  // tokens of a second KV group's sliding window; 0 for no such group
	unit     int  // hash blocks of a KV block of that group
	eagle    bool
	check    connector.CheckLevel
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
	used             map[string]int // requests by id
	writers          []uint64       // by KV block of full attention: the admission that wrote it
	admissions       uint64
	served           int
	missing          int
	tooLarge         int
	refused          int

	watch     observer
	contents  map[blockhash.Hash]content // by key
	completed uint64                     // blocks of accepted rows that steps have completed
}

// observer looks at the engine from step to step.
type observer interface {
	begun()               // the worker has accepted the metadata in meta
	processed(run flight) // the worker has processed an output
}

// content is what a key stands for: the tokens of a block and those before, and who
// computed it.
type content struct {
	hash   blockhash.Hash
	tokens []uint32
	at     int // the first token of the block
	writer uint64
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

	number  uint64   // of its admission, among all
	writers []uint64 // by KV block of its table
	hit     int      // hash blocks that others wrote
	told    int      // hash blocks whose keys are in contents
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
	number   uint64
	real     *int
	start    int
	base     int // tokens that are no drafts
	drafts   int
	sampling bool
}

func newEngine(t require.TestingT, cfg engineConfig, pick choices) *engine {
	profile, err := routing.NewProfile(2, 2, 255)
	require.NoError(t, err)
	blockBytes, err := profile.BlockBytes(cfg.block)
	require.NoError(t, err)
	root, err := blockhash.DefaultRoot(blockhash.SHA256CBOR)
	require.NoError(t, err)
	e := &engine{t: t, cfg: cfg, pick: pick, profile: profile, root: root, used: map[string]int{}, contents: map[blockhash.Hash]content{}, writers: make([]uint64, cfg.kvBlocks)}
	groups := []prefixcache.Group{{Kind: prefixcache.FullAttention, BlockTokens: cfg.block * cfg.coarse}}
	if cfg.window > 0 {
		groups = append(groups, prefixcache.Group{Kind: prefixcache.SlidingWindow, BlockTokens: cfg.block * cfg.unit, Window: cfg.window})
	}
	e.cache, err = prefixcache.New(prefixcache.Config{Blocks: cfg.kvBlocks, HashTokens: cfg.block, Groups: groups, Eagle: cfg.eagle})
	require.NoError(t, err)
	e.store, err = store.New(store.Options{MaxBytes: int64(cfg.slots * blockBytes), BlockBytes: blockBytes, Verify: true})
	require.NoError(t, err)
	if cfg.writer {
		e.writer, err = store.NewWriter(e.store, 2*cfg.most)
		require.NoError(t, err)
	}
	e.worker, err = connector.NewWorker(e.store, connector.Options{Checked: checked,
		Mode: cfg.mode, Profile: profile, BlockTokens: cfg.block, Check: cfg.check,
		HashesPerKVBlock: e.cache.Config().SchedulerTokens / cfg.block,
		MaxSequences:     cfg.most, MaxStepTokens: cfg.budget, MaxInFlight: cfg.lag + 1, Writer: e.writer,
	})
	require.NoError(t, err)
	e.scheduler, err = connector.NewScheduler(connector.SchedulerOptions{Checked: checked, Mode: cfg.mode, KVBlocks: cfg.kvBlocks, HashesPerBlock: cfg.coarse})
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
}

func (s *sequence) request() connector.Request {
	return connector.Request{
		ID: s.id, Tokens: s.known, Outputs: s.known - s.prompt, PromptStart: s.start,
		Hashes: s.kv.Hashes, Registered: len(s.kv.Registered(0)), Blocks: s.kv.Table(0),
	}
}

// took accounts for the KV blocks that a request was given or had registered.
func (e *engine) took(s *sequence) {
	table := s.kv.Table(0)
	for _, block := range table[len(s.writers):] {
		s.writers = append(s.writers, s.number)
		e.writers[block] = s.number
	}
	require.NoError(e.t, e.scheduler.Extend(s.request()))
	hashes := s.kv.Registered(0)
	keys, err := e.scheduler.Keys(s.id, hashes)
	require.NoError(e.t, err)
	for ; s.told < len(keys); s.told++ {
		if s.told >= s.hit {
			e.contents[keys[s.told]] = content{hashes[s.told], s.tokens, s.told * e.cfg.block, s.number}
		}
	}
}

// wroteBy is the admission whose forward pass wrote the KV of a position.
func (e *engine) wroteBy(s *sequence, position int) uint64 {
	if position < s.hit*e.cfg.block {
		return s.writers[position/e.cfg.block/e.cfg.coarse]
	}
	return s.number
}

// leave ends the life of a running request: finish, abort or preemption.
func (e *engine) leave(s *sequence, back bool) {
	require.NoError(e.t, e.scheduler.Finish(s.request()))
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
	e.dropEvicted()
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
	r := run{s: s, life: s.life, number: s.number, real: s.real, start: s.kv.Computed()}
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
	if ok {
		e.took(s)
	}
	return ok
}

// reserve asks for room for the rows of what a request registers up to a position.
func (e *engine) reserve(s *sequence, end int) bool {
	gate := e.worker.Gate()
	if gate == nil {
		return true
	}
	keys, err := e.scheduler.Keys(s.id, s.kv.Hashes[:e.cache.RegisteredBy(&s.kv, end, 0)])
	require.NoError(e.t, err)
	ok, err := gate.Reserve(s.id, keys)
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
	limit, gate := prefixcache.NoLimit, e.worker.Gate()
	hit, blocks, err := e.cache.AppendHit(&s.kv, limit, 0, nil)
	require.NoError(e.t, err)
	if gate != nil {
		keys, err := e.scheduler.AppendHitKeys(nil, s.kv.Hashes, blocks)
		require.NoError(e.t, err)
		n, err := gate.Admit(s.id, keys)
		require.NoError(e.t, err)
		if n < len(keys) {
			limit = n * e.cfg.block
			hit, blocks, err = e.cache.AppendHit(&s.kv, limit, 0, nil)
			require.NoError(e.t, err)
		}
		require.NoError(e.t, gate.Shorten(s.id, hit/e.cfg.block))
	}
	defer func() {
		if !s.kv.Admitted() {
			require.NoError(e.t, e.scheduler.Finish(connector.Request{ID: s.id}))
			if gate != nil {
				require.NoError(e.t, gate.Drop(s.id))
			}
		}
	}()
	require.NoError(e.t, e.scheduler.Admit(connector.Admission{ID: s.id, Outputs: s.known - s.prompt, Hashes: s.kv.Hashes, Hit: blocks}))
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
	e.admissions++
	s.number, s.hit, s.told, s.writers = e.admissions, hit/e.cfg.block, 0, s.writers[:0]
	for _, block := range blocks {
		s.writers = append(s.writers, e.writers[block])
	}
	e.took(s)
	s.real = &hit
	return run{s: s, life: s.life, number: s.number, real: s.real, start: hit, base: base, sampling: hit+base == s.known}, true
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

// row is the row of a position: it depends on the weights, on who computes it, and on
// all tokens up to there. Behind the last token, where drafts are, it is noise.
func (e *engine) row(generation, writer uint64, tokens []uint32, position int) []byte {
	const prime = 1099511628211
	sum := uint64(14695981039346656037) ^ generation ^ writer<<20
	for p := 0; p <= position; p++ {
		token := uint32(0xffffffff)
		if p < len(tokens) {
			token = tokens[p]
		}
		sum = (sum ^ uint64(token)) * prime
	}
	sum ^= sum >> 29
	return legal(binary.LittleEndian.AppendUint64(nil, sum*prime)[4:8])
}

// legal makes the ids of a row those of different experts of 255: checks are for rows
// that are captured wrong.
func legal(row []byte) []byte {
	for i := range row {
		row[i] %= 255
		if i%2 == 1 && row[i] == row[i-1] {
			row[i] = (row[i] + 1) % 255
		}
	}
	return row
}

// evict takes the hashes from KV blocks.
func (e *engine) evict(blocks ...int32) {
	require.NoError(e.t, e.cache.EvictBlocks(blocks...))
	e.scheduler.Evicted(blocks...)
}

// dropEvicted drops the KV blocks whose rows are gone.
func (e *engine) dropEvicted() {
	keys := e.worker.DrainEvicted(nil)
	if e.cfg.mode == connector.Reference {
		for _, hash := range keys {
			e.cache.EvictHash(hash)
		}
		return
	}
	e.evict(e.scheduler.AppendBlocks(nil, keys...)...)
}
