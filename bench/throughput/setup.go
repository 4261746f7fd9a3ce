package throughput

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

const (
	batchBlocks  = 32  // blocks of a put, and of a chain of the mix
	pairedHashes = 256 // hashes of a read that shares the cache with somebody
	minSlots     = 256
)

// ReadCounts are the numbers of hashes of the concatenated reads.
var ReadCounts = []int{64, 256, 1024, 2048}

// Setup says how large the work is.
type Setup struct {
	BudgetBytes int64 `json:"budget_bytes"`
	BlockBytes  int   `json:"block_bytes"`

	// SourceBytes is the region that rows are put from, round and round. It should
	// be larger than the caches of the machine, as rows that an engine has written
	// some time ago are in none of them.
	SourceBytes int64 `json:"source_bytes"`

	// Retained are the shares of slots, in percent and rising, that are held
	// while others are put. Every contestant has to be a [Holder] then.
	Retained []int `json:"retained,omitempty"`

	// Allocations counts the heap objects that a put and a read leave behind.
	Allocations bool `json:"allocations,omitempty"`
}

// Slots is the number of blocks that the budget holds.
func (s Setup) Slots() int { return int(s.BudgetBytes / int64(s.BlockBytes)) }

// Check refuses work that would measure nothing.
func (s Setup) Check() error {
	switch {
	case s.BlockBytes < 64 || s.BlockBytes > 64<<20:
		return fmt.Errorf("block of %d bytes: want 64 bytes to 64 MiB", s.BlockBytes)
	case s.BudgetBytes > math.MaxInt/4 || s.SourceBytes > math.MaxInt/4:
		return fmt.Errorf("budget of %d and source of %d bytes: beyond this platform", s.BudgetBytes, s.SourceBytes)
	case s.BudgetBytes < minSlots*int64(s.BlockBytes):
		return fmt.Errorf("budget of %d bytes: want at least %d blocks", s.BudgetBytes, minSlots)
	case s.SourceBytes < 2*batchBlocks*int64(s.BlockBytes):
		return fmt.Errorf("source of %d bytes: want at least %d blocks", s.SourceBytes, 2*batchBlocks)
	}
	for i, share := range s.Retained {
		if share < 0 || share > 99 || i > 0 && share < s.Retained[i-1] {
			return fmt.Errorf("%v %% retained: want shares from 0 to 99, rising", s.Retained)
		}
	}
	return nil
}

// ParseBytes reads a size such as 1GiB, 256MiB, 6KiB or 6144.
func ParseBytes(text string) (int64, error) {
	number, shift := strings.TrimSpace(text), 0
	for i, unit := range []string{"KiB", "MiB", "GiB"} {
		if rest, found := strings.CutSuffix(number, unit); found {
			number, shift = strings.TrimSpace(rest), 10*(i+1)
			break
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 1 || n > math.MaxInt64>>shift {
		return 0, fmt.Errorf("%q is not a size: want bytes, or a number of KiB, MiB or GiB", text)
	}
	return n << shift, nil
}

// FormatBytes writes a size as ParseBytes reads it.
func FormatBytes(n int64) string {
	for i, unit := range []string{"GiB", "MiB", "KiB"} {
		if shift := 10 * (3 - i); n >= 1<<shift && n&(1<<shift-1) == 0 {
			return strconv.FormatInt(n>>shift, 10) + unit
		}
	}
	return strconv.FormatInt(n, 10)
}

// ParseSetups reads lists of budgets and block sizes and crosses them.
func ParseSetups(budgets, blocks, source string) ([]Setup, error) {
	sourceBytes, err := ParseBytes(source)
	if err != nil {
		return nil, err
	}
	var setups []Setup
	for _, budget := range strings.Split(budgets, ",") {
		budgetBytes, err := ParseBytes(budget)
		if err != nil {
			return nil, err
		}
		for _, block := range strings.Split(blocks, ",") {
			blockBytes, err := ParseBytes(block)
			if err != nil {
				return nil, err
			}
			setup := Setup{BudgetBytes: budgetBytes, BlockBytes: int(min(blockBytes, math.MaxInt32)), SourceBytes: sourceBytes}
			if err := setup.Check(); err != nil {
				return nil, err
			}
			setups = append(setups, setup)
		}
	}
	return setups, nil
}
