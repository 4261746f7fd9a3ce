//go:build !unix

package machine

// NewRegion takes size bytes from the heap.
func NewRegion(size int, _ bool) (Region, error) {
	b := make([]byte, size)
	return Region{raw: b, Bytes: b}, nil
}

// Release leaves the memory to the garbage collector.
func (r Region) Release() error { return nil }
