package routing

import auxerrors "github.com/auxoutput/auxoutput/errors"

// RawForm is what raw ids do not say of themselves.
type RawForm struct {
	DType  DType
	Layers int // in a row
	TopK   int // ids of a layer

	// Rows is the exact number of rows, for N tokens from position start on
	// N - 1 - start: see [RowCount]. Without it a payload of another item type, or of
	// another number of layers or slots, is taken for more or fewer rows whenever its
	// bytes divide: int32 read as uint8 is four times the rows. [AnyRows] leaves the
	// number open; then count what comes, with [Rows.CheckTokens].
	Rows int
}

// AnyRows is the number of rows of a [RawForm] that takes as many as there are.
const AnyRows = -1

// DecodeRaw reads raw ids in C order, little-endian. Bytes that are not exactly
// those of the form are a [CountError]: of rows if they are whole rows, else of
// bytes. With [AnyRows], what is not whole rows is a [DecodeError]. A form that
// cannot be is a [DecodeError] too, a negative id an [IDError]. The array shares
// the memory of data.
func DecodeRaw(data []byte, form RawForm) (Array, error) {
	if form.Layers < 1 || form.TopK < 1 {
		return Array{}, refuse("raw", auxerrors.ErrTooSmall, "rows of %d layers x %d", form.Layers, form.TopK)
	}
	if form.Rows < AnyRows {
		return Array{}, refuse("raw", auxerrors.ErrTooSmall, "%d rows", form.Rows)
	}
	shape := [3]uint64{1, uint64(form.Layers), uint64(form.TopK)}
	rowBytes, err := sizeOfArray("raw", shape, form.DType)
	if err != nil {
		return Array{}, err
	}
	whole, n := uint64(len(data))%rowBytes == 0, uint64(len(data))/rowBytes
	if form.Rows == AnyRows {
		if !whole {
			return Array{}, refuse("raw", auxerrors.ErrMismatch, "%d bytes are not whole rows of %d bytes (%d x %d %v)", len(data), rowBytes, form.Layers, form.TopK, form.DType)
		}
		shape[0] = n
		return newArray("raw", shape, form.DType, data)
	}
	shape[0] = uint64(form.Rows)
	size, err := sizeOfArray("raw", shape, form.DType)
	switch {
	case err != nil:
		return Array{}, err
	case !whole:
		return Array{}, &CountError{What: "bytes of raw rows", Want: int64(size), Got: int64(len(data))}
	case n != shape[0]:
		return Array{}, &CountError{What: "raw rows", Want: int64(form.Rows), Got: int64(n)}
	}
	return newArray("raw", shape, form.DType, data)
}

// DecodeRawBase64 is [DecodeRaw] of base64 text, such as SGLang's answers.
func DecodeRawBase64(text []byte, form RawForm) (Array, error) {
	data, err := decodeBase64(text)
	if err != nil {
		return Array{}, err
	}
	return DecodeRaw(data, form)
}
