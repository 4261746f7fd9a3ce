package machine

// Region is memory outside the Go heap, where there is such memory, so that the
// buffers of a benchmark are no part of what is said about the heap. The zero Region
// is empty.
type Region struct {
	Bytes []byte
	raw   []byte // as the system gave it
}

// hugePage is the usual size of a huge page; regions start at a multiple of it.
const hugePage = 2 << 20

// Fill makes the region resident: it writes to every cache line.
func (r Region) Fill() {
	for i := 0; i < len(r.Bytes); i += 64 {
		r.Bytes[i] = byte(i>>6) | 1
	}
}
