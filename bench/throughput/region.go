package throughput

// region is memory outside the Go heap, where there is such memory, so that the
// work's own buffers are no part of what is said about a cache's heap.
type region struct {
	raw   []byte
	bytes []byte
}

// hugePage is the usual size of a huge page; regions start at a multiple of it.
const hugePage = 2 << 20

// fill makes the region resident, with bytes that differ from one block to the
// next.
func (r region) fill() {
	for i := range r.bytes {
		r.bytes[i] = byte(i ^ i>>8 ^ i>>16)
	}
}
