package store

import (
	"errors"
	"fmt"
	"math"
	"unsafe"

	"github.com/auxoutput/auxoutput/store/internal/arena"
)

// memory is everything of a store that grows with its slots: the rows and,
// apart from them, the book-keeping. All of it comes zeroed, and zero is the
// right beginning everywhere, so that a store of any size starts at once.
type memory struct {
	rowRegion  *arena.Region
	bookRegion *arena.Region

	rows  []byte
	nodes []node   // nodes[0] closes the recency list
	cells []uint64 // of the index
	sums  []uint64 // checksums by slot, with the verify option
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
	bookBytes := nodeBytes + cellBytes + sumBytes
	if bookBytes > math.MaxInt {
		return fmt.Errorf("book-keeping of %d slots: %d bytes are beyond the address space", slots, bookBytes)
	}
	var err error
	if m.rowRegion, err = arena.New(slots*options.BlockBytes, !options.NoHugePages); err != nil {
		return fmt.Errorf("blocks: %w", err)
	}
	// No huge pages here: entries are touched in random order, so a store that is
	// nearly empty would soon have all of its book-keeping resident.
	if m.bookRegion, err = arena.New(int(bookBytes), false); err != nil {
		return errors.Join(fmt.Errorf("book-keeping: %w", err), m.release())
	}
	m.rows = m.rowRegion.Bytes()
	book := m.bookRegion.Bytes()
	m.nodes = unsafe.Slice((*node)(unsafe.Pointer(&book[0])), slots+1)
	m.cells = unsafe.Slice((*uint64)(unsafe.Pointer(&book[nodeBytes])), cellsFor(slots))
	if options.Verify {
		m.sums = unsafe.Slice((*uint64)(unsafe.Pointer(&book[nodeBytes+cellBytes])), slots+1)
	}
	if options.Populate {
		for _, region := range []*arena.Region{m.rowRegion, m.bookRegion} {
			if err := region.Populate(); err != nil {
				return errors.Join(err, m.release())
			}
		}
	}
	return nil
}

// mapped is the address space held outside the Go heap.
func (m *memory) mapped() int64 {
	total := int64(0)
	for _, region := range []*arena.Region{m.rowRegion, m.bookRegion} {
		if region != nil {
			total += region.Mapped()
		}
	}
	return total
}

func (m *memory) release() error {
	var errs []error
	for _, region := range []*arena.Region{m.rowRegion, m.bookRegion} {
		if region != nil {
			errs = append(errs, region.Release())
		}
	}
	*m = memory{}
	return errors.Join(errs...)
}
