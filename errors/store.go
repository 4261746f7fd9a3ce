package errors

import (
	"encoding/hex"
	"fmt"
	"strings"
)

// BlockObjectStoreError is what every failing operation on a store of blocks
// returns. The name is the one that users of vLLM's aux output connector know.
type BlockObjectStoreError struct {
	Op     string // the operation, in lower case: "get", "put", ...
	Reason error  // one of the sentinels of this package, or an error that wraps one

	// Hash is the first hash in the order given for which the reason holds, and
	// Index its place in that list, from 0. Hash is nil and Index -1 if the
	// reason concerns no single hash.
	Hash  []byte
	Index int

	Used  int // slots that hold a block, at the time of the error
	Limit int // slots in all: floor(max_bytes / block bytes)

	Detail string // the numbers behind the reason, if there are any to tell
	Advice string // what to do about it, if there is something
}

// Error says what happened, with the numbers, and what to do.
func (e *BlockObjectStoreError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "auxoutput: %s: %v", e.Op, e.Reason)
	if e.Hash != nil {
		fmt.Fprintf(&b, ": hash %s", hex.EncodeToString(e.Hash))
		if e.Index >= 0 {
			fmt.Fprintf(&b, " at index %d", e.Index)
		}
	}
	if e.Detail != "" {
		fmt.Fprintf(&b, ": %s", e.Detail)
	}
	if e.Limit > 0 {
		fmt.Fprintf(&b, " (used %d of %d slots)", e.Used, e.Limit)
	}
	if e.Advice != "" {
		fmt.Fprintf(&b, "; %s", e.Advice)
	}
	return b.String()
}

// Unwrap gives the reason to [errors.Is] and [errors.As].
func (e *BlockObjectStoreError) Unwrap() error { return e.Reason }
