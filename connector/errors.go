package connector

import (
	"errors"
	"fmt"
)

// What the two halves refuse. Every error of this package that is not one of
// errors.ConfigError or errors.BlockObjectStoreError is a [StepError] that wraps
// one of these. What was refused has changed nothing.
var (
	// ErrGenerationBackwards reports metadata of an older generation than the
	// worker's.
	ErrGenerationBackwards = errors.New("generation moved backwards")

	// ErrRunAndFinish reports a request that is scheduled and finished in one
	// step without starting a new life in it.
	ErrRunAndFinish = errors.New("request runs and finishes in one step")

	// ErrEmitAhead reports a scheduler that takes rows for handed out which the
	// worker has not handed out yet.
	ErrEmitAhead = errors.New("emit start is ahead of the worker")

	// ErrUnknownRequest reports a request that the worker has no state of.
	ErrUnknownRequest = errors.New("unknown request")

	// ErrDuplicateRequest reports a request that is listed twice, or that starts
	// while it is running.
	ErrDuplicateRequest = errors.New("duplicate request")

	// ErrMetadata reports metadata with a zero key, a negative emit start or hit, or
	// more keys than room was reserved for.
	ErrMetadata = errors.New("malformed metadata")

	// ErrTokenCount reports a request that executed no token in a step it is
	// listed in, or lists of a step that do not belong together.
	ErrTokenCount = errors.New("invalid token count")

	// ErrRejectedCount reports more rejected tokens than executed ones, or fewer
	// than none.
	ErrRejectedCount = errors.New("invalid rejected count")

	// ErrCaptureGap reports rows that begin behind the last ones, where the gap
	// is not a rejected suffix of an earlier step.
	ErrCaptureGap = errors.New("captured rows leave a gap")

	// ErrCaptureBackwards reports rows that begin before the end of the last ones.
	ErrCaptureBackwards = errors.New("captured rows moved backwards")

	// ErrNotContiguous reports rows that do not continue a tail, or first rows
	// that begin in the middle of a block.
	ErrNotContiguous = errors.New("captured rows are not contiguous")

	// ErrSkippedBlock reports rows of another block than the one a tail is in.
	ErrSkippedBlock = errors.New("captured rows skip an incomplete block")

	// ErrNegativeStart reports rows at a position below zero.
	ErrNegativeStart = errors.New("captured rows start below zero")

	// ErrProfile reports rows of another size than the profile's.
	ErrProfile = errors.New("rows do not fit the profile")

	// ErrExhausted reports that all blocks of the tail pool are in use.
	ErrExhausted = errors.New("tail pool is exhausted")

	// ErrRows reports captured rows that failed a check. It comes with a
	// routing.IDError that names position, layer and slot.
	ErrRows = errors.New("captured rows are wrong")

	// ErrRange reports positions whose rows are neither in a block with a known
	// key nor in a waiting block nor in the tail.
	ErrRange = errors.New("rows are not available")

	// ErrStepLost reports a request that has no rows for the positions of a step
	// that was abandoned, or whose metadata was refused.
	ErrStepLost = errors.New("rows of an abandoned step are lost")

	// ErrStepOrder reports a step whose turn it is not: outputs are processed in
	// the order in which their steps began, each once.
	ErrStepOrder = errors.New("steps are not processed in order")

	// ErrInFlight reports more steps begun and not processed than there may be.
	ErrInFlight = errors.New("too many steps in flight")

	// ErrHashesShrank reports a request with fewer hashes than were sent already.
	ErrHashesShrank = errors.New("history of block hashes shrank")

	// ErrRequestCounts reports token counts or a prompt start of a request that
	// contradict each other.
	ErrRequestCounts = errors.New("invalid counts of a request")

	// ErrKVBlock reports a KV block that is not what the caller takes it for: not in
	// the pool, or not filed under the hash that a request hits.
	ErrKVBlock = errors.New("KV block does not fit")

	// ErrOutputMissing reports a request that got tokens in a step but no rows.
	ErrOutputMissing = errors.New("output of the request is missing")

	// ErrInvalidRange reports an output with fewer rows than accepted tokens.
	ErrInvalidRange = errors.New("output has fewer rows than tokens were accepted")

	// ErrNoAcceptedRange reports a finished request whose last output lies behind
	// all of its tokens.
	ErrNoAcceptedRange = errors.New("output lies behind the accepted tokens")
)

// StepError tells what of a step was refused, and why.
type StepError struct {
	Op      string // "begin", "process", "build", "take", ...
	Request string // id of the request concerned; empty if it is none in particular
	Reason  error  // one of the sentinels of this package or of package errors
	Detail  string // the numbers behind the reason, if there are any to tell
}

// Error names the operation, the reason, the request and the numbers.
func (e *StepError) Error() string {
	text := "auxoutput: " + e.Op + ": " + e.Reason.Error()
	if e.Request != "" {
		text += fmt.Sprintf(": request %q", e.Request)
	}
	if e.Detail != "" {
		text += ": " + e.Detail
	}
	return text
}

// Unwrap gives the reason to [errors.Is] and [errors.As].
func (e *StepError) Unwrap() error { return e.Reason }

// refuse makes a StepError.
func refuse(op, request string, reason error, format string, args ...any) *StepError {
	return &StepError{Op: op, Request: request, Reason: reason, Detail: fmt.Sprintf(format, args...)}
}

// named says which request an error of the tail pool concerns.
func named(err error, op, request string) error {
	var step *StepError
	if errors.As(err, &step) {
		step.Op, step.Request = op, request
	}
	return err
}
