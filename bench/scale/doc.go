// Package scale measures what stays the same as a store grows: the cost of its
// operations for each block, with 50 thousand blocks and with 5 million; what the
// garbage collector notices of it; what hundreds of goroutines get out of it; and
// what a budget larger than the machine costs before it is used.
//
// Stores of all sizes take their turns in one run, and beside each the bare copies
// of the same blocks. Every block carries a stamp that is checked when it is read.
package scale

import (
	"context"
	"fmt"
	"math"

	"github.com/auxoutput/auxoutput/bench/machine"
	"github.com/auxoutput/auxoutput/store"
)

// Options say how large the work is.
type Options struct {
	Slots      []int // sizes of the stores, in blocks
	BlockBytes int   // of their blocks
	Rounds     int
	Goroutines int   // most that share a store
	GCBytes    int64 // store that the collector works beside
	PaperBytes int64 // budget that is only reserved
}

// Check refuses work that cannot be done here, or that measures nothing.
func (o Options) Check() error {
	if len(o.Slots) == 0 {
		return fmt.Errorf("no sizes: want at least one")
	}
	var need int64
	for _, slots := range o.Slots {
		if slots < 4*readBlocks || slots > math.MaxInt32/2 {
			return fmt.Errorf("%d slots: want %d to %d", slots, 4*readBlocks, math.MaxInt32/2)
		}
		bytes := int64(slots) * int64(o.BlockBytes)
		need += bytes + min(bytes, mostBare) + int64(slots)*int64(store.MetadataBytes)
	}
	switch {
	case o.BlockBytes < 64 || o.BlockBytes > 1<<20:
		return fmt.Errorf("blocks of %d bytes: want 64 bytes to 1 MiB", o.BlockBytes)
	case o.Rounds < 1 || o.Rounds > 1000:
		return fmt.Errorf("%d rounds: want 1 to 1000", o.Rounds)
	case o.Goroutines < 1 || o.Goroutines > 1<<16:
		return fmt.Errorf("%d goroutines: want 1 to 65,536", o.Goroutines)
	case o.GCBytes < gcBlock || o.PaperBytes < gcBlock:
		return fmt.Errorf("budgets of %d and %d bytes: want at least one block of %d", o.GCBytes, o.PaperBytes, gcBlock)
	}
	if available := machine.Available(); available > 0 && max(need, o.GCBytes) > available/10*9 {
		return fmt.Errorf("%d bytes are needed and %d available: lower the slots, the bytes of a block, or the store beside the collector",
			max(need, o.GCBytes), available)
	}
	return nil
}

// Report is everything that was measured.
type Report struct {
	Machine    string    `json:"machine"`
	BlockBytes int       `json:"block_bytes"`
	Sizes      []Size    `json:"sizes"`
	Costs      []Cost    `json:"costs"`
	Crowds     []Crowd   `json:"crowds"`
	Collector  Collector `json:"collector"`
	Paper      Paper     `json:"paper"`
}

// Measure does all of it. A wrong row is an error. The ticks, one for each part of
// the work, are for who waits.
func Measure(ctx context.Context, o Options, tick func()) (Report, error) {
	r := Report{Machine: machine.Line(), BlockBytes: o.BlockBytes}
	if err := o.Check(); err != nil {
		return r, err
	}
	for _, part := range []func() error{
		func() (err error) { r.Sizes, r.Costs, err = measureCosts(ctx, o, tick); return err },
		func() (err error) { r.Crowds, err = measureCrowds(ctx, o, tick); return err },
		func() (err error) { r.Collector, err = measureCollector(ctx, o.GCBytes); tick(); return err },
		func() (err error) { r.Paper, err = measurePaper(o.PaperBytes); tick(); return err },
	} {
		if err := part(); err != nil {
			return r, err
		}
	}
	return r, nil
}

// Ticks is how often Measure ticks.
func (o Options) Ticks() int { return len(o.Slots)*(1+o.Rounds) + len(crowdSizes(o.Goroutines)) + 2 }
