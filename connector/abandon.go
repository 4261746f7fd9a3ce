package connector

import "github.com/auxoutput/auxoutput/store"

// Abandon gives a step up whose output will not come. Requests scheduled in it
// have lost rows and fail, with ErrStepLost, when they next sample; the other parts
// of its metadata stand. ErrStepOrder if it is not the turn of the step.
func (w *Worker) Abandon(step Step) error {
	if w.idle || step == (Step{}) || step.empty {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.due("abandon", step); err != nil {
		return err
	}
	head := w.steps[0]
	if !head.applied && w.apply(head, &head.meta) != nil {
		w.salvage(head)
	}
	for _, l := range w.lives.byID {
		if l.running == head.number {
			l.lose(w.pool)
		}
	}
	w.pop()
	w.advance()
	return nil
}

// salvage does what can be done of metadata that was refused and will not be tried
// again: requests that finished are released, and all others that it names are
// lost, for their hashes are incomplete from here on.
func (w *Worker) salvage(step *begun) {
	meta := &step.meta
	w.release, w.ending = w.release[:0], w.ending[:0]
	w.checks++
	for i := len(meta.Finished) - 1; i >= 0; i-- {
		if l := w.lives.byID[meta.Finished[i].ID]; l != nil && l.finishes != w.checks {
			l.finishes = w.checks
			w.release = append(w.release, l.hashes...)
			w.ending = append(w.ending, l)
		}
	}
	for _, h := range step.holdings {
		w.release = append(w.release, h.pins()...)
	}
	// A release cannot fail but for a store that is closed or reset, and then
	// there is nothing left to release.
	if w.rows.put(store.Batch{Release: w.release}) == nil {
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
			l = w.lives.begin(s.ID, s.EmitStart)
			if w.gate != nil {
				l.holding = step.holdings[i]
			}
		}
		l.lose(w.pool)
	}
	for _, u := range meta.Updates {
		if l := w.lives.byID[u.ID]; l != nil {
			l.lose(w.pool)
		}
	}
}
