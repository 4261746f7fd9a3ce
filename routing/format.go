package routing

import (
	"encoding/base64"
	"fmt"
	"math"
	"slices"
	"strconv"

	auxerrors "github.com/auxoutput/auxoutput/errors"
)

// Format is a form that rows are written in.
type Format uint8

// The forms. All hold the same ids, in C order and little-endian.
const (
	// FormatNpy is an .npy file of version 1.0, as numpy.save writes it.
	FormatNpy Format = iota + 1

	// FormatNpyBase64 is the base64 text of an .npy file.
	FormatNpyBase64

	// FormatNpyJSON is FormatNpyBase64 as a JSON string: the field
	// routed_experts of vLLM's answers. The position of the first row is not in
	// it; the client knows it from the request.
	FormatNpyJSON

	// FormatObjectJSON is a JSON object: {"shape":[rows,layers,top-k],
	// "dtype":"uint8","start":0,"data":"base64 of the raw ids"}. It is the form of
	// prime-rl.
	FormatObjectJSON

	// FormatRaw is the ids alone.
	FormatRaw

	// FormatRawBase64 is the base64 text of the ids alone, as SGLang sends them
	// in int32.
	FormatRawBase64
)

var formatNames = [...]string{
	FormatNpy: "npy", FormatNpyBase64: "npy base64", FormatNpyJSON: "npy json",
	FormatObjectJSON: "object json", FormatRaw: "raw", FormatRawBase64: "raw base64",
}

// String names the form.
func (f Format) String() string {
	if f < FormatNpy || int(f) >= len(formatNames) {
		return fmt.Sprintf("Format(%d)", uint8(f))
	}
	return formatNames[f]
}

// layout is how the ids are wrapped: open, then head and the ids, as base64 text
// if text is set, then end.
type layout struct {
	open string
	head []byte
	text bool
	end  string
}

// layout is nil for something that is no format.
func (f Format) layout(shape [3]int, d DType, start int) *layout {
	switch f {
	case FormatNpy:
		return &layout{head: npyHeader(shape, d)}
	case FormatNpyBase64:
		return &layout{head: npyHeader(shape, d), text: true}
	case FormatNpyJSON:
		return &layout{open: `"`, head: npyHeader(shape, d), text: true, end: `"`}
	case FormatObjectJSON:
		return &layout{
			open: fmt.Sprintf(`{"shape":[%d,%d,%d],"dtype":%s,"start":%d,"data":"`, shape[0], shape[1], shape[2], strconv.Quote(d.String()), start),
			text: true, end: `"}`,
		}
	case FormatRaw:
		return &layout{}
	case FormatRawBase64:
		return &layout{text: true}
	}
	return nil
}

// size is the length of the whole, with so many bytes of ids.
func (l *layout) size(data int64) (int64, error) {
	const most = math.MaxInt64/4*3 - 1<<20 // base64 of it, and what is around it, can be counted
	if data > most {
		return 0, &auxerrors.ConfigError{Field: "rows", Value: data, Want: fmt.Sprintf("at most %d bytes", int64(most)), Reason: auxerrors.ErrTooLarge}
	}
	inner := int64(len(l.head)) + data
	if l.text {
		inner = (inner + 2) / 3 * 4
	}
	return int64(len(l.open)) + inner + int64(len(l.end)), nil
}

// Append appends the rows in some form to dst, growing it at most once. Rows that
// are not valid, or a format that there is not, are an error, and dst is returned
// as it was. What is large is better written by an [Encoder].
func (r Rows) Append(dst []byte, f Format) ([]byte, error) {
	if err := r.Validate(); err != nil {
		return dst, err
	}
	return appendFormat(dst, f, r.Array(), r.Start)
}

// Append is [Rows.Append] for an array whose first row has position start; only
// [FormatObjectJSON] states it.
func (a Array) Append(dst []byte, f Format, start int) ([]byte, error) {
	if start < 0 {
		return dst, &auxerrors.ConfigError{Field: "start", Value: start, Want: "at least 0", Reason: auxerrors.ErrTooSmall}
	}
	if err := a.check(); err != nil {
		return dst, err
	}
	return appendFormat(dst, f, a, start)
}

func appendFormat(dst []byte, f Format, a Array, start int) ([]byte, error) {
	l := f.layout(a.Shape, a.DType, start)
	if l == nil {
		return dst, unknownFormat(f)
	}
	size, err := l.size(int64(len(a.Data)))
	if err != nil {
		return dst, err
	}
	if size > math.MaxInt-int64(len(dst)) {
		return dst, &auxerrors.ConfigError{Field: "rows", Value: a.Len(), Want: "a text that memory can hold", Reason: auxerrors.ErrTooLarge}
	}
	dst = append(slices.Grow(dst, int(size)), l.open...)
	if l.text {
		// The ids join the header in the middle of a group of three bytes.
		joint := min((3-len(l.head)%3)%3, len(a.Data))
		dst = base64.StdEncoding.AppendEncode(dst, append(l.head, a.Data[:joint]...))
		dst = base64.StdEncoding.AppendEncode(dst, a.Data[joint:])
	} else {
		dst = append(append(dst, l.head...), a.Data...)
	}
	return append(dst, l.end...), nil
}

func unknownFormat(f Format) error {
	return &auxerrors.ConfigError{Field: "format", Value: f, Want: "one of the formats of package routing", Reason: auxerrors.ErrOutOfRange}
}
