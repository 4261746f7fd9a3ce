package connector_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/connector"
	auxerrors "github.com/auxoutput/auxoutput/errors"
)

// settle processes the oldest output.
func (e *engine) settle() {
	f := e.flights[0]
	e.flights = e.flights[1:]
	if len(f.runs) == 0 {
		return
	}
	var b connector.Batch
	b.Bounds = append(b.Bounds, 0)
	for _, at := range e.shuffled(len(f.runs)) {
		r := f.runs[at]
		executed, rejected := r.base+r.drafts, 0
		if r.drafts > 0 {
			rejected = e.pick.between(0, r.drafts)
		}
		b.IDs = append(b.IDs, r.s.id)
		b.Starts = append(b.Starts, r.start)
		b.Bounds = append(b.Bounds, b.Bounds[len(b.Bounds)-1]+executed)
		b.Rejected = append(b.Rejected, rejected)
		sampled := 0
		if r.sampling {
			sampled = 1 + r.drafts - rejected
		}
		b.Sampled = append(b.Sampled, sampled)
		for range executed - rejected {
			b.Rows = append(b.Rows, e.row(f.generation, r.number, r.s.tokens, *r.real)...)
			if *r.real++; *r.real%e.cfg.block == 0 {
				e.completed++
			}
		}
		for range rejected * e.profile.RowBytes() {
			b.Rows = append(b.Rows, 0xff)
		}
	}
	b.RowCount = b.Bounds[len(b.Bounds)-1]
	switch e.pick.between(0, 7) {
	case 0: // padding of the bounds
		b.Bounds = append(b.Bounds, b.RowCount+7)
	case 1: // and of the captured rows
		b.RowCount += 7
		b.Bounds = append(b.Bounds, b.RowCount)
		b.Rows = append(b.Rows, make([]byte, 7*e.profile.RowBytes())...)
	}
	err := e.worker.Process(f.step, b, &e.out)
	if f.generation < e.scheduler.Generation() {
		if err != nil {
			require.ErrorIs(e.t, err, auxerrors.ErrGeneration)
			e.refused++
		} else if e.watch != nil {
			e.watch.processed(f)
		}
		return
	}
	require.NoError(e.t, err)
	for _, r := range f.runs {
		if r.life == r.s.life {
			r.s.landed = r.life + 1
		}
	}
	if e.watch != nil {
		e.watch.processed(f)
	}
	for i, id := range b.IDs {
		for _, r := range f.runs {
			if r.s.id == id {
				e.take(r, b.Sampled[i], b.Rejected[i])
			}
		}
	}
	e.check()
}

// take applies what a step sampled, and takes the rows.
func (e *engine) take(r run, sampled, rejected int) {
	s := r.s
	same := r.life == s.life
	if same && rejected > 0 {
		require.NoError(e.t, e.cache.Reject(&s.kv, rejected))
	}
	if sampled == 0 || s.ended || r.life < s.life-1 {
		return
	}
	e.know(s, min(s.known+sampled, len(s.tokens)))
	finished := s.known == len(s.tokens)
	rows, ok, err := e.out.Take(s.id, s.known, finished)
	switch {
	case errors.Is(err, auxerrors.ErrAbsent):
		e.missing++
		e.give(s)
		return
	default:
		require.NoError(e.t, err)
		require.True(e.t, ok)
	}
	var want []byte
	for p := s.emitted; p < s.known-1; p++ {
		want = append(want, e.row(e.scheduler.Generation(), e.wroteBy(s, p), s.tokens, p)...)
	}
	require.Equal(e.t, fmt.Sprintf("%x", want), fmt.Sprintf("%x", rows), "request %s, positions %d to %d", s.id, s.emitted, s.known-1)
	s.emitted = s.known - 1
	if finished {
		e.served++
		e.give(s)
		return
	}
	if same && e.cfg.settles {
		e.register(s)
	}
}

// register files the blocks that are full of computed tokens, if there is room for
// their rows.
func (e *engine) register(s *sequence) {
	inFlight := 0
	for _, f := range e.flights {
		for _, r := range f.runs {
			if r.s == s && r.life == s.life {
				inFlight += r.base + r.drafts
			}
		}
	}
	inFlight = min(inFlight, s.kv.Computed())
	if e.reserve(s, s.kv.Computed()-inFlight) {
		require.NoError(e.t, e.cache.Settle(&s.kv, inFlight))
		e.took(s)
	}
}

// reset preempts everything and clears the prefix cache.
func (e *engine) reset() {
	for len(e.running) > 0 {
		e.leave(e.running[len(e.running)-1], true)
	}
	for _, s := range e.waiting {
		s.life += 2 // tokens in flight are dropped
	}
	require.True(e.t, e.cache.Reset())
	e.scheduler.Reset()
	if gate := e.worker.Gate(); gate != nil {
		require.NoError(e.t, gate.Reset())
	}
}

// check holds what must hold after every step.
func (e *engine) check() {
	if e.writer != nil {
		return
	}
	stats := e.store.Stats()
	require.LessOrEqual(e.t, stats.Used, stats.Slots)
	if gate := e.worker.Gate(); gate != nil {
		require.GreaterOrEqual(e.t, gate.Room(), 0)
	}
}

// drain serves everything that is left, and finds nothing left behind.
func (e *engine) drain() {
	for turn := 0; len(e.waiting)+len(e.running) > 0; turn++ {
		require.Less(e.t, turn, 10_000, "the engine makes no progress")
		e.turn()
	}
	for range e.cfg.lag + 2 {
		e.turn()
	}
	if e.writer != nil {
		require.NoError(e.t, e.writer.Flush(context.Background()))
	}
	stats, held := e.store.Stats(), e.worker.Stats()
	require.Zero(e.t, stats.Retained+stats.Pending, "references")
	require.Zero(e.t, held.Tails+held.Waiting+held.Requests+held.InFlight, "states, tails and waiting blocks")
	if gate := e.worker.Gate(); gate != nil {
		require.Equal(e.t, e.cfg.slots, gate.Room())
	}
}
