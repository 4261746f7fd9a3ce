package connector

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/auxoutput/auxoutput/blockhash"
	"github.com/auxoutput/auxoutput/connector/guard"
	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/store"
)

// Request is what the scheduler half has to know about a request that has KV blocks.
type Request struct {
	ID      string
	Tokens  int // known tokens: the prompt and everything sampled
	Outputs int // of those, the sampled ones

	// PromptStart is routed_experts_prompt_start: rows of positions before it are
	// not wanted. 0 <= PromptStart <= prompt tokens.
	PromptStart int

	// Hashes of the full hash blocks of the known tokens, in prefix order.
	Hashes []blockhash.Hash

	// Registered is how many leading hashes the KV cache has filed for this
	// request in the full-attention group: hit at its admission, or registered as
	// its blocks were scheduled (prefixcache.Request.Registered). It may not fall
	// during a life. Reference mode does not look at it.
	Registered int

	// Blocks are the request's KV blocks in the full-attention group, in token
	// order (prefixcache.Request.Table): at least those of the registered hashes.
	// Reference mode does not look at them.
	Blocks []int32
}

// SchedulerOptions describe a scheduler half. Checked is required, and KVBlocks in every
// mode but Reference.
type SchedulerOptions struct {
	// Checked is the engine's set-up, as guard.Check let it pass.
	Checked guard.Checked

	Mode Mode

	// KVBlocks is the size of the KV pool, the null block included: ids of KV
	// blocks are below it.
	KVBlocks int

	// HashesPerBlock is how many hash blocks a KV block of the full-attention group
	// has. 0 means 1.
	HashesPerBlock int

	// Offload says that the engine keeps KV beyond the pool and loads it back. Then
	// [Scheduler.AppendLost] has to be called before each step.
	Offload bool

	// Slots of the store. A request whose known tokens alone fill more of them is
	// refused at its admission. 0 leaves that to the store and the gate.
	Slots int
}

// Scheduler is the half of the connector that lives beside the engine's
// scheduler. It sees no rows; per step it tells the worker half what is new. Make
// one with [NewScheduler]. It is not safe for concurrent use, just as the engine's
// scheduler is one thread.
//
// It numbers admissions and remembers which of them filed each KV block, because
// rows belong to a computation: a request that hits a block gets the rows that were
// captured as the KV in it was written, a request that computes a block its own. So
// it has to hear of every change in order: [Scheduler.Admit] before the KV cache
// admits a request, [Scheduler.Extend] as soon as the KV cache has given it blocks or
// registered some, before the next lookup, [Scheduler.Finish] before its blocks are
// freed, and [Scheduler.Evicted] when blocks lose their hashes in another way than by
// being reused.
type Scheduler struct {
	everything bool // Reference: send all known hashes, as they are
	gated      bool
	linked     bool
	offload    bool
	slots      int
	generation uint64
	ledger     ledger

	known      map[string]*sent
	admissions uint64
	begun      uint64 // lives whose first step was built
	builds     uint64
	ended      []ending
	late       []blockhash.Hash // of those that ended
	removed    []blockhash.Hash
	lost       []KVBlock

	spare []*sent
	fresh []*sent  // lives that begin in the metadata being built
	grown []growth // of the requests that are not scheduled
}

// sent is a life: a request from its admission to its end.
type sent struct {
	id        string
	admission uint64
	keys      []blockhash.Hash // of leading hash blocks, as far as they were asked for
	hit       int              // leading hash blocks that other admissions computed
	held      int              // leading KV blocks that are known to be its own
	filed     int              // leading KV blocks that the ledger knows
	hashes    int              // keys sent to the worker
	order     uint64           // lives in the order of their first steps; 0 before that
	build     uint64           // the last metadata that was built with it
	extended  bool             // the KV cache has admitted it
}

// ending is a terminal event that was not handed over yet.
type ending struct {
	id       string
	from, to int // its late keys
	neverRan bool
}

// growth is new keys of a request that is not scheduled.
type growth struct {
	life *sent
	keys []blockhash.Hash
}

// NewScheduler makes a scheduler half that knows no request, in generation 0. A set-up
// that was not checked is guard.ErrNotChecked, one with capture off
// guard.ErrCaptureOff. A mode that is none, sizes below 0, a pool without a block to use,
// and one of more than store.MaxSlots hash blocks are an errors.ConfigError.
func NewScheduler(o SchedulerOptions) (*Scheduler, error) {
	if err := o.Checked.Ready(); err != nil {
		return nil, err
	}
	switch {
	case o.Mode > Reference:
		return nil, &auxerrors.ConfigError{Field: "mode", Value: o.Mode, Want: "one of the modes", Reason: auxerrors.ErrOutOfRange}
	case o.Slots < 0:
		return nil, &auxerrors.ConfigError{Field: "slots", Value: o.Slots, Want: "at least 1, or 0 for no check", Reason: auxerrors.ErrTooSmall}
	case o.Mode == Reference:
		return &Scheduler{everything: true, known: make(map[string]*sent)}, nil
	case o.KVBlocks < 2:
		return nil, &auxerrors.ConfigError{Field: "KV blocks", Value: o.KVBlocks, Want: "at least 2: the null block and one to use", Reason: auxerrors.ErrTooSmall}
	case o.HashesPerBlock < 0:
		return nil, &auxerrors.ConfigError{Field: "hashes per block", Value: o.HashesPerBlock, Want: "at least 1", Reason: auxerrors.ErrTooSmall}
	}
	ratio := max(o.HashesPerBlock, 1)
	if o.KVBlocks > store.MaxSlots/ratio {
		return nil, &auxerrors.ConfigError{Field: "KV blocks", Value: o.KVBlocks, Want: fmt.Sprintf("at most %d hash blocks", store.MaxSlots), Reason: auxerrors.ErrTooLarge}
	}
	return &Scheduler{
		gated: o.Mode.gated(), linked: o.Mode == Linked, offload: o.Offload, slots: o.Slots,
		ledger: newLedger(o.KVBlocks, ratio), known: make(map[string]*sent),
	}, nil
}

// Generation is the number of resets so far.
func (s *Scheduler) Generation() uint64 { return s.generation }

// Build writes the metadata of the next step into meta: the scheduled requests,
// in order; of others, the requests that are live and not scheduled, those that
// have new keys; everything that finished and was removed since the last call.
// Each key is sent once per life and generation. What is new of a request is taken
// over as [Scheduler.Extend] does it.
//
// A request listed twice is ErrDuplicateRequest, counts that contradict each
// other are ErrRequestCounts, fewer hashes than were sent already are
// ErrHashesShrank, one that was not admitted is ErrUnknownRequest, KV blocks that
// cannot be its own are ErrKVBlock. Nothing has changed then but meta, which is
// empty.
func (s *Scheduler) Build(meta *Metadata, scheduled, others []Request) error {
	meta.Reset()
	s.builds++
	if err := s.survey(scheduled, others); err != nil {
		for _, life := range s.fresh {
			s.forget(life)
		}
		s.fresh = s.fresh[:0]
		return err
	}
	meta.Generation = s.generation
	meta.Removed = append(meta.Removed, s.removed...)
	for i := range scheduled {
		r := &scheduled[i]
		life := s.known[r.ID]
		entry := Scheduled{ID: r.ID, New: life.order == 0, EmitStart: r.emitStart()}
		if entry.New {
			s.begun++
			life.order = s.begun
			entry.Hit = life.hit
			entry.New = !s.everything || !s.hasEnded(r.ID)
		}
		entry.Keys = meta.add(s.extend(life, r)[life.hashes:])
		life.hashes += len(entry.Keys)
		meta.Scheduled = append(meta.Scheduled, entry)
	}
	s.grown = s.grown[:0]
	for i := range others {
		if life := s.known[others[i].ID]; life != nil && life.order > 0 {
			if keys := s.extend(life, &others[i]); len(keys) > life.hashes {
				s.grown = append(s.grown, growth{life, keys[life.hashes:]})
			}
		}
	}
	slices.SortFunc(s.grown, func(a, b growth) int { return cmp.Compare(a.life.order, b.life.order) })
	for _, g := range s.grown {
		meta.Updates = append(meta.Updates, Update{ID: g.life.id, Keys: meta.add(g.keys)})
		g.life.hashes += len(g.keys)
	}
	s.grown = clearAll(s.grown)
	for _, e := range s.ended {
		meta.Finished = append(meta.Finished, Update{e.id, meta.add(s.late[e.from:e.to]), e.neverRan})
	}
	s.handedOver()
	return nil
}

// survey checks all requests and, in Reference mode, makes a state for those whose
// life begins.
func (s *Scheduler) survey(scheduled, others []Request) error {
	s.fresh = s.fresh[:0]
	for i := range scheduled {
		r := &scheduled[i]
		if err := r.check(); err != nil {
			return err
		}
		life := s.known[r.ID]
		if life == nil {
			if !s.everything {
				return refuse("build", r.ID, ErrUnknownRequest, "it is scheduled and was not admitted")
			}
			life = s.begin(r.ID)
			s.fresh = append(s.fresh, life)
		}
		if err := s.visit(life, r); err != nil {
			return err
		}
	}
	for i := range others {
		r := &others[i]
		life := s.known[r.ID]
		if life == nil || life.order == 0 {
			continue // it has not run yet
		}
		if err := s.visit(life, r); err != nil {
			return err
		}
	}
	return nil
}

// visit checks a request against what is known of its life, once for each metadata.
func (s *Scheduler) visit(life *sent, r *Request) error {
	if life.build == s.builds {
		return refuse("build", r.ID, ErrDuplicateRequest, "listed twice")
	}
	life.build = s.builds
	return s.validate("build", life, r)
}

// count is how many leading hash blocks the worker is to know.
func (s *Scheduler) count(r *Request) int {
	if s.everything {
		return len(r.Hashes)
	}
	return r.Registered
}

// check holds the counts of a request against each other.
func (r *Request) check() error {
	if r.Outputs < 0 || r.Outputs > r.Tokens || r.PromptStart < 0 || r.PromptStart > r.Tokens-r.Outputs {
		return refuse("build", r.ID, ErrRequestCounts, "%d tokens, %d of them sampled, prompt start %d; want 0 <= sampled <= tokens, 0 <= prompt start <= prompt tokens", r.Tokens, r.Outputs, r.PromptStart)
	}
	return nil
}

// emitStart is the first position whose row has not been handed out and is wanted.
func (r *Request) emitStart() int {
	if r.Outputs == 0 {
		return r.PromptStart
	}
	return max(r.PromptStart, r.Tokens-1)
}

// Finish tells that a request has ended: finish, abort and preemption alike. It
// is called in the order in which the KV blocks are freed, before they are. A request
// that has ended already is ignored.
//
// A request that was admitted and is in no metadata yet is forgotten, whatever else r
// says. If the KV cache has registered blocks for it, nobody will compute them: take
// their hashes from the KV cache, and call [Scheduler.Evicted].
//
// Fewer hashes than were sent are ErrHashesShrank, an impossible number of
// registered ones is ErrRequestCounts, KV blocks that cannot be its own are
// ErrKVBlock; the request has ended all the same.
func (s *Scheduler) Finish(r Request) error {
	life := s.known[r.ID]
	if life == nil {
		return nil
	}
	defer s.forget(life)
	event := ending{id: r.ID, from: len(s.late), to: len(s.late)}
	if life.order == 0 {
		if life.extended && life.hit > 0 && !s.gated { // a gate has its own retains of the hit
			s.late = append(s.late, life.keys[:life.hit]...)
			event.to, event.neverRan = len(s.late), true
			s.ended = append(s.ended, event)
		}
		return nil
	}
	fault := s.validate("finish", life, &r)
	if fault == nil {
		s.late = append(s.late, s.extend(life, &r)[life.hashes:]...)
		event.to = len(s.late)
	}
	s.ended = append(s.ended, event)
	return fault
}

// Reset starts a new generation after a successful reset of the prefix cache.
// Events that were not sent are dropped, every request has to be admitted again.
func (s *Scheduler) Reset() {
	s.generation++
	for _, life := range s.known {
		s.spare = append(s.spare, life)
	}
	clear(s.known)
	s.ledger.reset()
	s.lost = clearAll(s.lost)
	s.handedOver()
}

func (s *Scheduler) handedOver() {
	s.ended, s.late, s.removed = clearAll(s.ended), s.late[:0], s.removed[:0]
}

func (s *Scheduler) hasEnded(id string) bool {
	return slices.ContainsFunc(s.ended, func(e ending) bool { return e.id == id && !e.neverRan })
}

// begin makes the state of a life.
func (s *Scheduler) begin(id string) *sent {
	var life *sent
	if last := len(s.spare) - 1; last >= 0 {
		life, s.spare = s.spare[last], s.spare[:last]
	} else {
		life = new(sent)
	}
	s.admissions++
	*life = sent{id: id, admission: s.admissions, keys: life.keys[:0]}
	s.known[id] = life
	return life
}

func (s *Scheduler) forget(life *sent) {
	delete(s.known, life.id)
	s.spare = append(s.spare, life)
}
