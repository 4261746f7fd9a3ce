package connector

import (
	"errors"

	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/routing"
)

// A request is lost when rows of it will never come: its step was abandoned, its
// metadata was refused for good, or its rows failed a check. It keeps what it retains
// until it ends, and nothing of it is published any more. Its KV blocks without rows
// are named, so that the KV cache drops them: a hit on them would fail too.

// lose marks a request whose rows are incomplete from here on.
func (w *Worker) lose(l *life, why error) {
	l.drop(w.pool)
	if l.lost != nil {
		return
	}
	l.lost = why
	w.unheard = append(w.unheard, l)
	w.nameUnpublished(l, l.stored)
	w.gate.lose(l.holding)
}

// nameUnpublished names the keys of a lost request's blocks, from a block on.
func (w *Worker) nameUnpublished(l *life, from int) {
	if from < len(l.keys) {
		w.evicted = append(w.evicted, l.keys[from:]...)
	}
}

// tell adds the requests to the output that were lost and not told of so far.
func (w *Worker) tell(out *Output) {
	for _, l := range w.unheard {
		if l.alive && l.lost != nil && !l.told {
			w.fail(out, l, l.lost)
		}
	}
	w.unheard = clearAll(w.unheard)
}

// fail adds a failure to the output and counts it.
func (w *Worker) fail(out *Output, l *life, why error) {
	out.Requests = append(out.Requests, RequestOutput{ID: l.id, Start: l.emit, Err: why})
	if !l.told {
		w.failures.count(why)
	}
	l.told = true
}

// Failures counts requests that got an error instead of rows, each once, by reason.
type Failures struct {
	Requests uint64 // all of them: the sum of the next six

	Absent    uint64 // a block of a KV hit was not in the store
	Corrupt   uint64 // a stored block failed its checksum
	Abandoned uint64 // a step of it was abandoned, or its metadata was refused for good
	Ids       uint64 // captured ids are no experts, or one expert occurs twice in a top-k
	Unwritten uint64 // captured rows look like memory nobody wrote: zero layers, runs of equal rows
	Other     uint64 // any other error, of the store or its writer

	// MissingBlocks are the blocks that failed reads found absent.
	MissingBlocks uint64
}

// count accounts for a request that failed.
func (f *Failures) count(why error) {
	f.Requests++
	switch {
	case errors.Is(why, auxerrors.ErrAbsent):
		f.Absent++
	case errors.Is(why, auxerrors.ErrCorrupt):
		f.Corrupt++
	case errors.Is(why, ErrStepLost):
		f.Abandoned++
	case errors.Is(why, routing.ErrZeroLayer), errors.Is(why, routing.ErrEqualRows):
		f.Unwritten++
	case errors.Is(why, ErrRows):
		f.Ids++
	default:
		f.Other++
	}
}
