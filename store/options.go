package store

import (
	"fmt"
	"math"
	"math/bits"

	auxerrors "github.com/auxoutput/auxoutput/errors"
)

// MaxSlots is the largest number of slots of one store.
const MaxSlots = math.MaxInt32 - 1

// Options describe a store. MaxBytes and BlockBytes are required.
type Options struct {
	// MaxBytes is the budget for the rows, in bytes. The store has
	// floor(MaxBytes / BlockBytes) slots, at least one and at most MaxSlots.
	MaxBytes int64

	// BlockBytes is the size of every block: block tokens x row bytes.
	BlockBytes int

	// Verify keeps a checksum (XXH64) of every block. A put whose payload
	// differs from that of the block already present, or from that of its first
	// mention in the batch, then counts as a conflict, and a read checks the bytes before it returns them. It roughly doubles the
	// cost of both and adds 8 bytes a slot.
	Verify bool

	// Populate makes the budget resident in New, so that a lack of memory fails
	// there and first use costs no page faults. The index is on huge pages then, and
	// a reset populates the next one, so that for a moment there are two.
	//
	// New refuses a budget above the memory limit of the process's control groups
	// (Linux, cgroup v2 or v1). That is all it can do about them: the kernel refuses
	// nothing when a group reaches its limit, but kills a process, so a budget below
	// the limit that does not fit beside what else the group uses is no error.
	// Without Populate the budget is not compared with anything, as it may never be
	// used.
	Populate bool

	// NoHugePages leaves out the advice to back blocks and book-keeping with huge
	// pages, which make first use cheaper by half, and reads a little.
	NoHugePages bool
}

// slots checks the options and returns the number of slots.
func (o Options) slots() (int, error) {
	if o.BlockBytes < 1 {
		return 0, &auxerrors.ConfigError{Field: "BlockBytes", Value: o.BlockBytes, Want: "at least 1", Reason: auxerrors.ErrTooSmall}
	}
	if o.MaxBytes < int64(o.BlockBytes) {
		return 0, &auxerrors.ConfigError{
			Field: "MaxBytes", Value: o.MaxBytes, Reason: auxerrors.ErrTooSmall,
			Want: fmt.Sprintf("at least one block of %d bytes", o.BlockBytes),
		}
	}
	slots := o.MaxBytes / int64(o.BlockBytes)
	if slots > MaxSlots {
		return 0, &auxerrors.ConfigError{
			Field: "MaxBytes", Value: o.MaxBytes, Reason: auxerrors.ErrTooLarge,
			Want: fmt.Sprintf("at most %d blocks of %d bytes", MaxSlots, o.BlockBytes),
		}
	}
	if slots*int64(o.BlockBytes) > math.MaxInt {
		return 0, &auxerrors.ConfigError{
			Field: "MaxBytes", Value: o.MaxBytes, Reason: auxerrors.ErrTooLarge,
			Want: fmt.Sprintf("at most %d on this platform", math.MaxInt),
		}
	}
	return int(slots), nil
}

// Budget is the MaxBytes that gives one slot to each hash block of a KV pool:
// KV blocks x hashes per KV block x block bytes. It is the default of vLLM's aux
// output connector. A factor below 1, or a product that no int64 holds, is a
// [auxerrors.ConfigError].
func Budget(kvBlocks, hashesPerKVBlock, blockBytes int) (int64, error) {
	product := uint64(1)
	for _, factor := range []struct {
		field string
		value int
	}{{"KV blocks", kvBlocks}, {"hashes per KV block", hashesPerKVBlock}, {"block bytes", blockBytes}} {
		if factor.value < 1 {
			return 0, &auxerrors.ConfigError{Field: factor.field, Value: factor.value, Want: "at least 1", Reason: auxerrors.ErrTooSmall}
		}
		high, low := bits.Mul64(product, uint64(factor.value))
		if high != 0 || low > math.MaxInt64 {
			return 0, &auxerrors.ConfigError{
				Field: "budget", Value: fmt.Sprintf("%d x %d x %d bytes", kvBlocks, hashesPerKVBlock, blockBytes),
				Want: fmt.Sprintf("at most %d", int64(math.MaxInt64)), Reason: auxerrors.ErrTooLarge,
			}
		}
		product = low
	}
	return int64(product), nil
}
