package routing

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"

	auxerrors "github.com/auxoutput/auxoutput/errors"
)

// Rows are the routing rows of consecutive positions of one sequence: Len() x
// Layers x TopK expert ids in C order, uint8 up to 256 experts, else
// little-endian uint16. That is also their raw form.
//
// The zero Rows belong to no profile and are not valid. Methods that cut return
// Rows that share the memory of Data.
type Rows struct {
	Profile Profile
	Start   int    // position of the first row
	Data    []byte // Len() x Profile.RowBytes() bytes
}

// NewRows makes rows of raw bytes, without a copy. The profile must be valid and
// start not negative, else it is an [auxerrors.ConfigError]; data must be whole
// rows, else it is a [DecodeError]. The ids are not looked at: see [Checks], and
// [DecodeRaw] for bytes from elsewhere.
func NewRows(p Profile, start int, data []byte) (Rows, error) {
	r := Rows{Profile: p, Start: start, Data: data}
	return r, r.Validate()
}

// Validate reports what [NewRows] would.
func (r Rows) Validate() error {
	if err := r.Profile.Validate(); err != nil {
		return err
	}
	if r.Start < 0 {
		return &auxerrors.ConfigError{Field: "start", Value: r.Start, Want: "at least 0", Reason: auxerrors.ErrTooSmall}
	}
	rowBytes := r.Profile.RowBytes()
	if len(r.Data)%rowBytes != 0 {
		return refuse("raw", auxerrors.ErrMismatch, "%d bytes are not whole rows of %d bytes (%d x %d %v)",
			len(r.Data), rowBytes, r.Profile.Layers, r.Profile.TopK, r.Profile.DType())
	}
	if n := len(r.Data) / rowBytes; r.Start > math.MaxInt-n {
		return &auxerrors.ConfigError{Field: "start", Value: r.Start, Want: fmt.Sprintf("a position that %d rows can follow", n), Reason: auxerrors.ErrTooLarge}
	}
	return nil
}

// Len is the number of rows. It is 0 for the zero Rows.
func (r Rows) Len() int {
	if rowBytes := r.Profile.RowBytes(); rowBytes > 0 {
		return len(r.Data) / rowBytes
	}
	return 0
}

// End is the position after the last row: Start + Len().
func (r Rows) End() int { return r.Start + r.Len() }

// Span is the positions of the rows.
func (r Rows) Span() Span { return Span{Start: r.Start, End: r.End()} }

// Row is row i, counted from the first one: RowBytes bytes of Data. Like an
// index of a slice, an i outside 0 <= i < Len() panics.
func (r Rows) Row(i int) []byte {
	n := r.Profile.RowBytes()
	return r.Data[i*n : (i+1)*n : (i+1)*n]
}

// At is the expert in slot k of the top-k of a layer, in row i counted from the
// first one. Like an index of a slice, an index outside the shape panics.
func (r Rows) At(i, layer, k int) int {
	if layer < 0 || layer >= r.Profile.Layers || k < 0 || k >= r.Profile.TopK {
		panic(fmt.Sprintf("routing: index [%d, %d, %d] outside of shape [%d, %d, %d]",
			i, layer, k, r.Len(), r.Profile.Layers, r.Profile.TopK))
	}
	row, item := r.Row(i), layer*r.Profile.TopK+k
	if r.Profile.ItemBytes() == 1 {
		return int(row[item])
	}
	return int(binary.LittleEndian.Uint16(row[2*item:]))
}

// Array is the rows as an array of shape (Len(), Layers, TopK), without a copy.
func (r Rows) Array() Array {
	return Array{Shape: [3]int{r.Len(), r.Profile.Layers, r.Profile.TopK}, DType: r.Profile.DType(), Data: r.Data}
}

// Slice is the rows of the positions start <= position < end. Positions of which
// there is no row are an [auxerrors.ConfigError] wrapping
// [auxerrors.ErrOutOfRange].
func (r Rows) Slice(start, end int) (Rows, error) {
	if err := r.Validate(); err != nil {
		return Rows{}, err
	}
	if start < r.Start || end < start || end > r.End() {
		return Rows{}, &auxerrors.ConfigError{
			Field: "positions", Value: Span{start, end}, Want: fmt.Sprintf("within %v", r.Span()), Reason: auxerrors.ErrOutOfRange,
		}
	}
	return r.slice(start, end), nil
}

// slice is Slice of positions that are known to be within valid rows.
func (r Rows) slice(start, end int) Rows {
	n := r.Profile.RowBytes()
	from, to := (start-r.Start)*n, (end-r.Start)*n
	return Rows{Profile: r.Profile, Start: start, Data: r.Data[from:to:to]}
}

// Cut leaves the rows that a sequence of so many tokens has: those of positions
// below tokens-1. Fewer rows than that are a [CountError], never a shorter
// answer. Use it after a stop string shortened the text.
func (r Rows) Cut(tokens int) (Rows, error) {
	if err := r.Validate(); err != nil {
		return Rows{}, err
	}
	want, err := RowCount(tokens, r.Start)
	if err != nil {
		return Rows{}, err
	}
	if r.Len() < want {
		return Rows{}, r.miscounted(want)
	}
	return r.slice(r.Start, r.Start+want), nil
}

// CheckTokens reports a [CountError] unless there are exactly as many rows as a
// sequence of so many tokens has from Start on: tokens - 1 - Start. Up to surplus
// more are allowed; some engines send a row for the last token too. [Rows.Cut]
// takes them off.
func (r Rows) CheckTokens(tokens, surplus int) error {
	want, err := RowCount(tokens, r.Start)
	if err != nil {
		return err
	}
	if n := r.Len(); n < want || n-want > max(surplus, 0) {
		return r.miscounted(want)
	}
	return nil
}

// CheckForwarded reports a [CountError] unless the rows end with the last of so
// many tokens that went through the model. It is for requests that sample
// nothing, such as scoring a prompt, in which all P tokens have rows.
func (r Rows) CheckForwarded(tokens int) error {
	if want := int64(tokens) - int64(r.Start); int64(r.Len()) != want {
		return &CountError{What: "rows", Want: want, Got: int64(r.Len())}
	}
	return nil
}

func (r Rows) miscounted(want int) error {
	return &CountError{What: "rows", Want: int64(want), Got: int64(r.Len())}
}

// RowCount is the number of rows of a sequence of so many tokens (prompt and
// output) from position start on: tokens - 1 - start, because the last sampled
// token never ran. Less than none is an [auxerrors.ConfigError].
func RowCount(tokens, start int) (int, error) {
	if start < 0 || start >= tokens {
		return 0, &auxerrors.ConfigError{
			Field: "start", Value: start, Want: fmt.Sprintf("0 <= start < %d tokens", tokens), Reason: auxerrors.ErrOutOfRange,
		}
	}
	return tokens - 1 - start, nil
}

// sizeOf is the bytes of n rows of a valid profile, if an int holds them.
func sizeOf(p Profile, n int) (int, error) {
	if n < 0 {
		return 0, &auxerrors.ConfigError{Field: "rows", Value: n, Want: "at least 0", Reason: auxerrors.ErrTooSmall}
	}
	high, low := bits.Mul64(uint64(n), uint64(p.RowBytes()))
	if high != 0 || low > math.MaxInt {
		return 0, &auxerrors.ConfigError{Field: "rows", Value: n, Want: "a size that memory can have", Reason: auxerrors.ErrTooLarge}
	}
	return int(low), nil
}
