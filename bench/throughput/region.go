package throughput

// region is memory outside the Go heap, where there is such memory, so that the
// work's own buffers are no part of what is said about a cache's heap.
type region struct {
	raw   []byte
	bytes []byte
}

// hugePage is the usual size of a huge page; regions start at a multiple of it.
const hugePage = 2 << 20

// fill makes the region resident: it writes to every cache line.
func (r region) fill() {
	for i := 0; i < len(r.bytes); i += 64 {
		r.bytes[i] = byte(i>>6) | 1
	}
}
