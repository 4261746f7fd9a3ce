package connector

import (
	"fmt"
	"strconv"

	auxerrors "github.com/auxoutput/auxoutput/errors"
)

// Mode says what happens when the KV cache hits a block whose rows are gone. See
// coherence.go for why each of them holds.
type Mode uint8

const (
	// FailClosed serves every KV hit and fails the one request whose rows are
	// gone, which the engine then drops from the KV cache. With a slot for each hash
	// block of the KV pool, the default budget, and of an offload tier, that never
	// happens. Below it, blocks for which running requests leave no room are not
	// stored, and whoever needs them fails alone.
	FailClosed Mode = iota

	// RowGated shortens a KV hit to the rows at hand; the rest is computed again.
	// It needs no minimum of slots: a [Gate] keeps account of the room.
	RowGated

	// Linked is RowGated, and a block that leaves the store leaves the KV cache,
	// and the other way round: rows and KV blocks are there together or not at all.
	Linked

	// Reference does what vLLM's connector does (PR 45635): it retains every known
	// hash, whether the KV cache holds a block for it or not, and stores rows under bare
	// hashes. A hit can then find its rows gone, or those of another computation, and a
	// put can fail, at any budget. It is there to compare.
	Reference
)

var modeNames = [...]string{"fail-closed", "row-gated", "linked", "reference"}

// String is the name that [ParseMode] reads.
func (m Mode) String() string {
	if int(m) >= len(modeNames) {
		return fmt.Sprintf("Mode(%d)", uint8(m))
	}
	return modeNames[m]
}

// ParseMode reads "fail-closed", "row-gated", "linked" or "reference". Anything
// else is an [auxerrors.ConfigError].
func ParseMode(text string) (Mode, error) {
	for m, name := range modeNames {
		if text == name {
			return Mode(m), nil
		}
	}
	return 0, &auxerrors.ConfigError{Field: "mode", Value: strconv.Quote(text), Want: "fail-closed, row-gated, linked or reference", Reason: auxerrors.ErrMismatch}
}

// gated reports whether hits go through a Gate.
func (m Mode) gated() bool { return m == RowGated || m == Linked }
