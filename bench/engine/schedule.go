package engine

import (
	"errors"
	"fmt"
	"slices"

	"github.com/auxoutput/auxoutput/connector"
	auxerrors "github.com/auxoutput/auxoutput/errors"
)

// schedule puts a step together: running sequences first, in the order in which
// they were admitted, then waiting ones. If the pool has no block left for a
// running sequence another one is preempted, and nothing is admitted in that step
// any more. With priorities, waiting sequences may also come first, so that one
// that was just admitted has to go again. The step is announced to both halves of the
// connector.
func (e *Engine) schedule() (*plan, error) {
	p := &plan{generation: e.scheduler.Generation(), budget: e.cfg.BatchTokens}
	admitsFirst := e.cfg.Priority && e.rng.IntN(2) == 0
	if admitsFirst {
		if err := e.admit(p); err != nil {
			return nil, err
		}
	}
	for _, s := range slices.Clone(e.running) {
		if p.budget == 0 {
			break
		}
		if s.state != running || admitsFirst && p.has(s) {
			continue
		}
		if err := e.scheduleRunning(p, s); err != nil {
			return nil, err
		}
	}
	if !p.preempted && !admitsFirst {
		if err := e.admit(p); err != nil {
			return nil, err
		}
	}
	if e.rng.IntN(4) == 0 {
		e.rng.Shuffle(len(p.items), func(i, j int) { p.items[i], p.items[j] = p.items[j], p.items[i] })
	}
	if e.loseNext && len(p.items) > 0 {
		e.loseNext, p.abandoned = false, true
		e.report.Abandoned++
		for _, it := range p.items {
			e.lost[it.number] = true
		}
	}
	return p, e.announce(p)
}

// scheduleRunning adds a running sequence to the step, if there is something to
// compute for it and room. Others may have to make room.
func (e *Engine) scheduleRunning(p *plan, s *sequence) error {
	it, ok := e.size(s, p.budget)
	if !ok {
		return nil
	}
	for {
		ok, room, err := e.extend(s, it)
		switch {
		case errors.Is(err, auxerrors.ErrCannotFit) || errors.Is(err, ErrNoRoom):
			// It can never go on: it alone fills the pool, or the store.
			e.reject(s, err)
			return e.end(s)
		case err != nil:
			return err
		case ok:
			p.add(it)
			return nil
		}
		victim := e.victim()
		if !room && (p.preempted || victim == s) {
			// What a preempted sequence held in the store is free once the
			// next step has begun; this one can wait for that.
			return nil
		}
		p.preempted = true
		if err := e.unschedule(p, victim); err != nil {
			return err
		}
		if victim == s {
			return nil
		}
	}
}

// victim is the running sequence to preempt: the newest one, or with priorities the
// newest of the least urgent ones.
func (e *Engine) victim() *sequence {
	last := e.running[len(e.running)-1]
	if e.cfg.Priority {
		for _, s := range slices.Backward(e.running) {
			if s.job.Priority > last.job.Priority {
				last = s
			}
		}
	}
	return last
}

// unschedule preempts a running sequence, which may be in the step already: then the
// blocks that were registered for it in this step will not be computed, and neither
// can those stay in it that hit them.
func (e *Engine) unschedule(p *plan, s *sequence) error {
	at := slices.IndexFunc(p.items, func(it item) bool { return it.s == s })
	if at < 0 {
		return e.preempt(s)
	}
	it := p.items[at]
	p.items = slices.Delete(p.items, at, at+1)
	p.budget += it.n
	var never []int32 // blocks of full attention
	for group, g := range e.cfg.groups() {
		table := s.kv.Table(group)
		blocks := table[min(it.start/g.BlockTokens, len(table)):]
		if group == 0 {
			never = slices.Clone(blocks)
			continue
		}
		if err := e.cache.EvictBlocks(blocks...); err != nil {
			return err
		}
	}
	if err := e.evict(never...); err != nil {
		return err
	}
	if err := e.preempt(s); err != nil {
		return err
	}
	for _, other := range slices.Clone(p.items) {
		hits := other.first && slices.ContainsFunc(other.s.kv.Table(0)[:other.s.hit], func(b int32) bool { return slices.Contains(never, b) })
		if hits && other.s.state == running {
			if err := e.unschedule(p, other.s); err != nil {
				return err
			}
		}
	}
	return nil
}

// size decides how many tokens of a running sequence a step takes.
func (e *Engine) size(s *sequence, budget int) (item, bool) {
	wants := s.wants()
	if wants <= 0 {
		return item{}, false
	}
	it := item{s: s, life: s.life, number: s.number, start: s.kv.Computed(), n: min(wants, budget, e.chunk())}
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
	if !ok || err != nil {
		return false, true, err
	}
	if it.samples {
		s.placeholders += 1 + it.drafts
	}
	return true, true, e.took(s)
}

// reserve asks the store for room for the rows of what the KV cache will have
// registered once the positions before end are scheduled.
func (e *Engine) reserve(s *sequence, end int) (bool, error) {
	if e.gate == nil {
		return true, nil
	}
	keys, err := e.scheduler.Keys(s.job.ID, s.kv.Hashes[:e.cache.RegisteredBy(&s.kv, end, 0)])
	if err != nil {
		return false, err
	}
	return e.gate.Reserve(s.job.ID, keys)
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
	if err := e.scheduler.Finish(e.describe(s)); err != nil {
		return err
	}
	return e.dropAdmission(s) // does nothing once it is in a step
}

// announce builds the metadata of a step and begins it.
func (e *Engine) announce(p *plan) error {
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
		Hashes: s.kv.Hashes, Registered: len(s.kv.Registered(0)), Blocks: s.kv.Table(0),
	}
}
