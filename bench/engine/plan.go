package engine

import "github.com/auxoutput/auxoutput/connector"

// plan is a step that was scheduled.
type plan struct {
	generation uint64
	step       connector.Step
	items      []item
}

// item is the part of one sequence in a step.
type item struct {
	s       *sequence
	life    int
	first   bool // the sequence was admitted in this step
	start   int  // position of the first token, rejections in flight not taken off
	n       int  // tokens, drafts included
	drafts  int
	samples bool // all tokens before it will have run, so that it samples

	// What came of it.
	sampled  []uint32
	rejected int
}
