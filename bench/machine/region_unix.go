//go:build unix

package machine

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// NewRegion maps size bytes and says which pages it would like for them.
func NewRegion(size int, hugePages bool) (Region, error) {
	raw, err := unix.Mmap(-1, 0, size+hugePage, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return Region{}, fmt.Errorf("mapping %d bytes: %w", size, err)
	}
	skip := int(-uintptr(unsafe.Pointer(&raw[0])) & (hugePage - 1))
	r := Region{raw: raw, Bytes: raw[skip : skip+size : skip+size]}
	advise(raw, r.Bytes, hugePages)
	return r, nil
}

// Release gives the memory back. The bytes must not be used any more.
func (r Region) Release() error {
	if r.raw == nil {
		return nil
	}
	return unix.Munmap(r.raw)
}
