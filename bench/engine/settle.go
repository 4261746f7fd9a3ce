package engine

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/auxoutput/auxoutput/bench/truth"
	"github.com/auxoutput/auxoutput/connector"
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
		if p.abandoned {
			if err := e.abandoned(it); err != nil {
				return err
			}
			continue
		}
		before := len(s.known)
		if failed := e.out.Find(s.job.ID); failed != nil && failed.Err != nil && it.life == s.life && !it.samples {
			if err := e.lose(s, it, nil, failed.Err); err != nil {
				return err
			}
			continue
		}
		if err := e.learn(it); err != nil {
			return err
		}
		if !it.samples {
			continue
		}
		done := s.left() <= 0
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

// abandoned handles a sequence that was in a step whose output never arrived.
func (e *Engine) abandoned(it *item) error {
	s := it.s
	if it.life != s.life {
		s.forget() // preempted since: all is to be computed again
		return nil
	}
	out := e.out.Find(s.job.ID)
	if out == nil || out.Err == nil {
		return fmt.Errorf("engine: request %s was in a step that was abandoned, and has no error", s.job.ID)
	}
	return e.lose(s, it, nil, out.Err)
}

// learn makes the sampled tokens of an item known, up to the one that stops the
// sequence, and takes back what was rejected.
func (e *Engine) learn(it *item) error {
	s := it.s
	tokens := it.sampled
	if left := max(0, s.left()); len(tokens) > left {
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
	if err := e.cache.Settle(&s.kv, inFlight); err != nil {
		return err
	}
	return e.took(s)
}

// ErrAborted ends a job that was aborted.
var ErrAborted = errors.New("aborted")

// deliver hands the rows of an item to the client and checks them.
func (e *Engine) deliver(it *item, generation uint64, tokens []uint32, finished bool) error {
	s := it.s
	rows, ok, err := e.out.Take(s.job.ID, len(s.known), finished)
	if errors.Is(err, auxerrors.ErrAbsent) || errors.Is(err, connector.ErrStepLost) || errors.Is(err, connector.ErrRows) {
		return e.lose(s, it, tokens, err)
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
		by := uint64(0)
		if !e.cfg.TokensOnly {
			by = e.writerOf(s, s.answered)
		}
		e.truth = s.check.AppendOf(e.truth[:0], by, s.known[s.answered])
		e.report.RowsChecked++
		if !bytes.Equal(e.truth, rows[:rowBytes]) {
			e.report.WrongRows++
		}
		rows = rows[rowBytes:]
	}
	return nil
}

// lose ends a sequence whose rows are gone, and submits its job again if that is
// wanted. It is no fault of the connector's if the rows are those of an admission whose
// output was lost, or captured wrong.
func (e *Engine) lose(s *sequence, it *item, tokens []uint32, why error) error {
	writer := it.number
	var absent *auxerrors.BlockObjectStoreError
	if errors.Is(why, auxerrors.ErrAbsent) && errors.As(why, &absent) {
		writer = e.writerOf(s, absent.Index*e.cfg.HashTokens)
		// Whether the store remembers why the block is gone is up to chance, so
		// the reason is no part of the report.
		e.report.LastLoss = fmt.Sprintf("request %s: the rows of its block %d, key %x, are gone", s.job.ID, absent.Index, absent.Hash)
	} else {
		e.report.LastLoss = why.Error()
	}
	if e.lost[writer] {
		e.report.Spoiled++
	} else {
		e.report.Lost++
	}
	if e.cfg.Retry {
		e.report.Retried++
		again, err := e.newSequence(s.job)
		if err != nil {
			return err
		}
		e.enqueue(again)
	} else {
		s.job.deliver(Delivery{Tokens: tokens, Done: true, Err: why})
	}
	return e.leaveAll(s)
}

// finish ends a sequence that has said all it had to say.
func (e *Engine) finish(s *sequence) error {
	e.report.Finished++
	e.report.ServedTokens += int64(len(s.known))
	if want := max(len(s.known)-1, s.job.PromptStart); s.answered != want {
		return fmt.Errorf("engine: request %s ends with the rows up to %d, want up to %d", s.job.ID, s.answered, want)
	}
	return e.leaveAll(s)
}

// abort ends a sequence from outside.
func (e *Engine) abort(s *sequence) error {
	e.report.Aborted++
	s.job.deliver(Delivery{Done: true, Err: ErrAborted})
	return e.leaveAll(s)
}

// leaveAll ends a sequence whatever state it is in.
func (e *Engine) leaveAll(s *sequence) error {
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
