package connector

import (
	"cmp"
	"slices"

	"github.com/auxoutput/auxoutput/blockhash"
	auxerrors "github.com/auxoutput/auxoutput/errors"
)

// Request is what the scheduler half has to know about a request of a step.
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
	// request: hit at its admission, or registered as its blocks were scheduled
	// (prefixcache.Request.Registered). It may not fall during a life. Reference
	// mode does not look at it.
	Registered int
}

// Scheduler is the half of the connector that lives beside the engine's
// scheduler. It sees no rows; per step it tells the worker half what is new. Make
// one with [NewScheduler]. It is not safe for concurrent use, just as the engine's
// scheduler is one thread.
type Scheduler struct {
	everything bool // send all known hashes, registered or not
	generation uint64

	known   map[string]*sent
	lives   uint64 // lives that began so far
	builds  uint64
	ended   []ending
	late    []blockhash.Hash // of those that ended
	removed []blockhash.Hash

	spare []*sent
	fresh []*sent  // lives that begin in the metadata being built
	grown []growth // of the requests that are not scheduled
}

// sent is what the worker half has been told about a life.
type sent struct {
	id     string
	hashes int
	life   uint64 // lives in the order of their first steps
	build  uint64 // the last metadata that was built with it
}

// ending is a terminal event that was not handed over yet.
type ending struct {
	id       string
	from, to int // its late hashes
}

// growth is new hashes of a request that is not scheduled.
type growth struct {
	life   *sent
	hashes []blockhash.Hash
}

// NewScheduler makes a scheduler half that knows no request, in generation 0. A
// mode that is none is an errors.ConfigError.
func NewScheduler(mode Mode) (*Scheduler, error) {
	if mode > Reference {
		return nil, &auxerrors.ConfigError{Field: "mode", Value: mode, Want: "one of the modes", Reason: auxerrors.ErrOutOfRange}
	}
	return &Scheduler{everything: mode == Reference, known: make(map[string]*sent)}, nil
}

// Generation is the number of resets so far.
func (s *Scheduler) Generation() uint64 { return s.generation }

// Build writes the metadata of the next step into meta: the scheduled requests,
// in order; of others, the requests that are live and not scheduled, those that
// have new hashes; everything that finished and was removed since the last call.
// Each hash is sent once per life and generation.
//
// A request listed twice is ErrDuplicateRequest, counts that contradict each
// other are ErrRequestCounts, fewer hashes than were sent already are
// ErrHashesShrank. Nothing has changed then but meta, which is empty.
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
		entry := Scheduled{ID: r.ID, New: life.life == 0, EmitStart: r.emitStart()}
		if entry.New {
			s.lives++
			life.life = s.lives
			entry.New = !s.everything || !s.hasEnded(r.ID)
		}
		count := s.count(r)
		entry.Hashes = meta.add(r.Hashes[life.hashes:count])
		life.hashes = count
		meta.Scheduled = append(meta.Scheduled, entry)
	}
	slices.SortFunc(s.grown, func(a, b growth) int { return cmp.Compare(a.life.life, b.life.life) })
	for _, g := range s.grown {
		meta.Updates = append(meta.Updates, Update{g.life.id, meta.add(g.hashes)})
		g.life.hashes += len(g.hashes)
	}
	for _, e := range s.ended {
		meta.Finished = append(meta.Finished, Update{e.id, meta.add(s.late[e.from:e.to])})
	}
	s.handedOver()
	return nil
}

// survey checks all requests, makes a state for those whose life begins and finds
// those that have new hashes without being scheduled.
func (s *Scheduler) survey(scheduled, others []Request) error {
	s.fresh, s.grown = s.fresh[:0], clearAll(s.grown)
	for i := range scheduled {
		r := &scheduled[i]
		if err := r.check(); err != nil {
			return err
		}
		life := s.known[r.ID]
		if life == nil {
			life = s.begin(r.ID)
		}
		if err := s.visit(life, r); err != nil {
			return err
		}
	}
	for i := range others {
		r := &others[i]
		life := s.known[r.ID]
		if life == nil {
			continue // it has not run yet
		}
		if err := s.visit(life, r); err != nil {
			return err
		}
		if count := s.count(r); count > life.hashes {
			s.grown = append(s.grown, growth{life, r.Hashes[life.hashes:count]})
		}
	}
	return nil
}

// visit checks a request against what was sent about its life.
func (s *Scheduler) visit(life *sent, r *Request) error {
	if r.Registered < 0 || r.Registered > len(r.Hashes) {
		return refuse("build", r.ID, ErrRequestCounts, "%d of %d hashes registered", r.Registered, len(r.Hashes))
	}
	if life.build == s.builds {
		return refuse("build", r.ID, ErrDuplicateRequest, "listed twice")
	}
	life.build = s.builds
	if count := s.count(r); count < life.hashes {
		return refuse("build", r.ID, ErrHashesShrank, "%d hashes, %d were sent", count, life.hashes)
	}
	return nil
}

// count is how many leading hashes the worker is to know.
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
// is called in the order in which the KV blocks are freed, before they are.
// hashes and registered are as in [Request]. A request that was never scheduled,
// or has ended already, is ignored.
//
// Fewer hashes than were sent are ErrHashesShrank, an impossible number of
// registered ones is ErrRequestCounts; the request has ended all the same.
func (s *Scheduler) Finish(id string, hashes []blockhash.Hash, registered int) error {
	life := s.known[id]
	if life == nil {
		return nil
	}
	event := ending{id: id, from: len(s.late), to: len(s.late)}
	r := Request{ID: id, Hashes: hashes, Registered: registered}
	var fault error
	switch count := s.count(&r); {
	case registered < 0 || registered > len(hashes):
		fault = refuse("finish", id, ErrRequestCounts, "%d of %d hashes registered", registered, len(hashes))
	case count < life.hashes:
		fault = refuse("finish", id, ErrHashesShrank, "%d hashes, %d were sent", count, life.hashes)
	default:
		s.late = append(s.late, hashes[life.hashes:count]...)
		event.to = len(s.late)
	}
	s.ended = append(s.ended, event)
	s.forget(life)
	return fault
}

// Remove tells that the KV cache has lost hashes in another way than by reusing
// the oldest free block: evict_blocks (prefixcache.Cache.EvictBlocks, EvictHash).
// In Linked mode it is called for every hash that the KV cache no longer has. A
// hash that a scheduled request of the same step registers again lives on.
func (s *Scheduler) Remove(hashes ...blockhash.Hash) { s.removed = append(s.removed, hashes...) }

// Reset starts a new generation after a successful reset of the prefix cache.
// Events that were not sent are dropped, all hashes will be sent again.
func (s *Scheduler) Reset() {
	s.generation++
	for _, life := range s.known {
		s.spare = append(s.spare, life)
	}
	clear(s.known)
	s.handedOver()
}

func (s *Scheduler) handedOver() {
	s.ended, s.late, s.removed = clearAll(s.ended), s.late[:0], s.removed[:0]
}

func (s *Scheduler) hasEnded(id string) bool {
	return slices.ContainsFunc(s.ended, func(e ending) bool { return e.id == id })
}

// begin makes the state of a life.
func (s *Scheduler) begin(id string) *sent {
	var life *sent
	if last := len(s.spare) - 1; last >= 0 {
		life, s.spare = s.spare[last], s.spare[:last]
	} else {
		life = new(sent)
	}
	*life = sent{id: id}
	s.known[id] = life
	s.fresh = append(s.fresh, life)
	return life
}

func (s *Scheduler) forget(life *sent) {
	delete(s.known, life.id)
	s.spare = append(s.spare, life)
}
