package connector

import (
	"errors"

	auxerrors "github.com/auxoutput/auxoutput/errors"
)

// hand writes the rows of all requests that sampled into out.
func (w *Worker) hand(batch Batch, out *Output) {
	size := 0
	for i := range w.plans {
		p := &w.plans[i]
		if p.emits && p.life.lost == nil && (p.life.emit >= p.at || w.available(p.life, p.end())) {
			size += (p.end() - p.life.emit) * w.rowBytes
		}
	}
	out.grow(size, len(w.plans))
	for i := range w.plans {
		p := &w.plans[i]
		if !p.emits {
			continue
		}
		l, from := p.life, len(out.rows)
		if l.lost != nil {
			w.fail(out, l, l.lost)
			continue
		}
		out.Requests = append(out.Requests, RequestOutput{ID: l.id, Start: l.emit})
		answer := &out.Requests[len(out.Requests)-1]
		switch {
		case l.emit >= p.at:
			first := p.from + l.emit - p.at
			out.rows = append(out.rows, batch.Rows[first*w.rowBytes:(p.from+p.accepted)*w.rowBytes]...)
			l.emit = p.end()
		default:
			out.rows, answer.Err = w.materialise(l, out.rows, p.end())
			if answer.Err != nil {
				w.failedRead(answer, l, p.end())
			}
			l.emit = p.end()
		}
		if answer.Err == nil {
			answer.Rows = out.rows[from:len(out.rows):len(out.rows)]
		}
	}
}

// failedRead accounts for a request whose rows could not be read, and names the blocks
// that are absent.
func (w *Worker) failedRead(answer *RequestOutput, l *life, end int) {
	w.failures.count(answer.Err)
	if errors.Is(answer.Err, auxerrors.ErrAbsent) {
		answer.Absent = w.rows.absent(l.keys[l.emit/w.blockTokens : w.storedEnd(l, end)/w.blockTokens])
		w.failures.MissingBlocks += uint64(len(answer.Absent))
		w.evicted = append(w.evicted, answer.Absent...)
	}
}

// available reports whether the worker knows where the rows from the request's
// emit cursor up to a position are: in blocks with a key, waiting or in the tail.
func (w *Worker) available(l *life, end int) bool {
	at := max(l.emit, w.storedEnd(l, end))
	for _, b := range l.waiting {
		if at >= b.Start && at < b.Start+w.blockTokens {
			at = b.Start + w.blockTokens
		}
	}
	start, tailEnd := w.pool.Bounds(&l.tail)
	return at >= end || at >= start && end <= tailEnd
}

// storedEnd is where the full blocks with a key end, at most at end.
func (w *Worker) storedEnd(l *life, end int) int {
	return min(end/w.blockTokens, len(l.keys)) * w.blockTokens
}

// materialise appends the rows from the request's emit cursor up to a position:
// stored blocks, then waiting ones, then the tail.
func (w *Worker) materialise(l *life, dst []byte, end int) ([]byte, error) {
	if !w.available(l, end) {
		return dst, refuse("process", l.id, ErrRange, "positions %d to %d, %d keys known", l.emit, end, len(l.keys))
	}
	at, stored := l.emit, w.storedEnd(l, end)
	out := dst
	if at < stored {
		first := at / w.blockTokens
		read, err := w.rows.get(dst, l.keys[first:stored/w.blockTokens])
		if err != nil {
			return dst, ofRequest(err, first)
		}
		out = read
		if skip := (at - first*w.blockTokens) * w.rowBytes; skip > 0 {
			rows := out[len(dst):]
			out = out[:len(dst)+copy(rows, rows[skip:])]
		}
		at = stored
	}
	for _, b := range l.waiting {
		if at < end && at >= b.Start && at < b.Start+w.blockTokens {
			until := min(end, b.Start+w.blockTokens)
			out = append(out, b.Rows[(at-b.Start)*w.rowBytes:(until-b.Start)*w.rowBytes]...)
			at = until
		}
	}
	if at >= end {
		return out, nil
	}
	out, err := w.pool.Read(&l.tail, out, at, end)
	if err != nil {
		return dst, named(err, "process", l.id)
	}
	return out, nil
}

// ofRequest makes the index of a failed read the number of the block in the
// request.
func ofRequest(err error, first int) error {
	var failed *auxerrors.BlockObjectStoreError
	if errors.As(err, &failed) && failed.Index >= 0 {
		failed.Index += first
	}
	return err
}
