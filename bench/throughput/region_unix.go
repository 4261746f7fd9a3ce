//go:build unix

package throughput

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// newRegion maps size bytes and says which pages it would like for them.
func newRegion(size int, hugePages bool) (region, error) {
	raw, err := unix.Mmap(-1, 0, size+hugePage, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return region{}, fmt.Errorf("mapping %d bytes: %w", size, err)
	}
	skip := int(-uintptr(unsafe.Pointer(&raw[0])) & (hugePage - 1))
	r := region{raw: raw, bytes: raw[skip : skip+size : skip+size]}
	advise(raw, r.bytes, hugePages)
	return r, nil
}

func (r region) release() error { return unix.Munmap(r.raw) }
