package routing

import (
	"encoding/binary"
	"math/bits"
)

// laneSlots is the top-k of most models. Its ids fill one word of 8 bytes, or two of
// 4 x 2 bytes, and are checked side by side in the lanes of a word, which
// takes a fifth of the time that one by one does (BenchmarkCheckRow).
const laneSlots = 8

// Each lane's lowest and highest bit.
const (
	ones8  = 0x0101010101010101
	tops8  = 0x8080808080808080
	ones16 = 0x0001000100010001
	tops16 = 0x8000800080008000
)

// lanes compares every lane of a word with the number of experts. To the lower bits
// of a lane it adds what carries into the top bit exactly if they are too large: if
// experts is at most half of what a lane can hold, an id is beyond it if the sum or
// the id has the top bit, else if both have it.
type lanes struct {
	add    uint64
	either uint64 // all ones if one of the top bits is enough
}

// newLanes is the zero value, which finds nothing, if ids are not to be compared.
func newLanes(p Profile, compare bool) lanes {
	half, each := 1<<7, uint64(ones8)
	if p.ItemBytes() == 2 {
		half, each = 1<<15, ones16
	}
	switch {
	case !compare:
		return lanes{}
	case p.Experts <= half:
		return lanes{add: uint64(half-p.Experts) * each, either: ^uint64(0)}
	}
	return lanes{add: uint64(2*half-p.Experts) * each}
}

// beyond has top bits in it exactly if a lane of x is no expert. tops are the top bits
// of all lanes.
func (l lanes) beyond(x, tops uint64) uint64 {
	sum, own := (x&^tops+l.add)&tops, x&tops
	return sum&own | (sum|own)&l.either
}

// zero8 is not 0 exactly if a byte of x is 0.
func zero8(x uint64) uint64 { return (x - ones8) &^ x & tops8 }

// zero16 is not 0 exactly if a pair of bytes of x is 0.
func zero16(x uint64) uint64 { return (x - ones16) &^ x & tops16 }

// repeat8 is not 0 exactly if two bytes of x are equal. The turns bring each pair
// together; those by more than half would do so again.
func repeat8(x uint64) uint64 {
	return zero8(x^bits.RotateLeft64(x, 8)) | zero8(x^bits.RotateLeft64(x, 16)) |
		zero8(x^bits.RotateLeft64(x, 24)) | zero8(x^bits.RotateLeft64(x, 32))
}

// repeat16 is not 0 exactly if two of the eight pairs of bytes in x and y are equal.
func repeat16(x, y uint64) uint64 {
	within := zero16(x^bits.RotateLeft64(x, 16)) | zero16(x^bits.RotateLeft64(x, 32)) |
		zero16(y^bits.RotateLeft64(y, 16)) | zero16(y^bits.RotateLeft64(y, 32))
	return within | zero16(x^y) | zero16(x^bits.RotateLeft64(y, 16)) |
		zero16(x^bits.RotateLeft64(y, 32)) | zero16(x^bits.RotateLeft64(y, 48))
}

// lanesAreClean reports whether Range and Distinct find nothing in a row with top-k
// 8. It looks at all of it before it answers, because nearly all rows are clean.
func (k *Checker) lanesAreClean(row []byte) bool {
	wrong := uint64(0)
	if k.profile.ItemBytes() == 1 {
		for layer := 0; len(row) >= 8; layer++ {
			x := binary.LittleEndian.Uint64(row)
			wrong |= k.lanes.beyond(x, tops8)
			if k.checks.Distinct && k.counts(layer) {
				wrong |= repeat8(x)
			}
			row = row[8:]
		}
		return wrong == 0
	}
	for layer := 0; len(row) >= 16; layer++ {
		x, y := binary.LittleEndian.Uint64(row), binary.LittleEndian.Uint64(row[8:])
		wrong |= k.lanes.beyond(x, tops16) | k.lanes.beyond(y, tops16)
		if k.checks.Distinct && k.counts(layer) {
			wrong |= repeat16(x, y)
		}
		row = row[16:]
	}
	return wrong == 0
}
