package connector

import (
	"math"
	"slices"

	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/store"
)

// Batch is what the model runner captured in one step.
type Batch struct {
	IDs      []string // the requests, in the order of the rows
	Starts   []int    // position of each request's first row, rejections in flight not yet taken off
	Bounds   []int    // query_start_loc: request i has the rows Bounds[i] to Bounds[i+1]; may be longer, as padded for a CUDA graph
	Sampled  []int    // tokens sampled; 0 for a part of a prompt
	Rejected []int    // of the executed tokens, the drafts at the end that were refused

	// RowCount is how many rows the captured array has, as the runner knows it and
	// not as a length divided: Bounds[len(IDs)], or one of the bounds behind it if the
	// array is padded too.
	RowCount int
	Rows     []byte // RowCount rows of RowBytes, no more and no less; not kept
}

// plan is what a batch means for one request.
type plan struct {
	life     *life
	from     int  // first row of the batch
	at       int  // its position
	accepted int  // rows that were not rejected
	executed int  // end of the executed positions
	emits    bool // rows are to be handed out
	staged   bool
	fault    error // why its rows cannot be used
	tail     Tail  // as it was before

	blocks, blocksEnd int // what it completed
}

// end is the position behind the accepted rows.
func (p *plan) end() int { return p.at + p.accepted }

// Process takes the rows of a step: it cuts what was rejected, checks the rest,
// publishes all full blocks of the batch whose keys are known, and then writes the rows
// of every request that sampled into out. out is emptied first, even if the step is
// refused.
//
// A request whose rows are gone, or fail a check ([Options.Check]), gets an Err in out;
// all others go on. Of a request whose rows fail a check nothing of this step is
// published. [Worker.DrainEvicted] then names KV blocks to drop.
//
// Rows of another shape or item width than the profile's do not have the length that
// RowCount says, and are ErrProfile. That, and anything else that is wrong with the step
// itself, refuses it whole, leaves the worker as it was, and the step to be processed
// again or abandoned: ErrTokenCount, ErrRejectedCount, ErrUnknownRequest,
// ErrDuplicateRequest, ErrCaptureGap, ErrCaptureBackwards, ErrNotContiguous,
// ErrNegativeStart, ErrExhausted, ErrStepOrder, or an error of the store (ErrCannotFit in
// Reference mode). What Begin returns comes here if the step began before the last output was
// processed. errors.ErrGeneration reports an output of an older generation, which
// is done with.
func (w *Worker) Process(step Step, batch Batch, out *Output) error {
	out.Reset()
	if w.idle || step == (Step{}) {
		return nil
	}
	out.RowBytes = w.rowBytes
	if step.empty {
		if len(batch.IDs) > 0 {
			return refuse("process", batch.IDs[0], ErrUnknownRequest, "nothing is scheduled in this step")
		}
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.due("process", step); err != nil {
		return err
	}
	if head := w.steps[0]; !head.applied {
		if err := w.apply(head, &head.meta); err != nil {
			return err
		}
	}
	if err := w.plan(batch); err != nil {
		return err
	}
	w.checkRows(batch.Rows)
	if err := w.stage(batch.Rows); err != nil {
		w.unstage()
		return err
	}
	if err := w.publish(); err != nil {
		w.unstage()
		return err
	}
	w.commit()
	w.hand(batch, out)
	w.tell(out)
	w.completed = clearAll(w.completed)
	w.pop()
	w.advance()
	return nil
}

// due checks that it is the turn of a step.
func (w *Worker) due(op string, step Step) error {
	if err := w.ready(op); err != nil {
		return err
	}
	if step.generation < w.generation {
		return refuse(op, "", auxerrors.ErrGeneration, "step of generation %d, the worker is in %d", step.generation, w.generation)
	}
	if len(w.steps) == 0 || w.steps[0].number != step.number {
		return refuse(op, "", ErrStepOrder, "step %d of %d", step.number, w.numbers)
	}
	if w.rows.stale() {
		w.pop()
		return refuse(op, "", auxerrors.ErrGeneration, "the store was reset")
	}
	return nil
}

// plan checks a batch against the state of its requests, and changes nothing.
func (w *Worker) plan(batch Batch) error {
	n := len(batch.IDs)
	if len(batch.Starts) != n || len(batch.Sampled) != n || len(batch.Rejected) != n || len(batch.Bounds) <= n {
		return refuse("process", "", ErrTokenCount, "%d requests, %d starts, %d bounds, %d sampled, %d rejected",
			n, len(batch.Starts), len(batch.Bounds), len(batch.Sampled), len(batch.Rejected))
	}
	w.checks++
	w.plans = slices.Grow(w.plans[:0], n)[:n]
	for i := range batch.IDs {
		if err := w.planOne(&w.plans[i], &batch, i); err != nil {
			return err
		}
	}
	// Equal, and not merely enough or divisible: rows of more layers, more columns or
	// wider ids have other lengths, and would be taken for those of other tokens.
	if !slices.Contains(batch.Bounds[n:], batch.RowCount) {
		return refuse("process", "", ErrProfile, "%d rows captured, %d executed", batch.RowCount, batch.Bounds[n])
	}
	if batch.RowCount < 0 || len(batch.Rows)%w.rowBytes != 0 || len(batch.Rows)/w.rowBytes != batch.RowCount {
		return refuse("process", "", ErrProfile, "%d bytes for %d rows of %d", len(batch.Rows), batch.RowCount, w.rowBytes)
	}
	return nil
}

func (w *Worker) planOne(p *plan, batch *Batch, i int) error {
	id := batch.IDs[i]
	l := w.lives.find(&w.batched, i, id)
	switch {
	case l == nil || l.running != w.steps[0].number:
		return refuse("process", id, ErrUnknownRequest, "it is not scheduled in this step")
	case l.batches == w.checks:
		return refuse("process", id, ErrDuplicateRequest, "it is in the batch twice")
	}
	l.batches = w.checks
	from, to, start, rejected := batch.Bounds[i], batch.Bounds[i+1], batch.Starts[i], batch.Rejected[i]
	executed := to - from
	switch {
	case from < 0 || executed <= 0 || to > batch.Bounds[len(batch.IDs)] || start > math.MaxInt-executed:
		return refuse("process", id, ErrTokenCount, "rows %d to %d at position %d", from, to, start)
	case rejected < 0 || rejected > executed:
		return refuse("process", id, ErrRejectedCount, "%d of %d", rejected, executed)
	case start < 0:
		return refuse("process", id, ErrNegativeStart, "position %d", start)
	}
	*p = plan{life: l, from: from, at: start, accepted: executed - rejected, executed: start + executed}
	if l.lost != nil {
		p.emits = batch.Sampled[i] > 0
		return nil
	}
	if l.captured >= 0 {
		switch {
		case start < l.captured:
			return refuse("process", id, ErrCaptureBackwards, "position %d, rows end at %d", start, l.captured)
		case start > l.captured && start > l.scheduled:
			// Up to the end of what was executed the gap is a rejected suffix.
			return refuse("process", id, ErrCaptureGap, "position %d, rows end at %d, executed up to %d", start, l.captured, l.scheduled)
		}
		p.at = l.captured
	}
	// A step that accepted a row answers even if no row is wanted of it: the first
	// answer is empty if the prompt start is the end of the prompt (PR 55764).
	p.emits = batch.Sampled[i] > 0 && (l.emit < p.end() || l.emit == p.end() && p.accepted > 0)
	return nil
}

// stage adds the rows of all requests to their tails. A fault leaves the rest to
// unstage.
func (w *Worker) stage(rows []byte) error {
	w.completed = clearAll(w.completed)
	for i := range w.plans {
		p := &w.plans[i]
		p.blocks = len(w.completed)
		p.blocksEnd = p.blocks
		if p.life.lost != nil || p.fault != nil {
			continue
		}
		p.tail, p.staged = p.life.tail, true
		var err error
		part := rows[p.from*w.rowBytes : (p.from+p.accepted)*w.rowBytes]
		w.completed, err = w.pool.Capture(&p.life.tail, p.at, p.accepted, part, w.completed)
		if err != nil {
			return named(err, "process", p.life.id)
		}
		p.blocksEnd = len(w.completed)
	}
	return nil
}

// unstage takes back what stage did.
func (w *Worker) unstage() {
	for i := range w.plans {
		if p := &w.plans[i]; p.staged {
			w.pool.restore(&p.life.tail, p.tail)
			p.staged = false
		}
	}
	w.completed = clearAll(w.completed)
}

// publish puts the blocks whose keys are known, those of the whole batch before
// anybody reads: a request may need the rows that another one of the same step
// computes. It makes sure that there is room for the others to wait.
func (w *Worker) publish() error {
	w.blocks = w.blocks[:0]
	room := w.pool.Free()
	for i := range w.plans {
		p := &w.plans[i]
		for _, b := range w.completed[p.blocks:p.blocksEnd] {
			at := b.Start / w.blockTokens
			switch {
			case at < len(p.life.keys):
				w.blocks = append(w.blocks, store.Block{Hash: p.life.keys[at], Rows: b.Rows})
				if b.Owned() {
					room++
				}
			case !b.Owned():
				room--
			}
		}
	}
	defer func() { w.blocks = clearAll(w.blocks) }()
	if room < 0 {
		return refuse("process", "", ErrExhausted, "%d blocks too many wait for their key, of %d in the tail pool", -room, w.pool.Blocks())
	}
	return w.rows.put(store.Batch{Blocks: w.blocks, Partial: w.partial, Evicted: w.evicts})
}

// commit moves the cursors and keeps the blocks that have to wait. Nothing here
// can fail.
func (w *Worker) commit() {
	for i := range w.plans {
		p := &w.plans[i]
		known := len(p.life.keys)
		for _, b := range w.completed[p.blocks:p.blocksEnd] {
			if b.Start/w.blockTokens < known {
				w.pool.Release(b)
			}
		}
	}
	for i := range w.plans {
		p := &w.plans[i]
		l := p.life
		if l.lost != nil {
			continue
		}
		if p.fault != nil {
			w.lose(l, p.fault)
			continue
		}
		l.captured, l.scheduled = p.end(), p.executed
		for _, b := range w.completed[p.blocks:p.blocksEnd] {
			if b.Start/w.blockTokens < len(l.keys) {
				l.stored = b.Start/w.blockTokens + 1
				w.gate.published(l.holding, l.stored)
				continue
			}
			kept, _ := w.pool.Keep(b) // publish made sure of the room
			l.waiting = append(l.waiting, kept)
		}
	}
}
