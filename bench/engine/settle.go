package engine

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/auxoutput/auxoutput/bench/truth"
	auxerrors "github.com/auxoutput/auxoutput/errors"
)

// settle takes the output of a step in: tokens become known, sequences end, rows
// go to their clients and are checked.
func (e *Engine) settle(p *plan) error {
	for i := range p.items {
		it := &p.items[i]
		s := it.s
		if s.state == ended {
			continue // aborted while the step was in flight
		}
		before := len(s.known)
		if err := e.learn(it); err != nil {
			return err
		}
		if !it.samples {
			continue
		}
		done := s.outputs() >= s.job.Output && s.job.Stop != ByAbort
		if err := e.deliver(it, p.generation, s.known[before:], done); err != nil {
			return err
		}
		if s.state == ended {
			continue // its rows were gone
		}
		if done {
			if err := e.finish(s); err != nil {
				return err
			}
		}
	}
	return nil
}

// learn makes the sampled tokens of an item known, up to the one that stops the
// sequence, and takes back what was rejected.
func (e *Engine) learn(it *item) error {
	s := it.s
	tokens := it.sampled
	if left := s.job.Output - s.outputs(); s.job.Stop != ByAbort && len(tokens) > left {
		tokens = tokens[:left]
	}
	s.learn(tokens...)
	if it.life != s.life || s.state != running {
		return nil // preempted since: its positions are all to be computed again
	}
	if it.samples {
		s.placeholders -= 1 + it.drafts
	}
	if len(tokens) < len(it.sampled) {
		return nil // it ends here
	}
	if it.rejected > 0 {
		if err := e.cache.Reject(&s.kv, it.rejected); err != nil {
			return err
		}
	}
	if !e.cfg.Lag {
		return nil
	}
	inFlight := min(s.placeholders, s.kv.Computed())
	ok, err := e.reserve(s, s.kv.Computed()-inFlight)
	switch {
	case errors.Is(err, auxerrors.ErrCannotFit):
		return nil // the next step that is scheduled for it ends it
	case err != nil:
		return err
	case !ok:
		return nil // registered later, when there is room
	}
	return e.cache.Settle(&s.kv, inFlight)
}

// ErrAborted ends a job that was aborted.
var ErrAborted = errors.New("aborted")

// deliver hands the rows of an item to the client and checks them.
func (e *Engine) deliver(it *item, generation uint64, tokens []uint32, finished bool) error {
	s := it.s
	rows, ok, err := e.out.Take(s.job.ID, len(s.known), finished)
	var absent *auxerrors.BlockObjectStoreError
	if errors.Is(err, auxerrors.ErrAbsent) && errors.As(err, &absent) {
		// Whether the store remembers why the block is gone is up to chance, so
		// the reason is no part of the report.
		e.report.Lost++
		e.report.LastLoss = fmt.Sprintf("request %s: the rows of its block %d, hash %x, are gone", s.job.ID, absent.Index, absent.Hash)
		s.job.deliver(Delivery{Tokens: tokens, Done: true, Err: err})
		return e.depart(s)
	}
	if err != nil {
		return err
	}
	if !ok {
		s.job.deliver(Delivery{Tokens: tokens, Start: s.answered, Done: finished})
		return nil
	}
	rowBytes := e.cfg.Profile.RowBytes()
	if len(rows)%rowBytes != 0 {
		return fmt.Errorf("engine: %d bytes are no whole number of rows of %d", len(rows), rowBytes)
	}
	end := s.answered + len(rows)/rowBytes
	if want := max(len(s.known)-1, s.job.PromptStart); end != want {
		return fmt.Errorf("engine: request %s has the rows up to %d, want up to %d", s.job.ID, end, want)
	}
	if s.checked != generation || s.check.At() != s.answered {
		s.check, s.checked = truth.New(e.cfg.Profile, generation), generation
		s.check.Skip(s.known[:s.answered])
	}
	s.job.deliver(Delivery{Tokens: tokens, Start: s.answered, Rows: rows, Done: finished})
	for ; s.answered < end; s.answered++ {
		e.truth = s.check.Append(e.truth[:0], s.known[s.answered])
		e.report.RowsChecked++
		if !bytes.Equal(e.truth, rows[:rowBytes]) {
			e.report.WrongRows++
		}
		rows = rows[rowBytes:]
	}
	return nil
}

// finish ends a sequence that has said all it had to say.
func (e *Engine) finish(s *sequence) error {
	e.report.Finished++
	e.report.ServedTokens += int64(len(s.known))
	if want := max(len(s.known)-1, s.job.PromptStart); s.answered != want {
		return fmt.Errorf("engine: request %s ends with the rows up to %d, want up to %d", s.job.ID, s.answered, want)
	}
	return e.depart(s)
}

// abort ends a sequence from outside.
func (e *Engine) abort(s *sequence) error {
	e.report.Aborted++
	s.job.deliver(Delivery{Done: true, Err: ErrAborted})
	return e.depart(s)
}

// depart ends a sequence whatever state it is in.
func (e *Engine) depart(s *sequence) error {
	if s.state == running {
		return e.end(s)
	}
	for i, w := range e.waiting {
		if w == s {
			e.waiting = append(e.waiting[:i], e.waiting[i+1:]...)
			break
		}
	}
	s.state = ended
	return nil
}
