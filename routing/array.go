package routing

import (
	"encoding/binary"
	"math"
	"math/bits"

	auxerrors "github.com/auxoutput/auxoutput/errors"
)

// Array is expert ids as they came over the wire, in C order and little-endian.
// The number of experts is not known, and whether the layers are all or those
// with experts only is not either: [Array.Rows], [Array.Convert] and
// [LayerMap.Rows] settle that. The zero Array is no array.
type Array struct {
	Shape [3]int // rows, layers, top-k
	DType DType
	Data  []byte // product of Shape x DType.ItemBytes() bytes
}

// NewArray checks the parts of an array, and that no id is negative; what does not
// fit is a [DecodeError] or an [IDError]. Data is not copied.
func NewArray(shape [3]int, d DType, data []byte) (Array, error) {
	var sizes [3]uint64
	for i, n := range shape {
		if n < 0 {
			return Array{}, refuse("array", auxerrors.ErrTooSmall, "shape %v has a negative dimension", shape)
		}
		sizes[i] = uint64(n)
	}
	return newArray("array", sizes, d, data)
}

// newArray checks what a header claims against the data that is there.
func newArray(form string, shape [3]uint64, d DType, data []byte) (Array, error) {
	size, err := sizeOfArray(form, shape, d)
	if err != nil {
		return Array{}, err
	}
	if size != uint64(len(data)) {
		return Array{}, refuse(form, auxerrors.ErrMismatch, "%d bytes of data, expected %d for shape %v of %v", len(data), size, shape, d)
	}
	a := Array{Shape: [3]int{int(shape[0]), int(shape[1]), int(shape[2])}, DType: d, Data: data}
	return a, a.checkSigns()
}

// sizeOfArray is the bytes that an array claims to have. Each row must be
// possible for a [Profile], so that the dimensions fit into an int once the size
// agrees with the data.
func sizeOfArray(form string, shape [3]uint64, d DType) (uint64, error) {
	if !d.valid() {
		return 0, refuse(form, ErrItemType, "%v", d)
	}
	if shape[1] < 1 || shape[2] < 1 {
		return 0, refuse(form, auxerrors.ErrTooSmall, "shape %v has rows without layers or without top-k", shape)
	}
	size := uint64(d.ItemBytes())
	for _, limit := range [...]struct{ n, most uint64 }{{shape[2], math.MaxInt32}, {shape[1], math.MaxInt32}, {shape[0], math.MaxInt}} {
		high, low := bits.Mul64(size, limit.n)
		if high != 0 || low > limit.most {
			return 0, refuse(form, auxerrors.ErrTooLarge, "shape %v of %v is larger than memory can be", shape, d)
		}
		size = low
	}
	return size, nil
}

// checkSigns finds the first negative id.
func (a Array) checkSigns() error {
	if !a.DType.signed() {
		return nil
	}
	for i := range a.items() {
		if id := a.item(i); id < 0 {
			return a.wrongID(i, 0, math.MaxInt32)
		}
	}
	return nil
}

// Len is the number of rows.
func (a Array) Len() int { return a.Shape[0] }

// items is the number of ids; the item type must be known.
func (a Array) items() int { return len(a.Data) / a.DType.ItemBytes() }

// item is id i in C order.
func (a Array) item(i int) int {
	switch a.DType {
	case Uint8:
		return int(a.Data[i])
	case Uint16:
		return int(binary.LittleEndian.Uint16(a.Data[2*i:]))
	case Int8:
		return int(int8(a.Data[i]))
	case Int16:
		return int(int16(binary.LittleEndian.Uint16(a.Data[2*i:])))
	default:
		return int(int32(binary.LittleEndian.Uint32(a.Data[4*i:])))
	}
}

// wrongID is the error of item i.
func (a Array) wrongID(i, start, experts int) error {
	k := a.Shape[2]
	return &IDError{
		Reason: auxerrors.ErrOutOfRange, Position: start + i/k/a.Shape[1], Layer: i / k % a.Shape[1], Slot: i % k,
		ID: int64(a.item(i)), Experts: experts,
	}
}

// check reports an array whose parts were put together wrongly.
func (a Array) check() error {
	_, err := NewArray(a.Shape, a.DType, a.Data)
	return err
}

// checkShape compares the shape of a row with what a profile has.
func (a Array) checkShape(layers, topK int) error {
	if a.Shape[1] != layers || a.Shape[2] != topK {
		return refuse("array", auxerrors.ErrMismatch, "rows of %d layers x %d, expected %d layers x %d", a.Shape[1], a.Shape[2], layers, topK)
	}
	return nil
}

// Rows makes the array into rows of a profile from position start on, without a
// copy. Layers, top-k and item type must be those of the profile, else it is a
// [DecodeError] with both; every id must be below Experts, else it is an
// [IDError].
func (a Array) Rows(p Profile, start int) (Rows, error) {
	if err := a.checkFor(p, start, p.Layers); err != nil {
		return Rows{}, err
	}
	if a.DType != p.DType() {
		return Rows{}, refuse("array", ErrItemType, "%v, expected %v for %d experts: convert explicitly", a.DType, p.DType(), p.Experts)
	}
	r := Rows{Profile: p, Start: start, Data: a.Data}
	if err := r.checkRange(); err != nil {
		return Rows{}, err
	}
	return r, nil
}

// Convert is [Array.Rows] for any item type: ids are widened or narrowed. An id
// that is no expert of the profile is an [IDError], so nothing is ever lost. Data
// is copied if the item type differs.
func (a Array) Convert(p Profile, start int) (Rows, error) {
	if a.DType == p.DType() {
		return a.Rows(p, start)
	}
	if err := a.checkFor(p, start, p.Layers); err != nil {
		return Rows{}, err
	}
	r := Rows{Profile: p, Start: start, Data: make([]byte, a.items()*p.ItemBytes())}
	for i := range a.items() {
		id := a.item(i)
		if id < 0 || id >= p.Experts {
			return Rows{}, a.wrongID(i, start, p.Experts)
		}
		r.set(i, id)
	}
	return r, nil
}

// set stores id i in C order.
func (r Rows) set(i, id int) {
	if r.Profile.ItemBytes() == 1 {
		r.Data[i] = byte(id)
		return
	}
	binary.LittleEndian.PutUint16(r.Data[2*i:], uint16(id))
}

// checkFor is what every conversion checks first.
func (a Array) checkFor(p Profile, start, layers int) error {
	if err := a.check(); err != nil {
		return err
	}
	if _, err := NewRows(p, start, nil); err != nil {
		return err
	}
	if start > math.MaxInt-a.Len() {
		return &auxerrors.ConfigError{Field: "start", Value: start, Want: "a position that the rows can follow", Reason: auxerrors.ErrTooLarge}
	}
	return a.checkShape(layers, p.TopK)
}
