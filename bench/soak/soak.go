// Package soak runs everything together for a long time, with all checks on and
// faults thrown in at random: simulated engines in every default mode, and beside
// them one store that readers, viewers, leases, a background writer, resets and
// misuse share. Whatever ought not to happen is a violation.
package soak

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/auxoutput/auxoutput/bench/engine"
	"github.com/auxoutput/auxoutput/bench/machine"
	"github.com/auxoutput/auxoutput/connector"
)

// Options say how long, and within which memory.
type Options struct {
	Duration    time.Duration
	Seed        uint64
	MaxResident int64 // bytes of resident memory that must not be passed; 0 means no limit
}

// Summary is what was done, and what went wrong.
type Summary struct {
	Seconds     float64 `json:"seconds"`
	Scenarios   int64   `json:"scenarios"`
	Finished    int64   `json:"finished_requests"`
	RowsChecked int64   `json:"engine_rows_checked"`

	Puts     int64 `json:"puts"`
	Refused  int64 `json:"refused_puts"` // no room, or a generation that was over
	Misused  int64 `json:"misuses_refused"`
	Reads    int64 `json:"reads"`
	Absent   int64 `json:"absent"` // reads that found a block gone
	Views    int64 `json:"views"`
	Leases   int64 `json:"leases"`
	Resets   int64 `json:"resets"`
	Blocks   int64 `json:"blocks_checked"`
	Panicked int64 `json:"consumers_that_panicked"`

	PeakResident int64    `json:"peak_resident_bytes"` // 0 where it cannot be measured
	Violations   []string `json:"violations"`
}

// mostViolations is how many are told.
const mostViolations = 20

// run is a soak under way.
type run struct {
	ctx  context.Context
	stop context.CancelFunc

	counts counts

	mu      sync.Mutex
	summary Summary
}

// counts are the counters of a summary while everybody counts. Their type keeps
// them aligned on 32-bit platforms.
type counts struct {
	Scenarios, Finished, RowsChecked        atomic.Int64
	Puts, Refused, Misused, Reads, Absent   atomic.Int64
	Views, Leases, Resets, Blocks, Panicked atomic.Int64
}

// total is the summary with all that was counted.
func (r *run) total() Summary {
	s, c := r.summary, &r.counts
	s.Scenarios, s.Finished, s.RowsChecked = c.Scenarios.Load(), c.Finished.Load(), c.RowsChecked.Load()
	s.Puts, s.Refused, s.Misused = c.Puts.Load(), c.Refused.Load(), c.Misused.Load()
	s.Reads, s.Absent, s.Views = c.Reads.Load(), c.Absent.Load(), c.Views.Load()
	s.Leases, s.Resets, s.Blocks, s.Panicked = c.Leases.Load(), c.Resets.Load(), c.Blocks.Load(), c.Panicked.Load()
	return s
}

// violate notes something that ought not to have happened. After many of them
// there is nothing to be learnt from more.
func (r *run) violate(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.summary.Violations = append(r.summary.Violations, fmt.Sprintf(format, args...))
	if len(r.summary.Violations) >= mostViolations {
		r.stop()
	}
}

// Run soaks until the time is over or ctx ends. tick is called about once a second
// with the time that has passed.
func Run(ctx context.Context, options Options, tick func(time.Duration)) (Summary, error) {
	r := &run{}
	r.ctx, r.stop = context.WithTimeout(ctx, options.Duration)
	defer r.stop()
	shared, err := newShared(r, options.Seed)
	if err != nil {
		return Summary{}, err
	}
	began := time.Now()
	var wg sync.WaitGroup
	for i, mode := range []connector.Mode{connector.FailClosed, connector.RowGated, connector.Linked} {
		wg.Go(func() { r.scenarios(mode, options.Seed+uint64(i)<<32) })
	}
	shared.start(&wg)
	wg.Go(func() { r.watch(options.MaxResident, began, tick) })
	wg.Wait()
	shared.finish()
	r.summary.Seconds = time.Since(began).Seconds()
	return r.total(), nil
}

// scenarios runs one simulated engine after the other.
func (r *run) scenarios(mode connector.Mode, seed uint64) {
	for ; r.ctx.Err() == nil; seed++ {
		scenario := engine.Draw(mode, seed)
		report, err := scenario.Run()
		if err != nil {
			r.violate("%v scenario of seed %d: %v", mode, seed, err)
		}
		r.counts.Scenarios.Add(1)
		r.counts.Finished.Add(int64(report.Finished))
		r.counts.RowsChecked.Add(report.RowsChecked)
	}
}

// watch looks at the memory of the process every second.
func (r *run) watch(limit int64, began time.Time, tick func(time.Duration)) {
	every := time.NewTicker(time.Second)
	defer every.Stop()
	for {
		resident, _ := machine.Resident()
		r.summary.PeakResident = max(r.summary.PeakResident, resident)
		if limit > 0 && resident > limit {
			r.violate("resident memory is %d bytes, more than %d", resident, limit)
			r.stop()
		}
		tick(time.Since(began))
		select {
		case <-every.C:
		case <-r.ctx.Done():
			return
		}
	}
}
