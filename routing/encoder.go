package routing

import (
	"fmt"
	"io"
	"math"

	auxerrors "github.com/auxoutput/auxoutput/errors"
)

// Encoder writes rows in some [Format] to an [io.Writer] while they come, in
// constant memory: what stands before the ids when it is made, the ids as they are
// written to it, the rest when it is closed. The number of rows is fixed at the
// start, because it stands there.
//
// It is an [io.Writer] of raw rows, so a view of a store writes its blocks into it;
// [Encoder.Window] takes a part of a view. An Encoder is for one goroutine.
type Encoder struct {
	out     io.Writer // of ids: the sink or the base64 text
	sink    io.Writer
	text    *base64Writer // nil if the ids are not written as text
	end     string
	profile Profile
	total   int64 // bytes of ids in all
	left    int64 // bytes of ids still to come
	size    int64
	err     error // sticky
}

// NewEncoder begins to write rows to w: so many rows of a profile, the first of
// which has position start. A profile, format or number that cannot be is an
// [auxerrors.ConfigError] before anything is written.
func NewEncoder(w io.Writer, f Format, p Profile, start, rows int) (*Encoder, error) {
	if _, err := NewRows(p, start, nil); err != nil {
		return nil, err
	}
	if rows < 0 || rows > math.MaxInt-start {
		return nil, &auxerrors.ConfigError{Field: "rows", Value: rows, Want: "at least 0, and positions that an int holds", Reason: auxerrors.ErrOutOfRange}
	}
	size, err := sizeOfArray("rows", [3]uint64{uint64(rows), uint64(p.Layers), uint64(p.TopK)}, p.DType())
	if err != nil {
		return nil, err
	}
	l := f.layout([3]int{rows, p.Layers, p.TopK}, p.DType(), start)
	if l == nil {
		return nil, unknownFormat(f)
	}
	e := &Encoder{out: w, sink: w, end: l.end, profile: p, total: int64(size), left: int64(size)}
	if e.size, err = l.size(e.total); err != nil {
		return nil, err
	}
	if err := writeAll(w, []byte(l.open)); err != nil {
		return nil, err
	}
	if l.text {
		e.text = &base64Writer{w: w}
		e.out = e.text
	}
	if err := writeAll(e.out, l.head); err != nil {
		return nil, err
	}
	return e, nil
}

// Size is the number of bytes that will have been written to the sink in all,
// such as for a Content-Length.
func (e *Encoder) Size() int64 { return e.size }

// Write takes the next bytes of raw rows; they need not be whole rows. More than
// announced is a [CountError], and none of these bytes are written. After an error
// every call returns it.
func (e *Encoder) Write(rows []byte) (int, error) {
	if e.err == nil && e.out == nil { // the zero Encoder
		e.err = fmt.Errorf("auxoutput: encoder: %w", auxerrors.ErrClosed)
	}
	if e.err != nil {
		return 0, e.err
	}
	if int64(len(rows)) > e.left {
		e.err = e.miscounted(e.total - e.left + int64(len(rows)))
		return 0, e.err
	}
	n, err := e.out.Write(rows)
	if err == nil && n < len(rows) {
		err = io.ErrShortWrite
	}
	e.left -= int64(n)
	e.err = err
	return n, err
}

// Close writes what stands behind the ids. Fewer rows than announced are a
// [CountError]; then the end is not written, so that no reader takes the text for
// a whole one. The sink is not closed. A second Close returns an error that wraps
// [auxerrors.ErrClosed].
func (e *Encoder) Close() error {
	if e.err == nil && e.left > 0 {
		e.err = e.miscounted(e.total - e.left)
	}
	if e.err == nil && e.text != nil {
		e.err = e.text.close()
	}
	if e.err == nil {
		e.err = writeAll(e.sink, []byte(e.end))
	}
	if e.err != nil {
		return e.err
	}
	e.err = fmt.Errorf("auxoutput: encoder: %w", auxerrors.ErrClosed)
	return nil
}

// miscounted counts rows if they are whole, else bytes.
func (e *Encoder) miscounted(got int64) error {
	rowBytes := int64(e.profile.RowBytes())
	if got%rowBytes == 0 {
		return &CountError{What: "rows", Want: e.total / rowBytes, Got: got / rowBytes}
	}
	return &CountError{What: "bytes of rows", Want: e.total, Got: got}
}

// Window is a writer that takes a longer run of raw rows and hands on a part of
// it: skip rows are dropped, the next take rows are written to the encoder, and
// what follows is dropped. It is for blocks of a store of which the answer
// contains a part:
//
//	view.WriteTo(enc.Window(start%blockTokens, rows))
//
// Close counts the rows that came through. Numbers below 0 are an
// [auxerrors.ConfigError] from the first Write on.
func (e *Encoder) Window(skip, take int) io.Writer {
	if skip < 0 || take < 0 {
		if e.err == nil {
			e.err = &auxerrors.ConfigError{Field: "window", Value: Span{skip, take}, Want: "numbers of rows, at least 0", Reason: auxerrors.ErrTooSmall}
		}
		return e
	}
	if e.out == nil {
		return e
	}
	rowBytes := e.profile.RowBytes()
	return &window{to: e, skip: saturate(skip, rowBytes), take: saturate(take, rowBytes)}
}

// saturate multiplies, up to what can be counted.
func saturate(rows, rowBytes int) int64 {
	if int64(rows) > math.MaxInt64/int64(rowBytes) {
		return math.MaxInt64
	}
	return int64(rows) * int64(rowBytes)
}

// window hands on a part of what is written to it; skip and take are bytes.
type window struct {
	to         *Encoder
	skip, take int64
}

func (w *window) Write(rows []byte) (int, error) {
	from := min(w.skip, int64(len(rows)))
	to := from + min(w.take, int64(len(rows))-from)
	n, err := w.to.Write(rows[from:to])
	w.skip -= from
	w.take -= int64(n)
	if err != nil {
		return int(from) + n, err
	}
	return len(rows), nil
}

// writeAll writes nothing if there is nothing to write.
func writeAll(w io.Writer, data []byte) error {
	if len(data) == 0 {
		return nil
	}
	n, err := w.Write(data)
	if err == nil && n < len(data) {
		err = io.ErrShortWrite
	}
	return err
}
