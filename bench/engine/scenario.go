package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/auxoutput/auxoutput/connector"
	auxerrors "github.com/auxoutput/auxoutput/errors"
)

// Scenario is an engine and everything that happens to it: what a run needs to be
// repeated.
type Scenario struct {
	Config Config `json:"config"`
	Jobs   []Job  `json:"jobs"`             // by arrival
	Resets []int  `json:"resets,omitempty"` // steps before which the prefix cache is reset
	Drops  []Drop `json:"drops,omitempty"`

	Cancels  []Drop `json:"cancels,omitempty"`  // jobs that end before a step, waiting or running
	Abandons []int  `json:"abandons,omitempty"` // steps from which on the next output never arrives
	Damages  []int  `json:"damages,omitempty"`  // steps from which on the next rows are captured wrong

	Note string `json:"note,omitempty"`
}

// Drop is what happens before a step to something that is drawn: the KV cache forgets a
// hash, or a client goes away.
type Drop struct {
	Step int    `json:"step"`
	Draw uint64 `json:"draw"`
}

// due takes the events off a list that are to happen before a step.
func due[T any](list *[]T, step int, of func(T) int) []T {
	n := 0
	for n < len(*list) && of((*list)[n]) <= step {
		n++
	}
	now := (*list)[:n]
	*list = (*list)[n:]
	return now
}

// The ways in which a run can go wrong, beside errors of the engine's parts.
var (
	ErrLost  = errors.New("a request found its rows gone")
	ErrWrong = errors.New("rows of other tokens were returned")
	ErrStuck = errors.New("the engine does not get on")
	ErrLeak  = errors.New("something is left behind")
)

// mostSteps is when a run counts as stuck: each step does something for some job.
func (s *Scenario) mostSteps() int {
	steps := 1000
	for _, job := range s.Jobs {
		steps += job.Arrival + 50*(len(job.Prompt)+job.Output+10)
	}
	return steps * (1 + len(s.Abandons) + len(s.Damages))
}

// Run plays a scenario to its end. The error is one of the above, or of a part of
// the engine ([auxerrors.ErrCannotFit] for a put that failed); a run without one
// is right in every row and leaves nothing behind.
func (s *Scenario) Run() (report Report, err error) { return s.play((*Engine).verdict) }

// play runs a scenario, and asks after each step what is wrong already.
func (s *Scenario) play(verdict func(*Engine) error) (report Report, err error) {
	e, err := New(s.Config)
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	for i := range s.Jobs {
		if err := e.Submit(&s.Jobs[i]); err != nil {
			return e.report, err
		}
	}
	rest := *s // what is still to happen
	for e.Busy() {
		if e.step > s.mostSteps() {
			return e.report, fmt.Errorf("%w after %d steps", ErrStuck, e.step)
		}
		if err := rest.disturb(e); err != nil {
			return e.report, err
		}
		if err := e.Step(); err != nil {
			return e.report, err
		}
		if err := verdict(e); err != nil {
			return e.report, err
		}
	}
	if err := e.CheckIdle(); err != nil {
		return e.report, fmt.Errorf("%w: %w", ErrLeak, err)
	}
	return e.report, nil
}

// disturb lets happen what is due before the engine's next step.
func (s *Scenario) disturb(e *Engine) error {
	at := func(step int) int { return step }
	dropped := func(d Drop) int { return d.Step }
	for _, d := range due(&s.Drops, e.step, dropped) {
		if err := e.DropHash(d.Draw); err != nil {
			return err
		}
	}
	for _, d := range due(&s.Cancels, e.step, dropped) {
		if err := e.CancelAny(d.Draw); err != nil {
			return err
		}
	}
	for range due(&s.Abandons, e.step, at) {
		e.LoseOutput()
	}
	for range due(&s.Damages, e.step, at) {
		e.DamageRows()
	}
	for range due(&s.Resets, e.step, at) {
		if err := e.ResetCache(); err != nil {
			return err
		}
	}
	return nil
}

// verdict is what is wrong already, so that a run ends where it shows.
func (e *Engine) verdict() error {
	switch {
	case e.report.WrongRows > 0:
		return fmt.Errorf("%w: %d of %d", ErrWrong, e.report.WrongRows, e.report.RowsChecked)
	case e.report.Lost > 0:
		return fmt.Errorf("%w: %s", ErrLost, e.report.LastLoss)
	}
	if left := e.store.Stats().LeftOut; left > 0 {
		return fmt.Errorf("%w: %d blocks were left out", auxerrors.ErrCannotFit, left)
	}
	return nil
}

// Failure names the kind of an error of Run, so that shrinking keeps to it.
func Failure(err error) string {
	if err == nil {
		return ""
	}
	for _, kind := range []error{ErrLost, ErrWrong, ErrStuck, ErrLeak, auxerrors.ErrCannotFit} {
		if errors.Is(err, kind) {
			return kind.Error()
		}
	}
	return "an error of a part"
}

// What a scenario in a file may ask for: each of its sizes, and the bytes of rows
// that follow from them.
const (
	mostFile     = 1 << 16
	mostRowBytes = 1 << 28
)

// ParseScenario reads the JSON form of a scenario. Unknown fields, sizes beyond
// what a search ever draws and anything behind it are errors.
func ParseScenario(data []byte) (*Scenario, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	var s Scenario
	if err := decoder.Decode(&s); err != nil {
		return nil, fmt.Errorf("not a scenario: byte %d: %w", decoder.InputOffset(), err)
	}
	if decoder.More() {
		return nil, fmt.Errorf("not a scenario: something follows it at byte %d", decoder.InputOffset())
	}
	c := s.Config
	for _, size := range []int{c.KVBlocks, c.Slots, c.OffloadBlocks, c.Requests, c.BatchTokens, c.HashTokens, c.KVTokens, c.MaxTokens, c.Drafts, c.Profile.Layers, c.Profile.TopK} {
		if size > mostFile {
			return nil, fmt.Errorf("a size of %d is more than %d", size, mostFile)
		}
	}
	if size := c.rowBytes(); size > mostRowBytes {
		return nil, fmt.Errorf("%.0f bytes of rows are more than %d", size, mostRowBytes)
	}
	for _, window := range append(append([]int(nil), c.Windows...), c.WindowBlocks...) {
		if window > mostFile {
			return nil, fmt.Errorf("a window of %d is more than %d", window, mostFile)
		}
	}
	if len(s.Abandons)+len(s.Damages) > mostFile {
		return nil, fmt.Errorf("%d lost outputs are more than %d", len(s.Abandons)+len(s.Damages), mostFile)
	}
	for _, job := range s.Jobs {
		if job.Output > mostFile || job.Arrival > mostFile {
			return nil, fmt.Errorf("job %s: an output of %d tokens at step %d is more than %d", job.ID, job.Output, job.Arrival, mostFile)
		}
	}
	return &s, nil
}

// rowBytes is how many bytes of rows an engine may come to hold: in the store, in
// tails and in a step. It is 0 if there can be no such engine.
func (c Config) rowBytes() float64 {
	c, err := c.complete()
	if err != nil {
		return 0
	}
	blockBytes, err := c.Profile.BlockBytes(c.HashTokens)
	if err != nil {
		return 0
	}
	const inFlight = 2
	tails, err := connector.PoolBlocks(c.HashTokens, c.Requests, c.BatchTokens, inFlight)
	if err != nil {
		return 0
	}
	unit := float64(c.KVTokens)
	for _, block := range c.WindowBlocks {
		unit *= float64(max(block, 1)) // no less than the least common multiple
	}
	blocks := float64(tails) + float64(c.Requests)*unit/float64(c.HashTokens) + float64(c.Slots)
	return blocks*float64(blockBytes) + float64(c.BatchTokens)*float64(c.Profile.RowBytes())
}
