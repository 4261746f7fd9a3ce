package engine

import (
	"errors"
	"fmt"
	"slices"

	"github.com/auxoutput/auxoutput/connector"
	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/prefixcache"
)

// schedule puts a step together: running sequences first, in the order in which
// they were admitted, then waiting ones. If the pool has no block left for a
// running sequence the newest one is preempted, and nothing is admitted in that
// step. The step is announced to both halves of the connector.
func (e *Engine) schedule() (*plan, error) {
	p := &plan{generation: e.scheduler.Generation()}
	budget := e.cfg.BatchTokens
	preempted := false
	for i := 0; i < len(e.running) && budget > 0; i++ {
		s := e.running[i]
		it, ok := e.size(s, budget)
		if !ok {
			continue
		}
		for {
			ok, room, err := e.extend(s, it)
			if errors.Is(err, auxerrors.ErrCannotFit) || errors.Is(err, ErrNoRoom) {
				// It can never go on: it alone fills the pool, or the store.
				e.reject(s, err)
				if err := e.end(s); err != nil {
					return nil, err
				}
				it.n = 0
				i--
				break
			}
			if err != nil {
				return nil, err
			}
			if ok {
				break
			}
			last := e.running[len(e.running)-1]
			if !room && (preempted || last == s) {
				// What a preempted sequence held in the store is free once the
				// next step has begun; the newest one can wait for that.
				it.n = 0
				break
			}
			preempted = true
			if err := e.preempt(last); err != nil {
				return nil, err
			}
			if last == s {
				it.n = 0
				break
			}
		}
		if it.n > 0 {
			budget -= it.n
			p.items = append(p.items, it)
		}
	}
	if !preempted {
		if err := e.admit(p, budget); err != nil {
			return nil, err
		}
	}
	if e.rng.IntN(4) == 0 {
		e.rng.Shuffle(len(p.items), func(i, j int) { p.items[i], p.items[j] = p.items[j], p.items[i] })
	}
	return p, e.announce(p)
}

// size decides how many tokens of a running sequence a step takes.
func (e *Engine) size(s *sequence, budget int) (item, bool) {
	wants := s.wants()
	if wants <= 0 {
		return item{}, false
	}
	it := item{s: s, life: s.life, start: s.kv.Computed(), n: min(wants, budget, e.chunk())}
	if it.n == wants {
		it.samples = s.outputs()+s.placeholders < s.most()
		room := min(budget-it.n, s.most()-s.outputs()-s.placeholders-1)
		if it.samples && s.outputs()+s.placeholders > 0 && e.cfg.Drafts > 0 && room > 0 {
			it.drafts = e.rng.IntN(min(room, e.cfg.Drafts) + 1)
			it.n += it.drafts
		}
	}
	return it, true
}

// chunk is the most tokens of one sequence in a step.
func (e *Engine) chunk() int {
	if e.cfg.ChunkTokens > 0 {
		return e.cfg.ChunkTokens
	}
	return e.cfg.BatchTokens
}

// extend gives a running sequence the KV blocks of an item. room is false if it is
// the store that has none.
func (e *Engine) extend(s *sequence, it item) (ok, room bool, err error) {
	end := it.start + it.n
	if ok, err := e.reserve(s, end); !ok || err != nil {
		return false, false, err
	}
	tokens := min(it.n, max(0, len(s.known)-it.start))
	ok, err = e.cache.Allocate(&s.kv, tokens, it.n-tokens)
	if err == nil && !ok && len(e.running) == 1 {
		return false, true, fmt.Errorf("%w: %d tokens fill the KV cache", ErrNoRoom, len(s.known))
	}
	if ok && it.samples {
		s.placeholders += 1 + it.drafts
	}
	return ok, true, err
}

// reserve asks the store for room for the hashes that the KV cache will have
// registered once the positions before end are scheduled.
func (e *Engine) reserve(s *sequence, end int) (bool, error) {
	if e.gate == nil {
		return true, nil
	}
	return e.gate.Reserve(s.job.ID, s.kv.Hashes[:e.registeredBy(s, end)])
}

// registeredBy is the number of leading hashes in KV blocks that are full before
// end.
func (e *Engine) registeredBy(s *sequence, end int) int {
	return min(end, len(s.kv.Hashes)*e.cfg.HashTokens) / e.cfg.KVTokens * e.ratio()
}

// ratio is the number of hash blocks of a KV block.
func (e *Engine) ratio() int { return e.cfg.KVTokens / e.cfg.HashTokens }

// admit takes waiting sequences in as long as there is room.
func (e *Engine) admit(p *plan, budget int) error {
	for len(e.waiting) > 0 && len(e.running) < e.cfg.Requests && budget > 0 {
		s := e.waiting[0]
		if s.job.Arrival > e.step || e.busy(s) {
			return nil
		}
		it, ok, err := e.start(s, budget)
		if err != nil {
			return err
		}
		if s.state == ended {
			continue // it can never be served
		}
		if !ok {
			return nil
		}
		budget -= it.n
		p.items = append(p.items, it)
	}
	return nil
}

// busy reports whether an earlier job with the same id is still on its way.
func (e *Engine) busy(s *sequence) bool {
	return slices.ContainsFunc(e.running, func(r *sequence) bool { return r.job.ID == s.job.ID })
}

// start admits a waiting sequence: what the pool and the offload tier have of it
// is its hit, as far as the gate lets it pass.
func (e *Engine) start(s *sequence, budget int) (it item, ok bool, err error) {
	hit, err := e.cache.Lookup(&s.kv, prefixcache.NoLimit)
	if err != nil {
		return it, false, err
	}
	loaded := e.offload.extension(e, s, hit)
	usable := hit + loaded
	found := usable
	if e.gate != nil {
		n, err := e.gate.Admit(s.job.ID, s.kv.Hashes[:usable/e.cfg.HashTokens])
		if err != nil {
			return it, false, err
		}
		usable = min(usable, n*e.cfg.HashTokens)
		usable -= usable % e.cfg.KVTokens
		if usable < hit {
			// A window group may end the hit earlier still.
			if hit, err = e.cache.Lookup(&s.kv, usable); err != nil {
				return it, false, err
			}
			usable = hit
		}
		loaded = usable - hit
	}
	wants := len(s.known) - usable
	it = item{s: s, first: true, start: usable, n: min(wants, budget, e.chunk())}
	it.samples = it.n == wants
	if ok, err = e.reserve(s, usable+it.n); !ok || err != nil {
		return it, false, e.giveUp(s, err)
	}
	got, ok, err := e.cache.Admit(&s.kv, hit, loaded+it.n)
	if err != nil {
		return it, false, err
	}
	if !ok {
		return it, false, e.giveUp(s, nil)
	}
	if got != hit {
		return it, false, fmt.Errorf("engine: a hit of %d tokens became one of %d", hit, got)
	}
	s.life++
	it.life = s.life
	s.state, s.placeholders = running, 0
	if it.samples {
		s.placeholders = 1
	}
	e.waiting = e.waiting[1:]
	e.running = append(e.running, s)
	e.countAdmission(s, usable, found)
	return it, true, nil
}

// ErrNoRoom ends a job that is too large for the KV cache, or for what the store
// leaves to it.
var ErrNoRoom = errors.New("engine: the request is too large")

// patience is how many steps in a row nothing may be in the engine before a
// sequence that finds no room is taken for too large. It is more than it takes
// for what has ended to be released.
const patience = 3

// giveUp handles an admission that did not work out. A sequence for which there
// is no room even when it is alone is rejected.
func (e *Engine) giveUp(s *sequence, err error) error {
	switch {
	case errors.Is(err, auxerrors.ErrCannotFit):
		return e.turnAway(s, err)
	case err != nil:
		return err
	case e.idle > patience:
		return e.turnAway(s, fmt.Errorf("%w: %d tokens", ErrNoRoom, len(s.known)))
	}
	return e.dropAdmission(s)
}

// dropAdmission takes a gate's admission back.
func (e *Engine) dropAdmission(s *sequence) error {
	if e.gate == nil {
		return nil
	}
	return e.gate.Drop(s.job.ID)
}

// turnAway ends a waiting sequence that can never be served.
func (e *Engine) turnAway(s *sequence, why error) error {
	e.waiting = slices.DeleteFunc(e.waiting, func(w *sequence) bool { return w == s })
	s.state = ended
	e.reject(s, why)
	return e.dropAdmission(s)
}

// preempt takes the KV blocks of a running sequence away. It waits in front.
func (e *Engine) preempt(s *sequence) error {
	if err := e.leave(s); err != nil {
		return err
	}
	if err := e.cache.Preempt(&s.kv); err != nil {
		return err
	}
	s.state, s.placeholders = waiting, 0
	s.life++ // what is in flight belongs to the old life
	e.waiting = slices.Insert(e.waiting, 0, s)
	e.report.Preemptions++
	return nil
}

// end takes a running sequence out for good.
func (e *Engine) end(s *sequence) error {
	if err := e.leave(s); err != nil {
		return err
	}
	s.state = ended
	return e.cache.Free(&s.kv)
}

// leave tells the connector that a sequence gives its KV blocks back, before it
// does.
func (e *Engine) leave(s *sequence) error {
	e.running = slices.DeleteFunc(e.running, func(r *sequence) bool { return r == s })
	return e.scheduler.Finish(s.job.ID, s.kv.Hashes, e.registered(s))
}

// registered is the number of leading hashes that the KV cache has filed for a
// sequence.
func (e *Engine) registered(s *sequence) int {
	if e.cfg.sendKnown {
		return len(s.kv.Hashes)
	}
	return len(s.kv.Registered(0))
}

// announce builds the metadata of a step and begins it.
func (e *Engine) announce(p *plan) error {
	e.tellRemoved()
	scheduled := e.scheduled[:0]
	inStep := make(map[*sequence]bool, len(p.items))
	for _, it := range p.items {
		inStep[it.s] = true
		scheduled = append(scheduled, e.describe(it.s))
	}
	others := e.others[:0]
	for _, s := range e.running {
		if !inStep[s] {
			others = append(others, e.describe(s))
		}
	}
	e.scheduled, e.others = scheduled, others
	if err := e.scheduler.Build(&e.meta, scheduled, others); err != nil {
		return err
	}
	var err error
	p.step, err = e.worker.Begin(&e.meta)
	return err
}

func (e *Engine) describe(s *sequence) connector.Request {
	return connector.Request{
		ID: s.job.ID, Tokens: len(s.known), Outputs: s.outputs(), PromptStart: s.job.PromptStart,
		Hashes: s.kv.Hashes, Registered: e.registered(s),
	}
}
