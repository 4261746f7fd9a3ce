package engine

import (
	"slices"

	"github.com/auxoutput/auxoutput/connector"
)

// plan is a step that was scheduled.
type plan struct {
	generation uint64
	step       connector.Step
	items      []item
	budget     int  // tokens that it still has room for
	preempted  bool // a sequence was preempted for it
	abandoned  bool // its output never arrives
}

// add puts a sequence into the step.
func (p *plan) add(it item) {
	p.items = append(p.items, it)
	p.budget -= it.n
}

// has reports whether a sequence is in the step.
func (p *plan) has(s *sequence) bool {
	return slices.ContainsFunc(p.items, func(it item) bool { return it.s == s })
}

// item is the part of one sequence in a step.
type item struct {
	s       *sequence
	life    int
	number  uint64
	first   bool // the sequence was admitted in this step
	start   int  // position of the first token, rejections in flight not taken off
	n       int  // tokens, drafts included
	drafts  int
	samples bool // all tokens before it will have run, so that it samples

	// What came of it.
	sampled  []uint32
	rejected int
}
