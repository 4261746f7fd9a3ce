// Package errors holds the typed errors of the module. Its name is that of a
// standard package, so import it under another one:
//
//	import auxerrors "github.com/auxoutput/auxoutput/errors"
//
// Every error carries a sentinel that [errors.Is] finds, and the numbers a
// person needs in fields that [errors.As] reaches. An operation that returns an
// error has changed nothing.
package errors

// sentinel is an error whose identity is what matters. A sentinel may be a
// special case of another: whoever tests for the general one finds it too.
type sentinel struct {
	text    string
	general error
}

func (s *sentinel) Error() string { return s.text }
func (s *sentinel) Unwrap() error { return s.general }

// What can go wrong with blocks of rows. [BlockObjectStoreError] wraps one of
// these.
var (
	// ErrAbsent reports that a requested block is not in the store. It is the
	// general form of ErrEvicted, ErrNeverStored and ErrRemoved. An error that is
	// none of these three, and only this, says that the store no longer knows why:
	// its memory of what it evicted is bounded.
	ErrAbsent error = &sentinel{text: "block is not in the store"}

	// ErrEvicted reports an absent block that was stored in this generation and
	// gave way to newer ones. A larger max_bytes would have kept it longer.
	ErrEvicted error = &sentinel{"block was evicted", ErrAbsent}

	// ErrNeverStored reports an absent block that was not stored in this
	// generation. It is certain: where a store cannot know, it says ErrAbsent.
	ErrNeverStored error = &sentinel{"block was never stored", ErrAbsent}

	// ErrRemoved reports an absent block that its owner removed.
	ErrRemoved error = &sentinel{"block was removed", ErrAbsent}

	// ErrCannotFit reports a batch that does not fit, even if every block that
	// may be evicted is.
	ErrCannotFit error = &sentinel{text: "batch does not fit into the store"}

	// ErrPayloadSize reports a payload whose length is not that of a block.
	ErrPayloadSize error = &sentinel{text: "payload is not one block long"}

	// ErrNotRetained reports the release of a hash that is not retained as
	// often as it would be released.
	ErrNotRetained error = &sentinel{text: "hash is not retained"}

	// ErrInvalidHash reports a zero hash, which identifies nothing.
	ErrInvalidHash error = &sentinel{text: "hash is zero"}

	// ErrGeneration reports a batch of another generation than the store's.
	ErrGeneration error = &sentinel{text: "generation is not the store's"}

	// ErrCorrupt reports a block whose bytes are no longer those that were
	// published, found by the optional checksum.
	ErrCorrupt error = &sentinel{text: "block does not match its checksum"}

	// ErrPublication reports that an earlier background put failed. The cause
	// is wrapped beside it.
	ErrPublication error = &sentinel{text: "background publication failed"}

	// ErrClosed reports an operation on something that is closed.
	ErrClosed error = &sentinel{text: "closed"}

	// ErrInUse reports that something was still being used when the caller stopped
	// waiting for it to be closed. The context's error is wrapped beside it.
	ErrInUse error = &sentinel{text: "still in use"}

	// ErrMemory reports that the system refused the memory for the blocks.
	ErrMemory error = &sentinel{text: "memory could not be had"}
)

// What can be wrong with numbers that a caller gives. [ConfigError] wraps one
// of these.
var (
	// ErrTooSmall reports a value below the least that makes sense.
	ErrTooSmall error = &sentinel{text: "value is too small"}

	// ErrTooLarge reports a value, or a product of values, beyond what can be
	// represented or managed.
	ErrTooLarge error = &sentinel{text: "value is too large"}

	// ErrOutOfRange reports an index or a position outside what there is.
	ErrOutOfRange error = &sentinel{text: "out of range"}

	// ErrMismatch reports values that contradict each other.
	ErrMismatch error = &sentinel{text: "values contradict each other"}
)
