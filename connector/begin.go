package connector

import (
	"github.com/auxoutput/auxoutput/blockhash"
	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/store"
)

// Begin begins a step. meta is copied; nil is a warm-up step, of which nothing
// comes. Steps begin in the order in which they were built. A step in which
// nothing is scheduled has no output; every other one has to be processed or
// abandoned.
//
// The next step may begin before the output of this one is processed. Its
// metadata then takes effect in between, just after that output: see coherence.go
// for why not earlier. What is wrong with it is reported then: by Process of its
// own step, or by the next Begin if nothing is scheduled in it. Metadata of a new
// generation takes effect at once; outputs that are still to come belong to the old
// one and are refused.
//
// ErrGenerationBackwards, ErrRunAndFinish, ErrEmitAhead, ErrUnknownRequest,
// ErrDuplicateRequest, ErrMetadata, ErrInFlight, or an error of the store
// (ErrCannotFit in Reference mode). Nothing has changed then, except that what
// Removed lists may be gone.
func (w *Worker) Begin(meta *Metadata) (Step, error) {
	if w.idle || meta == nil {
		return Step{}, nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.ready("begin"); err != nil {
		return Step{}, err
	}
	if err := w.deferred; err != nil {
		w.deferred = nil
		return Step{}, err
	}
	if err := meta.check(); err != nil {
		return Step{}, err
	}
	renews := meta.Generation > w.generation
	switch {
	case meta.Generation < w.generation:
		return Step{}, refuse("begin", "", ErrGenerationBackwards, "%d, the worker is in %d", meta.Generation, w.generation)
	case renews && w.gate != nil && !w.rows.stale() && len(meta.Scheduled) > 0:
		return Step{}, refuse("begin", "", ErrMetadata, "generation %d began without a reset of the gate", meta.Generation)
	case !renews && len(w.steps) >= w.inFlight:
		return Step{}, refuse("begin", "", ErrInFlight, "%d of %d", len(w.steps), w.inFlight)
	}
	step := w.newStep()
	if err := w.begin(step, meta, renews); err != nil {
		w.gate.unclaim(step.holdings)
		w.recycle(step)
		return Step{}, err
	}
	return Step{step.number, w.generation, len(meta.Scheduled) == 0}, nil
}

// begin carries out what Begin has found no fault with so far.
func (w *Worker) begin(step *begun, meta *Metadata, renews bool) error {
	if err := w.gate.claim(step, meta); err != nil {
		return err
	}
	if renews {
		if err := w.validate(lives{}, new([]*life), meta, step.holdings); err != nil {
			return err
		}
		if err := w.renew(meta.Generation); err != nil {
			return err
		}
	}
	step.number = w.numbers + 1
	if len(w.steps) > 0 {
		step.meta.copyFrom(meta)
	} else if err := w.apply(step, meta); err != nil {
		return err
	}
	w.numbers++
	if step.applied && len(meta.Scheduled) == 0 {
		w.recycle(step)
	} else {
		w.steps = append(w.steps, step)
	}
	return nil
}

// ready reports why nothing can be done with the worker any more, if so.
func (w *Worker) ready(op string) error {
	if w.closed {
		return refuse(op, "", auxerrors.ErrClosed, "the worker is closed")
	}
	return nil
}

func (w *Worker) newStep() *begun {
	last := len(w.spare) - 1
	if last < 0 {
		return new(begun)
	}
	step := w.spare[last]
	w.spare = w.spare[:last]
	return step
}

// recycle forgets a step. Its number stays readable until the next one begins.
func (w *Worker) recycle(step *begun) {
	step.applied = false
	step.meta.Reset()
	step.holdings = clearAll(step.holdings)
	w.spare = append(w.spare, step)
}

// renew moves to a new generation: nothing of the old one is left.
func (w *Worker) renew(generation uint64) error {
	if !w.rows.stale() {
		reset := func() error { _, err := w.rows.store.Reset(); return err }
		if w.gate != nil {
			reset = w.gate.Reset
		}
		if err := reset(); err != nil {
			return err
		}
	}
	w.rows.follow()
	w.pool.Reset()
	for _, l := range w.lives.byID {
		l.waiting = clearAll(l.waiting)
	}
	w.lives.endAll()
	w.unheard = clearAll(w.unheard)
	for _, step := range w.steps {
		w.recycle(step)
	}
	w.steps = clearAll(w.steps)
	w.evicted = w.evicted[:0]
	w.generation = generation
	return nil
}

// apply lets metadata take effect, or refuses it and changes nothing. One put does
// it all: new keys are retained, blocks that waited for them are published, and
// what finished requests held is released.
//
// The reference publishes and retains request by request in the order scheduled,
// hash-only, finished; every block of the batch is retained here, so its order
// means nothing. What it releases does have an order: requests as they finished,
// each from its last block to its first. The store walks a list backwards, so the
// list is the other way round: the last request first, each from its first block.
func (w *Worker) apply(step *begun, meta *Metadata) error {
	if err := w.validate(w.lives, &w.scheduled, meta, step.holdings); err != nil {
		return err
	}
	if err := w.rows.remove(meta.Removed); err != nil {
		return err
	}
	w.retain, w.release = w.retain[:0], w.release[:0]
	for i := range meta.Scheduled {
		if s := &meta.Scheduled[i]; len(s.Keys) > 0 {
			w.retain = append(w.retain, s.Keys...)
			if !s.New {
				w.addKeyed(w.lives.find(&w.scheduled, i, s.ID), s.Keys)
			}
		}
	}
	for _, u := range meta.Updates {
		w.retain = append(w.retain, u.Keys...)
		w.addKeyed(w.lives.byID[u.ID], u.Keys)
	}
	for _, f := range meta.Finished {
		w.retain = append(w.retain, f.Keys...)
		if !f.NeverRan {
			w.addKeyed(w.lives.byID[f.ID], f.Keys)
		}
	}
	for i := len(meta.Finished) - 1; i >= 0; i-- {
		f := &meta.Finished[i]
		if !f.NeverRan {
			w.release = append(w.release, w.lives.byID[f.ID].keys...)
		}
		w.release = append(w.release, f.Keys...)
	}
	for _, h := range step.holdings {
		w.release = append(w.release, h.pins()...)
	}
	err := w.rows.putOrApart(store.Batch{Blocks: w.blocks, Retain: w.retain, Release: w.release, Partial: w.partial, Evicted: w.evicts})
	w.blocks = clearAll(w.blocks)
	if err != nil {
		return err
	}
	w.adopt(step, meta)
	return nil
}

// addKeyed puts the blocks into the batch that waited for these new keys.
func (w *Worker) addKeyed(l *life, keys []blockhash.Hash) {
	for i := range l.waiting {
		at := l.waiting[i].Start/w.blockTokens - len(l.keys)
		if at >= len(keys) {
			break
		}
		w.blocks = append(w.blocks, store.Block{Hash: keys[at], Rows: l.waiting[i].Rows})
	}
}

// validate checks metadata against the state of the requests.
func (w *Worker) validate(known lives, hints *[]*life, meta *Metadata, holdings []*holding) error {
	w.checks++
	for _, f := range meta.Finished {
		if f.NeverRan {
			continue
		}
		l := known.byID[f.ID]
		switch {
		case l == nil:
			return refuse("begin", f.ID, ErrUnknownRequest, "it is finished")
		case l.finishes == w.checks:
			return refuse("begin", f.ID, ErrDuplicateRequest, "it is finished twice")
		}
		l.finishes = w.checks
		if err := w.gate.covers(l.holding, f.ID, len(l.keys)+len(f.Keys)); err != nil {
			return err
		}
	}
	clear(w.starting)
	for i := range meta.Scheduled {
		if err := w.validateScheduled(known, hints, meta, i, holdings); err != nil {
			return err
		}
	}
	for _, u := range meta.Updates {
		l := known.byID[u.ID]
		switch {
		case l == nil:
			return refuse("begin", u.ID, ErrUnknownRequest, "it has new keys")
		case l.finishes == w.checks || l.runs == w.checks:
			return refuse("begin", u.ID, ErrDuplicateRequest, "its new keys are listed apart")
		}
		l.runs = w.checks
		if err := w.gate.covers(l.holding, u.ID, len(l.keys)+len(u.Keys)); err != nil {
			return err
		}
	}
	return nil
}

func (w *Worker) validateScheduled(known lives, hints *[]*life, meta *Metadata, at int, holdings []*holding) error {
	s := &meta.Scheduled[at]
	if s.New {
		if l := known.byID[s.ID]; w.starting[s.ID] || l != nil && l.finishes != w.checks {
			return refuse("begin", s.ID, ErrDuplicateRequest, "it starts while it is running")
		}
		w.starting[s.ID] = true
		if w.gate == nil {
			return nil
		}
		return w.gate.covers(holdings[at], s.ID, len(s.Keys))
	}
	l := known.find(hints, at, s.ID)
	switch {
	case l == nil:
		return refuse("begin", s.ID, ErrUnknownRequest, "it is scheduled")
	case l.finishes == w.checks:
		return refuse("begin", s.ID, ErrRunAndFinish, "it is scheduled and finished")
	case l.runs == w.checks:
		return refuse("begin", s.ID, ErrDuplicateRequest, "it is scheduled twice")
	case s.EmitStart > l.emit && l.lost == nil:
		return refuse("begin", s.ID, ErrEmitAhead, "%d, the worker has handed out rows up to %d", s.EmitStart, l.emit)
	}
	l.runs = w.checks
	if len(s.Keys) == 0 {
		return nil
	}
	return w.gate.covers(l.holding, s.ID, len(l.keys)+len(s.Keys))
}

// adopt brings the states of the requests up to date after the put.
func (w *Worker) adopt(step *begun, meta *Metadata) {
	for _, f := range meta.Finished {
		if !f.NeverRan {
			w.end(w.lives.byID[f.ID])
		}
	}
	for i := range meta.Scheduled {
		s := &meta.Scheduled[i]
		var l *life
		if s.New {
			l = w.lives.begin(s.ID, s.EmitStart, s.Hit)
			if w.gate != nil {
				l.holding = step.holdings[i]
			}
		} else {
			l = w.lives.find(&w.scheduled, i, s.ID)
		}
		l.running = step.number
		w.learn(l, s.Keys)
	}
	for _, u := range meta.Updates {
		w.learn(w.lives.byID[u.ID], u.Keys)
	}
	w.gate.unpin(step.holdings)
	step.applied = true
}

// learn adds keys to a request whose blocks that waited for them are published.
func (w *Worker) learn(l *life, keys []blockhash.Hash) {
	if len(keys) == 0 {
		return
	}
	l.keys = append(l.keys, keys...)
	if l.lost != nil {
		w.nameUnpublished(l, len(l.keys)-len(keys))
		return
	}
	keyed := 0
	for keyed < len(l.waiting) && l.waiting[keyed].Start/w.blockTokens < len(l.keys) {
		w.pool.Release(l.waiting[keyed])
		keyed++
	}
	if keyed == 0 {
		return
	}
	l.stored = l.waiting[keyed-1].Start/w.blockTokens + 1
	w.gate.published(l.holding, l.stored)
	left := copy(l.waiting, l.waiting[keyed:])
	clear(l.waiting[left:])
	l.waiting = l.waiting[:left]
}

// end lets go of a request whose keys are released.
func (w *Worker) end(l *life) {
	l.drop(w.pool)
	w.gate.release(l.holding)
	w.lives.end(l)
}

// advance lets the metadata of the steps that follow take effect, up to the first
// one whose output is to come.
func (w *Worker) advance() {
	for len(w.steps) > 0 && !w.steps[0].applied {
		step := w.steps[0]
		err := w.apply(step, &step.meta)
		if len(step.meta.Scheduled) > 0 {
			return // Process tries again and reports what is wrong
		}
		if err != nil {
			w.giveUp(step)
			if w.deferred == nil {
				w.deferred = err
			}
		}
		w.pop()
	}
}

// pop is done with the oldest step.
func (w *Worker) pop() {
	step := w.steps[0]
	left := copy(w.steps, w.steps[1:])
	clear(w.steps[left:])
	w.steps = w.steps[:left]
	w.recycle(step)
}
