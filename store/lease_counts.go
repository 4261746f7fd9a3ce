package store

import (
	"math/bits"

	"github.com/auxoutput/auxoutput/blockhash"
)

// leaseCounts is how often a lease retains which hash, in the order of the first
// retains. A hash that is not retained any more keeps its place, so that it has the
// same one if it comes again, until half of the places are of that kind. Everything
// takes constant time on average, and no memory once it has been as large before.
type leaseCounts struct {
	entries []leaseCount
	cells   []int32 // number of the entry + 1 by tag, open addressing; a power of two
	unused  int     // entries with a count of zero
	total   int     // of all counts
}

type leaseCount struct {
	hash  blockhash.Hash
	tag   tag
	count int
}

// fewestUnused is how many unused entries are never worth tidying up.
const fewestUnused = 32

// cellOf is the cell of a hash, or the empty one where it belongs.
func (c *leaseCounts) cellOf(t tag, hash *blockhash.Hash) int {
	mask := len(c.cells) - 1
	for at := int(t) & mask; ; at = (at + 1) & mask {
		number := c.cells[at]
		if number == 0 {
			return at
		}
		if e := &c.entries[number-1]; e.tag == t && e.hash == *hash {
			return at
		}
	}
}

// find is the entry of a hash, nil if it has none.
func (c *leaseCounts) find(t tag, hash *blockhash.Hash) *leaseCount {
	if len(c.cells) == 0 {
		return nil
	}
	if number := c.cells[c.cellOf(t, hash)]; number > 0 {
		return &c.entries[number-1]
	}
	return nil
}

// raise counts a hash once more.
func (c *leaseCounts) raise(t tag, hash *blockhash.Hash) {
	c.total++
	if e := c.find(t, hash); e != nil {
		if e.count == 0 {
			c.unused--
		}
		e.count++
		return
	}
	c.entries = append(c.entries, leaseCount{*hash, t, 1})
	if 2*len(c.entries) > len(c.cells) {
		c.rebuild()
		return
	}
	c.cells[c.cellOf(t, hash)] = int32(len(c.entries))
}

// lower counts a hash once less. It returns false if the hash is not counted.
func (c *leaseCounts) lower(t tag, hash *blockhash.Hash) bool {
	e := c.find(t, hash)
	if e == nil || e.count == 0 {
		return false
	}
	c.total--
	if e.count--; e.count == 0 {
		c.unused++
	}
	return true
}

// tidy drops the unused entries if there are many.
func (c *leaseCounts) tidy() {
	if c.unused < fewestUnused || 2*c.unused < len(c.entries) {
		return
	}
	kept := c.entries[:0]
	for _, e := range c.entries {
		if e.count > 0 {
			kept = append(kept, e)
		}
	}
	c.entries, c.unused = kept, 0
	c.rebuild()
}

// rebuild makes the cells anew, with room for as many entries again.
func (c *leaseCounts) rebuild() {
	if size := 1 << bits.Len(uint(4*len(c.entries))); size > len(c.cells) {
		c.cells = make([]int32, size)
	} else {
		clear(c.cells)
	}
	for i := range c.entries {
		e := &c.entries[i]
		c.cells[c.cellOf(e.tag, &e.hash)] = int32(i + 1)
	}
}

// appendAll appends every hash as often as it is counted.
func (c *leaseCounts) appendAll(hashes []blockhash.Hash) []blockhash.Hash {
	for i := range c.entries {
		for range c.entries[i].count {
			hashes = append(hashes, c.entries[i].hash)
		}
	}
	return hashes
}
