//go:build unix && !race

package arena

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

const offHeap = true

// New reserves size bytes, size > 0. With hugePages the system is advised to
// back the region with huge pages where it can; advice that it does not take is
// no error, as many kernels are built or set up without them.
func New(size int, hugePages bool) (*Region, error) {
	length, skip := size, 0
	if size >= HugePage {
		if length = size + HugePage; length < size {
			return nil, fmt.Errorf("mapping %d bytes: beyond the address space", size)
		}
	}
	raw, err := unix.Mmap(-1, 0, length, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE|noReserve)
	if err != nil {
		return nil, fmt.Errorf("mapping %d bytes: %w", length, err)
	}
	mapped.Add(int64(length))
	adviseNoDump(raw)
	if size >= HugePage {
		skip = alignedStart(uintptr(unsafe.Pointer(&raw[0])))
	}
	r := &Region{raw: raw, bytes: raw[skip : skip+size : skip+size]}
	if hugePages && size >= HugePage {
		// Whole huge pages only: one that reached past the end would make the
		// region resident beyond its size.
		adviseHugePages(r.bytes[:size&^(HugePage-1)])
	}
	return r, nil
}

// Release gives the memory back. The region's bytes must not be used any more.
func (r *Region) Release() error {
	if r == nil || r.raw == nil {
		return nil
	}
	raw := r.raw
	r.raw, r.bytes = nil, nil
	if err := unix.Munmap(raw); err != nil {
		return fmt.Errorf("unmapping %d bytes: %w", len(raw), err)
	}
	mapped.Add(-int64(len(raw)))
	return nil
}

// Populate makes the whole region resident now, so that a lack of memory shows
// here and not at a first write later on. Call it before anything is written.
//
// Pages are cleared on the processor that asks for them, at the speed of one: so
// several ask, a step at a time. After a failure no further step begins.
func (r *Region) Populate() error {
	steps := (len(r.bytes) + populateStep - 1) / populateStep
	var begun atomic.Int64
	var failure atomic.Pointer[error]
	var populators sync.WaitGroup
	for range min(steps, runtime.GOMAXPROCS(0), mostPopulators) {
		populators.Go(func() {
			for failure.Load() == nil {
				step := int(begun.Add(1)) - 1
				if step >= steps {
					return
				}
				from := step * populateStep
				if err := populate(r.bytes[from:min(from+populateStep, len(r.bytes))]); err != nil {
					failure.CompareAndSwap(nil, &err)
				}
			}
		})
	}
	populators.Wait()
	if err := failure.Load(); err != nil {
		return fmt.Errorf("populating %d bytes: %w", len(r.bytes), *err)
	}
	return nil
}
