//go:build !unix || race

package arena

import (
	"fmt"
	"unsafe"
)

const offHeap = false

// maxSlab is the most that is asked of the Go heap at once. The runtime ends the
// process when it cannot get memory, so an unreasonable request must be refused
// before it is made.
const maxSlab = 1 << 40

// New allocates size bytes, size > 0. Huge pages are the runtime's affair.
func New(size int, _ bool) (*Region, error) {
	if uint64(size) > maxSlab {
		return nil, fmt.Errorf("allocating %d bytes on the heap: more than %d", size, uint64(maxSlab))
	}
	length, skip := size, 0
	if size >= HugePage {
		if length = size + HugePage; length < size {
			return nil, fmt.Errorf("allocating %d bytes: beyond the address space", size)
		}
	}
	raw := make([]byte, length)
	if size >= HugePage {
		skip = alignedStart(uintptr(unsafe.Pointer(&raw[0])))
	}
	return &Region{raw: raw, bytes: raw[skip : skip+size : skip+size]}, nil
}

// Release drops the reference to the memory; the garbage collector does the rest.
func (r *Region) Release() error {
	if r != nil {
		r.raw, r.bytes = nil, nil
	}
	return nil
}

// Populate makes the whole region resident now. Call it before anything is
// written.
func (r *Region) Populate() error {
	touchPages(r.bytes)
	return nil
}
