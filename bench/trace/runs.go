package trace

import (
	"encoding/json"
	"math"
	"time"
)

// runLines reads the run-length form: one request a line, its block ids as runs
// of consecutive numbers, local to the session.
type runLines struct {
	scope Scope
	line  runLine
}

type runLine struct {
	Session json.RawMessage `json:"s"`
	Time    *float64        `json:"t"`
	Input   *int64          `json:"in"`
	Output  *int64          `json:"out"`
	Runs    idRuns          `json:"runs"`
}

func (l *runLines) next(r *Reader) error {
	text, err := r.lines.next()
	if err != nil {
		return err
	}
	l.line = runLine{Runs: idRuns{runs: l.line.Runs.runs}}
	if err := json.Unmarshal(text, &l.line); err != nil {
		return jsonFault(err)
	}
	q := &r.request
	q.Line = r.lines.number
	if q.Arrival, err = arrival("t", l.line.Time, time.Millisecond); err != nil {
		return err
	}
	if q.InputTokens, err = tokens("in", l.line.Input); err != nil {
		return err
	}
	if q.OutputTokens, err = tokens("out", l.line.Output); err != nil {
		return err
	}
	switch name := l.line.Session; {
	case len(name) == 0 || string(name) == "null":
		return missing("s")
	case name[0] == '{' || name[0] == '[':
		return faultf("s: found %s, want a string or a number", clip(string(name)))
	default:
		q.Session = r.session(string(name))
	}
	if !l.line.Runs.present {
		return missing("runs")
	}
	return l.expand(r)
}

// expand translates the runs, once their total length has been checked: a short
// line can name any number of blocks.
func (l *runLines) expand(r *Reader) error {
	total := uint64(0)
	for _, run := range l.line.Runs.runs {
		switch {
		case run.count == 0:
			return faultf("runs: the run from %d is empty", run.first)
		case run.count > MaxBlocks || total+run.count > MaxBlocks:
			return faultf("runs: a run of %d ids from %d on: a request has at most %d blocks", run.count, run.first, MaxBlocks)
		case run.first > math.MaxUint64-run.count:
			return faultf("runs: the run of %d ids from %d leaves 64 bits", run.count, run.first)
		}
		total += run.count
	}
	q := &r.request
	if err := r.layouts.observe(int64(q.InputTokens), int(total)); err != nil {
		return err
	}
	scope, err := scopeOf(l.scope != Global, q.Session)
	if err != nil {
		return err
	}
	r.ids.allow(r.lines.bytes)
	blocks := q.Blocks[:0]
	for _, run := range l.line.Runs.runs {
		if blocks, err = r.ids.appendRun(blocks, scope, run.first, int(run.count)); err != nil {
			return err
		}
	}
	q.Blocks = blocks
	return nil
}
