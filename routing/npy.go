package routing

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	auxerrors "github.com/auxoutput/auxoutput/errors"
)

// npyMagic begins every .npy file; a byte each for the major and the minor
// version, and the length of the header, follow it.
const npyMagic = "\x93NUMPY"

// maxNpyHeader bounds the header that is read. NumPy itself reads up to 10,000
// characters; that of an array of rank 3 has less than 120.
const maxNpyHeader = 1 << 16

// npyHeader is the file up to the ids, version 1.0, padded with spaces so that the
// ids begin at a multiple of 64 bytes: what numpy.save writes, to the byte.
func npyHeader(shape [3]int, d DType) []byte {
	const before, align = len(npyMagic) + 4, 64
	text := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%d, %d, %d), }", d.Descr(), shape[0], shape[1], shape[2])
	size := (before + len(text) + 1 + align - 1) / align * align
	head := append(make([]byte, 0, size+2), npyMagic+"\x01\x00"...) // room for two ids that complete a group of base64
	head = binary.LittleEndian.AppendUint16(head, uint16(size-before))
	return append(append(append(head, text...), strings.Repeat(" ", size-before-len(text)-1)...), '\n')
}

// DecodeNpy reads an .npy file of version 1, 2 or 3 that is an array of rank 3 of
// uint8, uint16, int8, int16 or int32. Big-endian items are swapped and Fortran
// order is transposed; then the array is a copy, otherwise it shares the memory of
// data. Data that is shorter or longer than the header claims, any other rank or
// item type (float, bool, wider integers, Python objects), items of several bytes
// whose byte order is not stated, and any header that NumPy would not write, are a
// [DecodeError]; a negative id is an [IDError].
func DecodeNpy(data []byte) (Array, error) {
	text, payload, err := splitNpy(data)
	if err != nil {
		return Array{}, err
	}
	header, err := parseNpyHeader(text)
	if err != nil {
		return Array{}, err
	}
	d, bigEndian, err := header.dtype()
	if err != nil {
		return Array{}, err
	}
	if len(header.shape) != 3 {
		return Array{}, refuse("npy", auxerrors.ErrMismatch, "shape %v is of rank %d, rows are of rank 3", header.shape, len(header.shape))
	}
	shape := [3]uint64(header.shape)
	if size, err := sizeOfArray("npy", shape, d); err != nil {
		return Array{}, err
	} else if size != uint64(len(payload)) {
		return Array{}, refuse("npy", auxerrors.ErrMismatch, "%d bytes of data, expected %d for shape %v of %v", len(payload), size, shape, d)
	}
	if bigEndian {
		payload = swapped(payload, d.ItemBytes())
	}
	if header.fortran {
		payload = transposed(payload, shape, d.ItemBytes())
	}
	return newArray("npy", shape, d, payload)
}

// DecodeNpyBase64 is [DecodeNpy] of base64 text: the standard alphabet, padded,
// without line breaks.
func DecodeNpyBase64(text []byte) (Array, error) {
	data, err := decodeBase64(text)
	if err != nil {
		return Array{}, err
	}
	return DecodeNpy(data)
}

// ReadNpy is [DecodeNpy] of all that a reader gives, if that is no more than limit
// bytes; more is a [DecodeError] that wraps [auxerrors.ErrTooLarge]. Memory grows
// with what was read, not with what the header claims.
func ReadNpy(r io.Reader, limit int64) (Array, error) {
	limit = min(max(limit, 0), math.MaxInt64-1)
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		return Array{}, fmt.Errorf("auxoutput: read npy: after %d bytes: %w", len(data), err)
	}
	if int64(len(data)) > limit {
		return Array{}, refuse("npy", auxerrors.ErrTooLarge, "more than the limit of %d bytes", limit)
	}
	return DecodeNpy(data)
}

// splitNpy separates the text of the header from the data.
func splitNpy(data []byte) (header string, payload []byte, err error) {
	if len(data) < len(npyMagic)+2 || string(data[:len(npyMagic)]) != npyMagic {
		return "", nil, refuse("npy", ErrFormat, "%d bytes that do not begin with the magic of .npy", len(data))
	}
	major, minor, rest := data[len(npyMagic)], data[len(npyMagic)+1], data[len(npyMagic)+2:]
	sizeBytes := 2
	switch {
	case minor != 0 || major < 1 || major > 3:
		return "", nil, refuse("npy", ErrFormat, "version %d.%d, known are 1.0, 2.0 and 3.0", major, minor)
	case major > 1:
		sizeBytes = 4
	}
	if len(rest) < sizeBytes {
		return "", nil, refuse("npy", ErrFormat, "ends within the length of the header")
	}
	var length [4]byte
	copy(length[:], rest[:sizeBytes])
	size := uint64(binary.LittleEndian.Uint32(length[:]))
	rest = rest[sizeBytes:]
	switch {
	case size > uint64(len(rest)):
		return "", nil, refuse("npy", ErrFormat, "header of %d bytes, only %d are there", size, len(rest))
	case size > maxNpyHeader:
		return "", nil, refuse("npy", auxerrors.ErrTooLarge, "header of %d bytes, at most %d are read", size, maxNpyHeader)
	}
	return string(rest[:size]), rest[size:len(rest):len(rest)], nil
}

// dtype is the item type and whether items are big-endian.
func (h npyHeaderFields) dtype() (d DType, bigEndian bool, err error) {
	var order, kind string
	if len(h.descr) == 3 {
		order, kind = h.descr[:1], h.descr[1:]
	}
	for d := Uint8; d.valid(); d++ {
		if d.Descr()[1:] != kind {
			continue
		}
		switch {
		case order == "<" || d.ItemBytes() == 1 && strings.Contains("|=>", order):
			return d, false, nil
		case order == ">":
			return d, true, nil
		case order == "|" || order == "=":
			return 0, false, refuse("npy", ErrItemType, "descr %.20q does not state the byte order of its items", h.descr)
		}
	}
	return 0, false, refuse("npy", ErrItemType, "descr %.20q, known are u1, u2, i1, i2 and i4", h.descr)
}

// swapped is a copy with the bytes of each item reversed.
func swapped(data []byte, itemBytes int) []byte {
	out := slices.Clone(data)
	for item := range slices.Chunk(out, itemBytes) {
		slices.Reverse(item)
	}
	return out
}

// transposed is a copy in C order of data in Fortran order, in which the first
// index runs fastest.
func transposed(data []byte, shape [3]uint64, itemBytes int) []byte {
	rows, layers, topK := int(shape[0]), int(shape[1]), int(shape[2])
	out := make([]byte, 0, len(data))
	for i := range rows {
		for j := range layers {
			for k := range topK {
				at := (i + rows*(j+layers*k)) * itemBytes
				out = append(out, data[at:at+itemBytes]...)
			}
		}
	}
	return out
}
