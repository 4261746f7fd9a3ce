package routing

import (
	"fmt"

	auxerrors "github.com/auxoutput/auxoutput/errors"
)

// Span is the positions Start <= position < End.
type Span struct{ Start, End int }

// Len is the number of positions.
func (s Span) Len() int { return s.End - s.Start }

// String writes the span as [start,end).
func (s Span) String() string { return fmt.Sprintf("[%d,%d)", s.Start, s.End) }

// AnswerSpan is the rows of the answer to a finished request: [start, forwarded).
// start comes from [PromptStart.Resolve]; forwarded is the number of leading tokens
// that have rows, computed or taken from the cache: N-1 of N tokens once one was
// sampled, P for a request that only scores its P prompt tokens, whatever was
// reached by an aborted one.
//
// There is an answer, possibly of no rows, only if start was reached: a request
// that was aborted before any forward pass has none, and the field routed_experts
// is left out then.
func AnswerSpan(start, forwarded int) (Span, bool) {
	if forwarded < 1 || start < 0 || start > forwarded {
		return Span{}, false
	}
	return Span{Start: start, End: forwarded}, true
}

// Stream decides which chunk of a streamed answer carries which rows. The field
// comes once, with the final chunk, as vLLM does it; or per chunk, in spans that
// follow each other without gap or overlap.
type Stream struct {
	perChunk bool
	start    int // position of the next row to send
	sent     bool
	ended    bool
}

// NewStream begins a streamed answer whose rows start at a position, which comes
// from [PromptStart.Resolve]. With perChunk the rows of new tokens come with their
// chunk, otherwise all come with the final one.
func NewStream(start int, perChunk bool) (*Stream, error) {
	if start < 0 {
		return nil, &auxerrors.ConfigError{Field: "start", Value: start, Want: "at least 0", Reason: auxerrors.ErrTooSmall}
	}
	return &Stream{perChunk: perChunk, start: start}, nil
}

// Chunk is the rows that go with the next chunk, when forwarded tokens in all have
// rows (see [AnswerSpan]), and whether the field is present in that chunk. A final
// chunk has it even if there is no row left to send, and even if it brings no
// token; unless start was never reached.
//
// A forwarded below the rows that were sent (a stop string cut the text), or a chunk
// after the final one, is an [auxerrors.ConfigError] and changes nothing: what was
// sent cannot be taken back.
func (s *Stream) Chunk(forwarded int, final bool) (Span, bool, error) {
	if s.ended {
		return Span{}, false, &auxerrors.ConfigError{Field: "chunk", Value: forwarded, Want: "no chunk after the final one", Reason: auxerrors.ErrOutOfRange}
	}
	if s.sent && forwarded < s.start {
		return Span{}, false, &auxerrors.ConfigError{Field: "forwarded", Value: forwarded, Want: fmt.Sprintf("at least %d, the end of the rows that were sent", s.start), Reason: auxerrors.ErrOutOfRange}
	}
	s.ended = final
	span, present := AnswerSpan(s.start, forwarded)
	if !present || !final && (!s.perChunk || span.Len() == 0) {
		return Span{}, false, nil
	}
	s.start, s.sent = span.End, true
	return span, true, nil
}
