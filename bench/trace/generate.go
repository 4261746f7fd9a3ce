package trace

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"time"
)

// MaxGeneratedTokens is the most tokens that [Generate] makes, prompts that
// repeat earlier turns not counted.
const MaxGeneratedTokens = 1 << 28

// Range is a range of whole numbers, both ends included.
type Range struct{ Min, Max int }

// GenerateOptions describe a workload of conversations. A zero field takes the
// default that is named with it.
type GenerateOptions struct {
	Seed     uint64
	Sessions int   // conversations; 32
	Turns    Range // requests of a conversation; 1 to 8

	SystemPrompts int     // different system prompts, shared by sessions; 4
	Zipf          float64 // how unequally they are chosen, above 1; 1.5
	SystemTokens  Range   // length of a system prompt; 64 to 512
	UserTokens    Range   // tokens a turn adds to the history; 16 to 256
	OutputTokens  Range   // tokens of an answer; 16 to 256
	Vocabulary    int     // token ids are below; 32,000

	SessionGap time.Duration // mean time between the starts of sessions; 2 s
	ThinkTime  time.Duration // mean time between a session's requests; 10 s
}

// Turn is one request of a generated conversation. The prompt of a session's next
// turn is this prompt, this output, and new tokens of the user.
//
// The turns of a session share memory: the slices are read-only.
type Turn struct {
	Session int // from 0
	Turn    int // from 0
	Arrival time.Duration
	Prompt  []uint32 // the whole history, system prompt first
	Output  []uint32
}

// Generate makes a workload: sessions that choose one of a few system prompts and
// grow turn by turn, their turns interleaved by arrival. The same options give
// the same turns, on every machine.
//
// An option out of range is a [auxerrors.ConfigError].
func Generate(options GenerateOptions) ([]Turn, error) {
	o := options.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	random := rand.New(rand.NewPCG(o.Seed, 0x61757875_6f757470))
	systems := make([][]uint32, o.SystemPrompts)
	for i := range systems {
		systems[i] = o.tokens(random, nil, o.SystemTokens.pick(random))
	}
	choice := rand.NewZipf(random, o.Zipf, 1, uint64(len(systems)-1))
	var turns []Turn
	start := time.Duration(0)
	for session := range o.Sessions {
		turns = o.session(random, turns, session, start, systems[choice.Uint64()])
		start += wait(random, o.SessionGap)
	}
	slices.SortStableFunc(turns, func(a, b Turn) int { return cmp.Compare(a.Arrival, b.Arrival) })
	return turns, nil
}

// session appends the turns of one conversation.
func (o GenerateOptions) session(random *rand.Rand, turns []Turn, session int, at time.Duration, system []uint32) []Turn {
	history := slices.Clone(system)
	for turn := range o.Turns.pick(random) {
		history = o.tokens(random, history, o.UserTokens.pick(random))
		prompt := len(history)
		history = o.tokens(random, history, o.OutputTokens.pick(random))
		turns = append(turns, Turn{
			Session: session, Turn: turn, Arrival: at,
			Prompt: history[:prompt:prompt],
			Output: history[prompt:len(history):len(history)],
		})
		at += wait(random, o.ThinkTime)
	}
	return turns
}

// tokens appends n random tokens.
func (o GenerateOptions) tokens(random *rand.Rand, to []uint32, n int) []uint32 {
	for range n {
		to = append(to, random.Uint32N(uint32(o.Vocabulary)))
	}
	return to
}

// wait draws a time with the given mean, to the millisecond, since that is what
// trace files hold.
func wait(random *rand.Rand, mean time.Duration) time.Duration {
	return time.Duration(random.ExpFloat64() * float64(mean)).Truncate(time.Millisecond)
}

func (r Range) pick(random *rand.Rand) int { return r.Min + random.IntN(r.Max-r.Min+1) }

func (r Range) or(other Range) Range {
	if r == (Range{}) {
		return other
	}
	return r
}
