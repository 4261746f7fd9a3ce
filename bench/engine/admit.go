package engine

import (
	"errors"
	"fmt"
	"slices"

	"github.com/auxoutput/auxoutput/connector"
	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/prefixcache"
)

// enqueue puts a sequence behind those that wait.
func (e *Engine) enqueue(s *sequence) { e.waiting = append(e.waiting, s) }

// next is the waiting sequence whose turn it is: the first one, or with priorities the
// first of the most urgent ones that have arrived.
func (e *Engine) next() *sequence {
	if !e.cfg.Priority {
		return e.waiting[0]
	}
	var next *sequence
	for _, s := range e.waiting {
		if s.job.Arrival <= e.step && (next == nil || s.job.Priority < next.job.Priority) {
			next = s
		}
	}
	return next
}

// admit takes waiting sequences in as long as there is room.
func (e *Engine) admit(p *plan) error {
	for len(e.waiting) > 0 && len(e.running) < e.cfg.Requests && p.budget > 0 {
		s := e.next()
		if s == nil || s.job.Arrival > e.step || e.busy(s) {
			return nil
		}
		it, ok, err := e.admitOne(s, p.budget)
		if err != nil {
			return err
		}
		if s.state == ended {
			continue // it can never be served
		}
		if !ok {
			return nil
		}
		p.add(it)
	}
	return nil
}

// busy reports whether an earlier job with the same id is still on its way.
func (e *Engine) busy(s *sequence) bool {
	return slices.ContainsFunc(e.running, func(r *sequence) bool { return r.job.ID == s.job.ID })
}

// hit is what is there of a waiting sequence: KV blocks of the pool, and behind them
// blocks of the offload tier.
type hit struct {
	limit  int // what it was looked up with
	tokens int // in the pool
	blocks []int32
	loaded []*kept
}

// end is where a hit ends, in tokens.
func (h hit) end(e *Engine) int { return h.tokens + len(h.loaded)*e.cfg.KVTokens }

// lookUp finds the hit of a waiting sequence, no longer than limit tokens.
func (e *Engine) lookUp(s *sequence, limit int) (h hit, err error) {
	h.limit = limit
	h.tokens, e.blocks, err = e.cache.AppendHit(&s.kv, limit, 0, e.blocks[:0])
	h.blocks, h.loaded = e.blocks, e.offload.extension(e, s, h.tokens)
	return h, err
}

// gated shortens a hit to what the gate lets pass.
func (e *Engine) gated(s *sequence, h hit) (hit, error) {
	if e.gate == nil {
		return h, nil
	}
	var err error
	if e.keys, err = e.scheduler.AppendHitKeys(e.keys[:0], s.kv.Hashes, h.blocks); err != nil {
		return h, err
	}
	for _, block := range h.loaded {
		e.keys = append(e.keys, block.keys...)
	}
	n, err := e.gate.Admit(s.job.ID, e.keys)
	if err != nil {
		return h, err
	}
	if usable := n * e.cfg.HashTokens; usable < h.tokens {
		// A window group may end the hit earlier still.
		if h, err = e.lookUp(s, usable); err != nil {
			return h, err
		}
		h.loaded = nil
	} else {
		h.loaded = h.loaded[:(usable-h.tokens)/e.cfg.KVTokens]
	}
	return h, e.gate.Shorten(s.job.ID, h.end(e)/e.cfg.HashTokens)
}

// admitOne admits a waiting sequence: what the pool and the offload tier have of it
// is its hit, as far as the gate lets it pass.
func (e *Engine) admitOne(s *sequence, budget int) (it item, ok bool, err error) {
	found, err := e.lookUp(s, prefixcache.NoLimit)
	if err != nil {
		return it, false, err
	}
	h, err := e.gated(s, found)
	if err != nil {
		return it, false, err
	}
	admission := connector.Admission{ID: s.job.ID, Outputs: s.outputs(), Hashes: s.kv.Hashes, Hit: h.blocks}
	for _, block := range h.loaded {
		admission.Loaded = append(admission.Loaded, block.keys...)
	}
	if err := e.scheduler.Admit(admission); err != nil {
		return it, false, e.giveUp(s, err)
	}
	usable := h.end(e)
	wants := len(s.known) - usable
	it = item{s: s, first: true, start: usable, n: min(wants, budget, e.chunk())}
	it.samples = it.n == wants
	if ok, err = e.reserve(s, usable+it.n); !ok || err != nil {
		return it, false, e.giveUp(s, err)
	}
	e.pool.last++
	s.number, s.hit, s.held = e.pool.last, len(h.blocks)+len(h.loaded), len(h.blocks)
	s.writers = s.writers[:0]
	for _, block := range h.blocks {
		s.writers = append(s.writers, e.pool.writers[block])
	}
	for _, block := range h.loaded {
		s.writers = append(s.writers, block.writer)
	}
	got, ok, err := e.cache.Admit(&s.kv, h.limit, usable-h.tokens+it.n)
	if err != nil {
		return it, false, err
	}
	if !ok {
		return it, false, e.giveUp(s, nil)
	}
	if got != h.tokens || !slices.Equal(s.kv.Table(0)[:len(h.blocks)], h.blocks) {
		return it, false, fmt.Errorf("engine: a hit of %d tokens became one of %d", h.tokens, got)
	}
	s.life++
	it.life, it.number = s.life, s.number
	s.state, s.placeholders = running, 0
	if it.samples {
		s.placeholders = 1
	}
	e.waiting = slices.DeleteFunc(e.waiting, func(w *sequence) bool { return w == s })
	e.running = append(e.running, s)
	e.countAdmission(s, usable, found.end(e))
	return it, true, e.took(s)
}

// ErrNoRoom ends a job that is too large for the KV cache, or for what the store
// leaves to it.
var ErrNoRoom = errors.New("engine: the request is too large")

// idleSteps is how many steps in a row nothing may be in the engine before a
// sequence that finds no room is taken for too large. It is more than it takes
// for what has ended to be released.
const idleSteps = 3

// giveUp handles an admission that did not work out. A sequence for which there
// is no room even when it is alone is rejected.
func (e *Engine) giveUp(s *sequence, err error) error {
	switch {
	case errors.Is(err, auxerrors.ErrCannotFit):
		return e.turnAway(s, err)
	case err != nil:
		return err
	case e.idle > idleSteps:
		return e.turnAway(s, fmt.Errorf("%w: %d tokens", ErrNoRoom, len(s.known)))
	}
	return e.withdraw(s)
}

// withdraw takes an admission back.
func (e *Engine) withdraw(s *sequence) error {
	return errors.Join(e.scheduler.Finish(connector.Request{ID: s.job.ID}), e.dropAdmission(s))
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
	return e.withdraw(s)
}
