package trace

import "time"

// Request is one request of a trace.
type Request struct {
	Line    int // line of the file it comes from
	Session int // number of the session, from 0 in order of appearance; -1 where the format has none

	Arrival      time.Duration // since the start of the trace, or of the session if the file says no more
	InputTokens  int           // length of the prompt
	OutputTokens int           // length of the answer

	// ArrivalAssumed: the line has no time. Arrival is the time of the turn before of
	// its session, or else of the line before, plus the line's delay if it has one. How
	// long the answer before took is not in it.
	ArrivalAssumed bool

	// OutputUnknown: the line does not tell the length of the answer, and OutputTokens
	// is 0.
	OutputUnknown bool

	// Blocks are the prompt's blocks in prefix order, as numbers from 0 in
	// order of first appearance in the trace: equal numbers mean equal content
	// after an equal prefix. The last block may be partial; see [Layout].
	//
	// The slice is the reader's own, and valid until the next request.
	Blocks []uint32
}

// Gaps counts the requests of which a trace does not tell something. Neither bears on
// which blocks hit when the requests are replayed in the order of the file.
type Gaps struct {
	Arrivals int // those with ArrivalAssumed
	Outputs  int // those with OutputUnknown
}

// Format is the form of a trace file.
type Format int

// The formats that a [Reader] recognises.
const (
	Mooncake Format = iota + 1
	Qwen
	Runs
	WEKA
	Azure
)

// String is the format's name for people.
func (f Format) String() string {
	switch f {
	case Mooncake:
		return "Mooncake JSONL"
	case Qwen:
		return "Qwen-Bailian JSONL"
	case Runs:
		return "run-length JSONL"
	case WEKA:
		return "WEKA sessions"
	case Azure:
		return "Azure CSV"
	}
	return "unknown"
}

// InventsBlocks reports whether the file has no block ids, so that the reader
// invents blocks no two requests share.
func (f Format) InventsBlocks() bool { return f == Azure }

// Scope says how far a block id reaches.
type Scope int

const (
	// AsWritten takes what the file or its format says: run-length ids are
	// local, a hash_id_scope counts where there is one, all others are global.
	AsWritten Scope = iota
	// Global takes equal ids of different sessions for the same block.
	Global
	// Local takes equal ids of different sessions for different blocks. A
	// file that knows no sessions cannot be read so.
	Local
)

// String is the scope's name: "as-written", "global" or "local".
func (s Scope) String() string {
	switch s {
	case Global:
		return "global"
	case Local:
		return "local"
	}
	return "as-written"
}
