package routing

import (
	"fmt"
	"io"

	auxerrors "github.com/auxoutput/auxoutput/errors"
)

// int32Writer turns raw rows into int32 of all layers.
type int32Writer struct {
	w       io.Writer
	m       LayerMap
	profile Profile
	want    int
	written int
	row     []byte // the row that is not yet whole
	out     []byte // dense layers and upper bytes stay zero
	err     error  // sticky
}

// Write takes the next bytes of raw rows; they need not be whole rows.
func (c *int32Writer) Write(rows []byte) (int, error) {
	taken := 0
	for c.err == nil && taken < len(rows) {
		if c.written == c.want {
			more := (len(rows) - taken + c.profile.RowBytes() - 1) / c.profile.RowBytes()
			c.err = &CountError{What: "rows", Want: int64(c.want), Got: int64(c.want) + int64(more)}
			break
		}
		piece := min(c.profile.RowBytes()-len(c.row), len(rows)-taken)
		c.row = append(c.row, rows[taken:taken+piece]...)
		taken += piece
		if len(c.row) < c.profile.RowBytes() {
			break
		}
		c.m.spread(c.out, c.profile, c.row)
		c.err = writeAll(c.w, c.out)
		c.row = c.row[:0]
		c.written++
	}
	return taken, c.err
}

// Close checks that every row came, whole.
func (c *int32Writer) Close() error {
	if c.err == nil && len(c.row) > 0 {
		c.err = fmt.Errorf("in row %d: %w", c.written, &CountError{What: "bytes", Want: int64(c.profile.RowBytes()), Got: int64(len(c.row))})
	}
	if c.err == nil && c.written != c.want {
		c.err = &CountError{What: "rows", Want: int64(c.want), Got: int64(c.written)}
	}
	if c.err != nil {
		return c.err
	}
	c.err = fmt.Errorf("auxoutput: int32 writer: %w", auxerrors.ErrClosed)
	return nil
}
