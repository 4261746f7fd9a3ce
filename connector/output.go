package connector

import (
	"slices"

	"github.com/auxoutput/auxoutput/blockhash"
)

// Output is what the worker half hands out after a step. The caller owns it and
// may use it again for a later step; nothing in it refers to memory that the
// worker, the store or the captured rows use.
type Output struct {
	RowBytes int
	// Requests are those that sampled in the step, in the order of the batch, and
	// behind them those that were lost and did not sample.
	Requests []RequestOutput

	rows   []byte         // the memory of all rows
	places map[string]int // number of each request; made when first asked for
	listed bool           // places is up to date
}

// RequestOutput is the rows of one request: of the positions from Start up to the
// last one that was executed and not rejected, as far as they were not handed out
// before.
type RequestOutput struct {
	ID    string
	Start int    // position of the first row
	Rows  []byte // a whole number of rows, possibly none

	// Err is why the request has no rows, although it should. It fails that
	// request and no other; the engine ends it. An errors.BlockObjectStoreError that
	// wraps ErrAbsent: the KV cache hit a block whose rows are gone; its Index is the
	// number of the block in the request. ErrStepLost: a step was abandoned. ErrRows:
	// captured rows failed a check.
	Err error

	// Absent are the keys of the request's blocks that were found absent.
	// [Worker.DrainEvicted] names them too.
	Absent []blockhash.Hash
}

// Reset empties the output and keeps its memory.
func (o *Output) Reset() {
	o.Requests = clearAll(o.Requests)
	o.rows = o.rows[:0]
	o.listed = false
}

// grow makes room for so many bytes of rows, so that they lie in one piece, and for
// the requests they belong to.
func (o *Output) grow(size, requests int) {
	o.rows = slices.Grow(o.rows, size)
	o.Requests = slices.Grow(o.Requests, requests)
}

// Find is the output of a request, nil if there is none.
func (o *Output) Find(id string) *RequestOutput {
	if !o.listed {
		o.list()
	}
	if at, ok := o.places[id]; ok {
		return &o.Requests[at]
	}
	return nil
}

func (o *Output) list() {
	if o.places == nil {
		o.places = make(map[string]int, len(o.Requests))
	}
	clear(o.places)
	for i := range o.Requests {
		o.places[o.Requests[i].ID] = i
	}
	o.listed = true
}

// Take is the scheduler half's part in handing out: it clips the rows of a request
// to its tokens that were accepted, now that stop conditions have been applied.
// tokens is the number of known tokens, of which the last has no row.
//
// ok is false if there are no rows yet; that is no error while the request goes
// on. Rows that are there and none of which is new are an empty slice and ok. The
// slice is part of the output.
//
// The request's own Err comes back as it is. Otherwise: ErrOutputMissing,
// ErrInvalidRange (fewer rows than tokens), and ErrNoAcceptedRange for a finished
// request whose output lies behind its tokens. (vLLM's take_output; the empty
// result is of its later versions, PR 55764.)
func (o *Output) Take(id string, tokens int, finished bool) (rows []byte, ok bool, err error) {
	out := o.Find(id)
	if out == nil {
		return nil, false, refuse("take", id, ErrOutputMissing, "%d requests have output", len(o.Requests))
	}
	if out.Err != nil {
		return nil, false, out.Err
	}
	accepted := tokens - 1 - out.Start
	switch {
	case accepted < 0 && finished:
		return nil, false, refuse("take", id, ErrNoAcceptedRange, "output from position %d, %d tokens", out.Start, tokens)
	case accepted < 0:
		return nil, false, nil
	case o.RowBytes < 1 || len(out.Rows)%o.RowBytes != 0 || accepted > len(out.Rows)/o.RowBytes:
		return nil, false, refuse("take", id, ErrInvalidRange, "%d bytes of rows of %d bytes, %d accepted", len(out.Rows), o.RowBytes, accepted)
	}
	return out.Rows[: accepted*o.RowBytes : accepted*o.RowBytes], true, nil
}
