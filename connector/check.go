package connector

import (
	"fmt"

	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/routing"
)

// CheckLevel says which captured rows a worker looks at before it publishes them.
type CheckLevel uint8

const (
	// CheckSampled looks at every row whose position is a multiple of 128, and
	// compares rows for runs of equal ones. What is wrong with a whole capture shows
	// within a few steps; a single wrong id may pass. It takes some 25 ns for each
	// request of a step, and 2 ns a row of a prompt: far below 2 % of the step that
	// computes them.
	CheckSampled CheckLevel = iota
	// CheckAll looks at every id of every row, at some 150 ns a row of 48 x 8.
	CheckAll
	// CheckOff looks at none.
	CheckOff
)

// sampleEvery is how far apart the sampled positions are: a power of two.
const sampleEvery = 128

// rowChecker checks the captured rows of a request.
type rowChecker struct {
	level   CheckLevel
	checks  routing.Checker
	profile routing.Profile
}

func newRowChecker(o Options) (rowChecker, error) {
	if o.Check > CheckOff {
		return rowChecker{}, &auxerrors.ConfigError{Field: "check", Value: o.Check, Want: "one of the check levels", Reason: auxerrors.ErrOutOfRange}
	}
	checks := routing.AllChecks
	checks.EqualRuns = !o.MayRepeat
	checks.Exempt = o.Exempt
	prepared, err := checks.Prepare(o.Profile)
	return rowChecker{o.Check, prepared, o.Profile}, err
}

// checkRows checks the accepted rows of every request of the batch. A request whose
// rows are wrong gets a fault in its plan.
func (w *Worker) checkRows(rows []byte) {
	if w.checker.level == CheckOff {
		return
	}
	for i := range w.plans {
		p := &w.plans[i]
		if p.life.lost != nil {
			continue
		}
		part := rows[p.from*w.rowBytes : (p.from+p.accepted)*w.rowBytes]
		if err := w.checker.check(&p.life.run, p.at, part); err != nil {
			p.fault = &StepError{Op: "process", Request: p.life.id, Reason: fmt.Errorf("%w: %w", ErrRows, err)}
		}
	}
}

// check checks consecutive rows of a request.
func (c *rowChecker) check(run *routing.RunState, start int, rows []byte) error {
	size, every := c.profile.RowBytes(), sampleEvery
	if c.level == CheckAll {
		every = 1
	}
	for at := -start & (every - 1) * size; at < len(rows); at += every * size {
		if err := c.checks.CheckRow(start+at/size, rows[at:at+size]); err != nil {
			if zero := c.checks.CheckZeroLayers(rows); zero != nil {
				return zero // says more: the layer was not captured at all
			}
			return err
		}
	}
	if c.profile.TopK == 1 { // zeros are legal then, one by one
		if err := c.checks.CheckZeroLayers(rows); err != nil {
			return err
		}
	}
	return c.checks.CheckRun(run, start, rows)
}
