package store

import (
	"errors"
	"fmt"
	"math"
	"unsafe"

	"github.com/auxoutput/auxoutput/store/internal/arena"
)

// memory is everything of a store that grows with its slots: the rows and, apart
// from them, the book-keeping. All of it comes zeroed, and zero is the right
// beginning everywhere, so that a store of any size starts at once.
type memory struct {
	rowRegion  *arena.Region
	nodeRegion *arena.Region
	cellRegion *arena.Region

	rows  []byte
	nodes []node   // nodes[0] closes the recency list
	sums  []uint64 // checksums by slot, with the verify option
	cells []uint64 // of the index
}

// MetadataBytes is what book-keeping costs, in bytes a slot; the verify option
// adds 8.
const MetadataBytes = int(unsafe.Sizeof(node{})) + 2*8

func (m *memory) reserve(options Options, slots int) error {
	nodeBytes := uint64(slots+1) * uint64(unsafe.Sizeof(node{}))
	cellBytes := uint64(cellsFor(slots)) * 8
	sumBytes := uint64(0)
	if options.Verify {
		sumBytes = uint64(slots+1) * 8
	}
	if nodeBytes+sumBytes+cellBytes > math.MaxInt {
		return fmt.Errorf("book-keeping of %d slots: %d bytes are beyond the address space", slots, nodeBytes+sumBytes+cellBytes)
	}
	// Slots are first used in ascending order, so huge pages are filled one after the
	// other. Cells are not: those of a store that is nearly empty lie all over, and
	// huge pages would soon make all of them resident.
	huge := !options.NoHugePages
	for _, r := range []struct {
		what  string
		to    **arena.Region
		bytes uint64
		huge  bool
	}{
		{"blocks", &m.rowRegion, uint64(slots) * uint64(options.BlockBytes), huge},
		{"book-keeping", &m.nodeRegion, nodeBytes + sumBytes, huge},
		{"index", &m.cellRegion, cellBytes, huge && options.Populate},
	} {
		region, err := arena.New(int(r.bytes), r.huge)
		if err == nil && options.Populate {
			err = region.Populate()
		}
		if region != nil {
			*r.to = region
		}
		if err != nil {
			return errors.Join(fmt.Errorf("%s: %w", r.what, err), m.release())
		}
	}
	m.rows = m.rowRegion.Bytes()
	book := m.nodeRegion.Bytes()
	m.nodes = unsafe.Slice((*node)(unsafe.Pointer(&book[0])), slots+1)
	if options.Verify {
		m.sums = unsafe.Slice((*uint64)(unsafe.Pointer(&book[nodeBytes])), slots+1)
	}
	m.cells = unsafe.Slice((*uint64)(unsafe.Pointer(&m.cellRegion.Bytes()[0])), cellsFor(slots))
	return nil
}

func (m *memory) regions() [3]*arena.Region {
	return [3]*arena.Region{m.rowRegion, m.nodeRegion, m.cellRegion}
}

// mapped is the address space held outside the Go heap.
func (m *memory) mapped() int64 {
	total := int64(0)
	for _, region := range m.regions() {
		if region != nil {
			total += region.Mapped()
		}
	}
	return total
}

func (m *memory) release() error {
	var errs []error
	for _, region := range m.regions() {
		if region != nil {
			errs = append(errs, region.Release())
		}
	}
	*m = memory{}
	return errors.Join(errs...)
}
