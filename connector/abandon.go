package connector

import (
	"github.com/auxoutput/auxoutput/blockhash"
)

// Abandon gives a step up whose output will not come. Requests scheduled in it have
// lost rows: each is in out with ErrStepLost, and so is every later output of it. What
// they would have published is no longer promised, and [Worker.DrainEvicted] names the
// KV blocks to drop. The other parts of the step's metadata stand. ErrStepOrder if it
// is not the turn of the step.
func (w *Worker) Abandon(step Step, out *Output) error {
	out.Reset()
	if w.idle || step == (Step{}) || step.empty {
		return nil
	}
	out.RowBytes = w.rowBytes
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.due("abandon", step); err != nil {
		return err
	}
	head := w.steps[0]
	if !head.applied && w.apply(head, &head.meta) != nil {
		w.giveUp(head)
	}
	for _, l := range w.lives.byID {
		if l.running == head.number {
			w.lose(l, refuse("abandon", l.id, ErrStepLost, "rows from position %d on", max(l.captured, 0)))
		}
	}
	w.pop()
	w.advance()
	w.tell(out)
	return nil
}

// giveUp does what can be done of metadata that was refused and will not be tried
// again: requests that finished are released, and all others that it names are
// lost, for their keys are incomplete from here on.
func (w *Worker) giveUp(step *begun) {
	meta := &step.meta
	w.release, w.ending = w.release[:0], w.ending[:0]
	w.checks++
	for i := len(meta.Finished) - 1; i >= 0; i-- {
		if l := w.lives.byID[meta.Finished[i].ID]; l != nil && l.finishes != w.checks && !meta.Finished[i].NeverRan {
			l.finishes = w.checks
			w.release = append(w.release, l.keys...)
			w.ending = append(w.ending, l)
		}
	}
	for _, h := range step.holdings {
		w.release = append(w.release, h.pins()...)
	}
	// A release cannot fail but for a store that is closed or reset, and then
	// there is nothing left to release.
	if w.rows.giveBack(w.release) == nil {
		w.gate.unpin(step.holdings)
	}
	for _, l := range w.ending {
		w.end(l)
	}
	w.ending = clearAll(w.ending)
	for i := range meta.Scheduled {
		s := &meta.Scheduled[i]
		l := w.lives.byID[s.ID]
		if l == nil {
			l = w.lives.begin(s.ID, s.EmitStart, 0)
			if w.gate != nil {
				l.holding = step.holdings[i]
			}
		}
		w.loseRefused(l, s.Keys[s.Hit:])
	}
	for _, u := range meta.Updates {
		if l := w.lives.byID[u.ID]; l != nil {
			w.loseRefused(l, u.Keys)
		}
	}
}

// loseRefused loses a request whose new keys the worker does not retain.
func (w *Worker) loseRefused(l *life, keys []blockhash.Hash) {
	w.evicted = append(w.evicted, keys...)
	w.lose(l, refuse("begin", l.id, ErrStepLost, "its metadata was refused"))
}
