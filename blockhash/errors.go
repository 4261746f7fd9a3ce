package blockhash

import (
	"errors"
	"fmt"
	"strconv"
)

// The errors of this package; test for them with [errors.Is].
var (
	// ErrSize reports a digest of a length that no algorithm produces, or one
	// that cannot be the parent of a block under the algorithm at hand.
	ErrSize = errors.New("blockhash: wrong digest size")

	// ErrAlgorithm reports a name or a number that stands for no algorithm.
	ErrAlgorithm = errors.New("blockhash: unknown algorithm")

	// ErrNoDefaultRoot reports an algorithm whose default root an engine draws
	// at random, so that nobody outside its process can know it.
	ErrNoDefaultRoot = errors.New("blockhash: root is random unless the engine is given a seed")

	// ErrNoSeed reports that no candidate seed explains an observed hash.
	ErrNoSeed = errors.New("blockhash: no candidate seed gives the observed hash")

	// ErrBlockTokens reports a block without tokens, or a coarse block that is
	// not a whole number of fine ones.
	ErrBlockTokens = errors.New("blockhash: wrong number of tokens in a block")

	// ErrToken reports text that is no token. [TokenError] wraps it.
	ErrToken = errors.New("blockhash: not a token")

	// ErrText reports a name, salt or seed that is no valid UTF-8, or longer
	// than [MaxText].
	ErrText = errors.New("blockhash: text cannot be hashed")

	// ErrRequest reports a description that no request can have.
	// [RequestError] wraps it.
	ErrRequest = errors.New("blockhash: impossible request")
)

// TokenError is text that is no token, where a token was expected.
type TokenError struct {
	Text   string // the offending text, shortened if it is long
	Offset int    // where it starts, in bytes from the start of the text read

	// Reason is [strconv.ErrRange] for a whole number that does not fit into 32
	// bits without a sign, and [strconv.ErrSyntax] for anything else.
	Reason error
}

// Error says what stands where, and what is allowed.
func (e *TokenError) Error() string {
	why := "not a whole number"
	if e.Reason == strconv.ErrRange {
		why = "not within 0..4294967295"
	}
	return fmt.Sprintf("%v: %q at offset %d is %s", ErrToken, e.Text, e.Offset, why)
}

// Unwrap gives [ErrToken] and the reason to [errors.Is].
func (e *TokenError) Unwrap() []error { return []error{ErrToken, e.Reason} }

// RequestError is the field of a [Request] that cannot be.
type RequestError struct {
	Field  string // name of the field
	Index  int    // which image, from 0; -1 for the other fields
	Detail string // what is wrong with it, with the numbers
	Reason error  // ErrText if that is what is wrong, else nil
}

// Error names the field and what is wrong with it.
func (e *RequestError) Error() string {
	if e.Index >= 0 {
		return fmt.Sprintf("%v: %s[%d]: %s", ErrRequest, e.Field, e.Index, e.Detail)
	}
	return fmt.Sprintf("%v: %s: %s", ErrRequest, e.Field, e.Detail)
}

// Unwrap gives [ErrRequest], and the reason if there is one, to [errors.Is].
func (e *RequestError) Unwrap() []error {
	if e.Reason == nil {
		return []error{ErrRequest}
	}
	return []error{ErrRequest, e.Reason}
}
