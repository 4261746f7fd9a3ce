// Package arena provides large zeroed regions of memory that cost nothing until
// they are touched.
//
// On Unix a region is an anonymous mapping, outside the Go heap: the garbage
// collector neither scans it nor counts it towards its goal, and the system
// backs a page only when it is first written. Elsewhere, and in race builds
// (the race detector sees nothing but Go memory), it is a slab of the heap.
package arena

import "sync/atomic"

// HugePage is the size of a transparent huge page on the platforms that have
// them; regions of at least this size begin at a multiple of it.
const HugePage = 2 << 20

// populateStep is how much memory Populate asks for at a time.
const populateStep = 64 << 20

// mostPopulators is how many goroutines populate a region at most: memory itself
// becomes the limit.
const mostPopulators = 4

// Region is a piece of memory of fixed size. The zero Region is empty, and so is a
// nil one.
type Region struct {
	raw   []byte // as the system gave it
	bytes []byte // the part in use
}

// Bytes is the memory itself, zeroed when the region was made. It must not be
// used after Release.
func (r *Region) Bytes() []byte { return r.bytes }

var mapped atomic.Int64 // of all regions

// MappedBytes is the address space outside the Go heap that all regions of the
// process hold.
func MappedBytes() int64 { return mapped.Load() }

// Mapped is the number of bytes of address space outside the Go heap that the
// region holds, including what alignment cost; 0 for a slab of the heap.
func (r *Region) Mapped() int64 {
	if !offHeap || r == nil {
		return 0
	}
	return int64(len(r.raw))
}

// alignedStart is how many bytes to skip from address so that what follows
// begins at a multiple of HugePage.
func alignedStart(address uintptr) int {
	return int(-address & (HugePage - 1))
}
