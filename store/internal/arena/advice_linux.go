//go:build linux && !race

package arena

import (
	"errors"

	"golang.org/x/sys/unix"
)

// noReserve keeps the kernel from refusing a mapping larger than memory and
// swap: most of it may never be touched.
const noReserve = unix.MAP_NORESERVE

func adviseHugePages(b []byte) {
	_ = unix.Madvise(b, unix.MADV_HUGEPAGE)
}

// adviseNoDump keeps b out of core dumps, which would be as large as the store.
func adviseNoDump(b []byte) {
	_ = unix.Madvise(b, unix.MADV_DONTDUMP)
}

// populate faults the pages of b in. MADV_POPULATE_WRITE came with Linux 5.14;
// older kernels answer EINVAL. Pieces start at multiples of the page size.
func populate(b []byte) error {
	err := unix.Madvise(b, unix.MADV_POPULATE_WRITE)
	if errors.Is(err, unix.EINVAL) {
		touchPages(b)
		return nil
	}
	return err
}
