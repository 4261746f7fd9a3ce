package throughput

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/auxoutput/auxoutput/bench/machine"
	"github.com/auxoutput/auxoutput/bench/numbered"
	"github.com/auxoutput/auxoutput/blockhash"
)

// bout is one round: the lanes go through each phase together, turn by turn.
type bout struct {
	setup  Setup
	lanes  []*lane
	runs   []Run
	source machine.Region
	dst    machine.Region // what single readers read into
	second machine.Region // what a second one reads into
}

// Measure takes the contestants through one round and returns what each of them
// did. If only limits stand beside the last contestant, it also learns what it did
// to the memory of the process. Rows other than those put are an error, a block that is gone is not.
func Measure(ctx context.Context, setup Setup, contestants ...Contestant) (runs []Run, err error) {
	if err := setup.Check(); err != nil {
		return nil, err
	}
	if len(contestants) == 0 {
		return nil, errors.New("no contestants")
	}
	b := &bout{setup: setup}
	defer func() { err = errors.Join(err, b.close()) }()
	if err := b.reserve(); err != nil {
		return nil, err
	}
	// The lanes' own lists, touched like the buffers: they are no part of what a cache
	// adds to the resident memory.
	lists := make([][]blockhash.Hash, len(contestants))
	for i := range lists {
		lists[i] = make([]blockhash.Hash, setup.Slots()/2+1)
		for j := range lists[i] {
			lists[i][j] = numbered.Hash(0)
		}
	}
	before := readMemory()
	for i, c := range contestants {
		cache, err := c.Make(setup)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.Name, err)
		}
		b.lanes = append(b.lanes, &lane{
			Contestant: c, cache: cache, blockBytes: setup.BlockBytes, slots: setup.Slots(),
			resident: lists[i][:0],
			source:   b.source.Bytes,
			// Far from what the others put at the same time.
			at: len(b.source.Bytes) / setup.BlockBytes * i / len(contestants) * setup.BlockBytes,
		})
		b.runs = append(b.runs, Run{Name: c.Name})
	}
	if err := b.phases(ctx); err != nil {
		return nil, err
	}
	for i, l := range b.lanes {
		b.runs[i].Samples = l.samples
		if counter, ok := l.cache.(Counter); ok {
			b.runs[i].MetadataBytes = counter.MetadataBytes()
		}
	}
	last := len(b.lanes) - 1
	if !slices.ContainsFunc(b.lanes[:last], func(l *lane) bool { return !l.Bare }) {
		m := readMemory().since(before)
		if m.ResidentPeak > 0 {
			m.ResidentPeak -= int64(last) * int64(setup.Slots()*setup.BlockBytes)
		}
		b.runs[last].Memory = m
	}
	return b.runs, nil
}

// Warm touches as much memory as a round may need and gives it back. On a virtual
// machine this makes the host provide it, which would cost whoever comes first
// several times what first touches cost later.
func Warm(setup Setup) error {
	r, err := machine.NewRegion(int(setup.SourceBytes+4*setup.BudgetBytes), true)
	if err != nil {
		return err
	}
	r.Fill()
	return r.Release()
}

// reserve makes the buffers and touches them, so that they cost nothing later.
func (b *bout) reserve() error {
	var err error
	reserve := func(r *machine.Region, size int) {
		if err == nil {
			if *r, err = machine.NewRegion(size, true); err == nil {
				r.Fill()
			}
		}
	}
	reserve(&b.source, int(b.setup.SourceBytes))
	reserve(&b.dst, slices.Max(ReadCounts)*b.setup.BlockBytes)
	reserve(&b.second, pairedHashes*b.setup.BlockBytes)
	return err
}

func (b *bout) phases(ctx context.Context) error {
	slots := b.setup.Slots()
	steps := []func() error{
		func() error { return b.puts(PhaseCold, slots, batchBlocks) },
		func() error { return b.puts(PhaseEvict, slots, batchBlocks) },
		func() error { return b.puts(PhaseSteady, 2*slots, batchBlocks) },
		b.probe,
	}
	for _, n := range ReadCounts {
		steps = append(steps, func() error { return b.reads(n) })
	}
	steps = append(steps, b.twoReaders, b.beside, b.mix)
	if b.setup.Allocations {
		steps = append(steps, b.allocations)
	}
	if len(b.setup.Retained) > 0 {
		steps = append(steps, b.refill, b.retained)
	}
	for _, step := range steps {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (b *bout) probe() error {
	for _, l := range b.lanes {
		if err := l.probe(b.dst.Bytes); err != nil {
			return err
		}
	}
	return nil
}

// refill makes the blocks in the cache the newest ones again after the mix.
func (b *bout) refill() error {
	for _, l := range b.lanes {
		for left := b.setup.Slots(); left > 0; left -= batchBlocks {
			if _, err := l.put(l.fresh(min(batchBlocks, left))); err != nil {
				return err
			}
		}
	}
	return nil
}

// close gives everything back.
func (b *bout) close() error {
	var errs []error
	for _, l := range b.lanes {
		errs = append(errs, l.cache.Close())
	}
	for _, r := range []machine.Region{b.source, b.dst, b.second} {
		errs = append(errs, r.Release())
	}
	return errors.Join(errs...)
}
