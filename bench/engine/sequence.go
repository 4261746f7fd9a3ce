package engine

import (
	"github.com/auxoutput/auxoutput/bench/truth"
	"github.com/auxoutput/auxoutput/blockhash"
	"github.com/auxoutput/auxoutput/prefixcache"
)

// sequence is a job on its way through the engine. The scheduler and the model
// know different things about it: a token that the model has sampled is known to
// the scheduler only when the output of its step has arrived.
type sequence struct {
	job *Job
	kv  prefixcache.Request

	// What the scheduler knows.
	chain        *blockhash.Chain
	known        []uint32 // the prompt and the sampled tokens that have arrived
	placeholders int      // tokens that scheduled steps will sample, as far as can be hoped
	room         int      // most output tokens that the context leaves
	life         int      // counts admissions
	number       uint64   // of the last admission, among those of all sequences
	writers      []uint64 // by KV block of its table: the admission that writes it
	hit          int      // leading KV blocks that others write
	held         int      // KV blocks of its table that are accounted for
	state        state

	// What the model knows.
	tokens []uint32   // known, and what was sampled since
	ran    int        // positions executed and not rejected
	rows   truth.Rows // of the model, at position ran
	weight uint64     // generation of rows

	// What the client has.
	answered int        // position of the next row
	check    truth.Rows // of the check, at position answered
	checked  uint64     // generation of check
}

type state uint8

const (
	waiting state = iota
	running
	ended
)

// outputs is the number of sampled tokens that have arrived.
func (s *sequence) outputs() int { return len(s.known) - len(s.job.Prompt) }

// most is the number of output tokens up to which the scheduler goes: the job's
// own, or more if it cannot know better.
func (s *sequence) most() int {
	if s.job.Stop == AtLength {
		return min(s.job.Output, s.room)
	}
	return min(s.job.Output+8, s.room)
}

// left is how many output tokens are still to come before the sequence ends by
// itself.
func (s *sequence) left() int {
	if s.job.Stop == ByAbort {
		return s.room - s.outputs()
	}
	return min(s.job.Output, s.room) - s.outputs()
}

// wants is how many tokens can be scheduled for a running sequence now, drafts
// aside: the known ones not computed yet, and the placeholders in flight.
func (s *sequence) wants() int {
	if s.outputs()+s.placeholders >= s.most() {
		// The last token of all is sampled in flight, and never runs. What is
		// known before it still has to be computed.
		return max(0, len(s.known)-s.kv.Computed())
	}
	return len(s.known) + s.placeholders - s.kv.Computed()
}

// target is the token that the model samples at an output position.
func (s *sequence) target(output int) uint32 {
	if output < len(s.job.Tokens) {
		return s.job.Tokens[output]
	}
	return uint32(truth.Mix(s.job.Seed^truth.Mix(uint64(output)))) % vocabulary
}

const vocabulary = 1 << 15

// learn appends tokens that have arrived.
func (s *sequence) learn(tokens ...uint32) {
	s.known = append(s.known, tokens...)
	s.chain.Append(tokens...)
	s.kv.Tokens, s.kv.Hashes = len(s.known), s.chain.Hashes()
}

// forget takes back what the model sampled and nobody heard of.
func (s *sequence) forget() {
	s.tokens = append(s.tokens[:0], s.known...)
	s.ran = 0
}

// seek brings the model's rows to position ran in a generation.
func (s *sequence) seek(e *Engine, generation uint64) {
	if s.weight != generation || s.rows.At() != s.ran {
		s.rows, s.weight = truth.New(e.cfg.Profile, generation), generation
		s.rows.Skip(s.tokens[:s.ran])
	}
}
