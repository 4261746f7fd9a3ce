package prefixcache

import "errors"

// What a caller can get wrong about a request or a block. [RequestError] wraps
// one of these.
var (
	// ErrAdmitted reports the admission of a request that holds blocks already.
	ErrAdmitted = errors.New("request is admitted already")

	// ErrNotAdmitted reports an operation on a request that holds no blocks of
	// this cache.
	ErrNotAdmitted = errors.New("request is not admitted")

	// ErrTokens reports token counts that shrank, or that no request can have.
	ErrTokens = errors.New("token counts are impossible")

	// ErrHashes reports hashes that shrank, that are more than the tokens fill,
	// or that are zero.
	ErrHashes = errors.New("hashes do not fit the tokens")

	// ErrSchedule reports a number of tokens to schedule, to reject or to hit
	// that is negative, or that goes beyond what is there.
	ErrSchedule = errors.New("token range is impossible")

	// ErrBlock reports a block id that the pool does not have.
	ErrBlock = errors.New("no such block")

	// ErrGroup reports a group that the cache does not have.
	ErrGroup = errors.New("no such group")
)

// RequestError is what an operation returns that was asked for something that
// makes no sense. The operation has changed nothing.
type RequestError struct {
	Op     string // the operation, in lower case: "admit", "free", ...
	Reason error  // one of the sentinels of this package
	Detail string // the numbers behind the reason, if there are any to tell
}

// Error names the operation, the reason and the numbers.
func (e *RequestError) Error() string {
	text := "prefixcache: " + e.Op + ": " + e.Reason.Error()
	if e.Detail != "" {
		text += ": " + e.Detail
	}
	return text
}

// Unwrap gives the reason to [errors.Is].
func (e *RequestError) Unwrap() error { return e.Reason }
