package engine

// Stop is how a job ends.
type Stop uint8

const (
	// AtLength ends a job after Job.Output tokens, which the scheduler knows
	// beforehand: it never schedules past them.
	AtLength Stop = iota
	// AtToken ends it with its last output token too, but the scheduler learns
	// that only from the token: with a lag, one more step is in flight by then.
	AtToken
	// ByAbort ends it from outside, once Job.Output tokens are out (0: as soon as
	// it has been scheduled).
	ByAbort
)

// Job is a request as a client sends it.
type Job struct {
	ID      string   // may be that of an earlier job that has ended
	Arrival int      // first step in which it can be scheduled
	Prompt  []uint32 // at least one token

	// Output is the number of tokens generated before the job ends, at least 1
	// unless it is aborted. The first ones are those of Tokens, the others follow
	// from Seed.
	Output int
	Stop   Stop
	Tokens []uint32
	Seed   uint64

	PromptStart int // routed_experts_prompt_start: rows before it are not asked for

	Priority   int  `json:",omitempty"` // lower ones go first, in an engine with priorities
	SkipLookup bool `json:",omitempty"` // hit nothing, as for prompt logprobs

	// Deliver, if not nil, is called from within [Engine.Step] with whatever the
	// client gets.
	Deliver func(Delivery) `json:"-"`
}

// Delivery is what a client gets at a time.
type Delivery struct {
	Tokens []uint32 // tokens generated since the last time
	Start  int      // position of the first row
	Rows   []byte   // their rows; valid during the call only
	Done   bool     // nothing follows
	Err    error    // why the job failed, if it did
}

// deliver hands a delivery to whoever wants it.
func (j *Job) deliver(d Delivery) {
	if j.Deliver != nil {
		j.Deliver(d)
	}
}
