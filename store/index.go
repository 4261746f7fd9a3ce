package store

import "github.com/auxoutput/auxoutput/blockhash"

// index finds the slot of a hash. It is an open-addressed table with linear
// probing, twice as many cells as slots, so that it never grows and a probe is
// one or two cells long. A cell is the upper half of a tag and a slot
// number, 0 being an empty cell. The home of a cell follows from its own tag:
// deleting shifts cells back without looking at a node.
//
// Tags only narrow the search. What decides is the whole hash in the node.
type index struct {
	cells []uint64
	nodes []node
}

// cellsFor is the number of cells for so many slots.
func cellsFor(slots int) int { return 2 * slots }

func cell(t tag, slot int32) uint64 { return uint64(t)&^(1<<32-1) | uint64(uint32(slot)) }
func hasTag(c uint64, t tag) bool   { return (c^uint64(t))>>32 == 0 }
func cellSlot(c uint64) int32       { return int32(uint32(c)) }

// home is where the search for a tag begins, or for that of a cell. It spreads
// them evenly over any number of cells.
func (x *index) home(t tag) int {
	return int(uint64(t) >> 32 * uint64(len(x.cells)) >> 32)
}

func (x *index) after(at int) int {
	if at++; at < len(x.cells) {
		return at
	}
	return 0
}

// candidate is the first slot with this tag, 0 if there is none. It reads no
// node, so that a pass over many tags overlaps their cache misses.
func (x *index) candidate(t tag) int32 {
	for at := x.home(t); ; at = x.after(at) {
		c := x.cells[at]
		if c == 0 {
			return 0
		}
		if hasTag(c, t) {
			return cellSlot(c)
		}
	}
}

// find is the slot of hash, 0 if it is not there.
func (x *index) find(t tag, hash *blockhash.Hash) int32 {
	for at := x.home(t); ; at = x.after(at) {
		c := x.cells[at]
		if c == 0 {
			return 0
		}
		if hasTag(c, t) && x.nodes[cellSlot(c)].hash == *hash {
			return cellSlot(c)
		}
	}
}

// insert adds a slot whose hash is not there yet.
func (x *index) insert(t tag, slot int32) {
	at := x.home(t)
	for x.cells[at] != 0 {
		at = x.after(at)
	}
	x.cells[at] = cell(t, slot)
}

// remove takes out a slot that is there, and moves back the cells behind it
// that a probe would no longer reach across the gap.
func (x *index) remove(t tag, slot int32) {
	hole := x.home(t)
	for x.cells[hole] != cell(t, slot) {
		hole = x.after(hole)
	}
	for at := x.after(hole); x.cells[at] != 0; at = x.after(at) {
		home := x.home(tag(x.cells[at]))
		if x.distance(home, at) >= x.distance(hole, at) {
			x.cells[hole] = x.cells[at]
			hole = at
		}
	}
	x.cells[hole] = 0
}

// distance is how many cells a probe that starts at from walks to reach to.
func (x *index) distance(from, to int) int {
	if to >= from {
		return to - from
	}
	return to - from + len(x.cells)
}
