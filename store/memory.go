package store

import (
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/auxoutput/auxoutput/store/internal/arena"
)

// memory is everything of a store that grows with its slots: the rows and, apart
// from them, the book-keeping. All of it comes zeroed, and zero is the right
// beginning everywhere, so that a store of any size starts at once.
//
// It points to no Store, so that it can outlive one that is dropped without Close.
type memory struct {
	slots    int
	populate bool
	huge     bool

	rows  []byte
	nodes []node   // nodes[0] closes the recency list
	sums  []uint64 // checksums by slot, with the verify option

	views atomic.Int64 // open views; their slices point into rows

	mu         sync.Mutex // guards what follows
	rowRegion  *arena.Region
	nodeRegion *arena.Region
	table      table
}

// table is the book-keeping that is looked up by hash. A reset replaces it as a
// whole, so that nothing in it has to be cleared.
type table struct {
	cellRegion *arena.Region
	markRegion *arena.Region

	cells []uint64 // of the index
	marks []uint32 // of the history
}

// MetadataBytes is what book-keeping costs, in bytes a slot; the verify option
// adds 8. A store of less than 512 slots has 4 KiB more.
const MetadataBytes = int(unsafe.Sizeof(node{})) + 2*8 + bucketMarks*4/bucketSlots

// newMemory reserves the memory of a store.
func newMemory(options Options, slots int) (*memory, error) {
	m := &memory{slots: slots, populate: options.Populate, huge: !options.NoHugePages}
	nodeBytes := uint64(slots+1) * uint64(unsafe.Sizeof(node{}))
	sumBytes := uint64(0)
	if options.Verify {
		sumBytes = uint64(slots+1) * 8
	}
	if nodeBytes+sumBytes+tableBytes(slots) > math.MaxInt {
		return nil, fmt.Errorf("book-keeping of %d slots: %d bytes are beyond the address space", slots, nodeBytes+sumBytes+tableBytes(slots))
	}
	if options.Populate {
		if err := checkGroupLimit(systemFiles, uint64(slots)*uint64(options.BlockBytes)+nodeBytes+sumBytes+tableBytes(slots)); err != nil {
			return nil, err
		}
	}
	// Slots are first used in ascending order, so huge pages are filled one after the
	// other.
	var err error
	m.rowRegion, err = m.reserve("blocks", uint64(slots)*uint64(options.BlockBytes), m.huge)
	if err == nil {
		m.nodeRegion, err = m.reserve("book-keeping", nodeBytes+sumBytes, m.huge)
	}
	if err == nil {
		m.table, err = m.newTable()
	}
	if err != nil {
		return nil, errors.Join(err, m.release())
	}
	m.rows = m.rowRegion.Bytes()
	book := m.nodeRegion.Bytes()
	m.nodes = unsafe.Slice((*node)(unsafe.Pointer(&book[0])), slots+1)
	if options.Verify {
		m.sums = unsafe.Slice((*uint64)(unsafe.Pointer(&book[nodeBytes])), slots+1)
	}
	return m, nil
}

func tableBytes(slots int) uint64 { return 4*uint64(marksFor(slots)) + 8*uint64(cellsFor(slots)) }

// newTable reserves an empty table.
//
// Cells are not used in any order: those of a store that is nearly empty lie all
// over, and huge pages would soon make all of them resident. Marks lie all over too,
// but there are none before blocks leave, which is mostly when the store is full.
func (m *memory) newTable() (t table, err error) {
	cells, marks := cellsFor(m.slots), marksFor(m.slots)
	if t.cellRegion, err = m.reserve("index", 8*uint64(cells), m.huge && m.populate); err == nil {
		t.markRegion, err = m.reserve("history", 4*uint64(marks), m.huge)
	}
	if err != nil {
		return table{}, errors.Join(err, t.release())
	}
	t.cells = unsafe.Slice((*uint64)(unsafe.Pointer(&t.cellRegion.Bytes()[0])), cells)
	t.marks = unsafe.Slice((*uint32)(unsafe.Pointer(&t.markRegion.Bytes()[0])), marks)
	return t, nil
}

func (t table) release() error {
	return errors.Join(t.cellRegion.Release(), t.markRegion.Release())
}

// replaceTable puts another table in the place of the one in use and returns that.
func (m *memory) replaceTable(t table) (old table) {
	m.mu.Lock()
	defer m.mu.Unlock()
	old, m.table = m.table, t
	return old
}

func (m *memory) reserve(what string, bytes uint64, huge bool) (*arena.Region, error) {
	region, err := arena.New(int(bytes), huge)
	if err == nil && m.populate {
		err = region.Populate()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", what, err), region.Release())
	}
	return region, nil
}

// mapped is the address space held outside the Go heap.
func (m *memory) mapped() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	total := int64(0)
	for _, region := range m.regions() {
		total += region.Mapped()
	}
	return total
}

// regions are what is reserved, or nil. REQUIRES: m.mu is held.
func (m *memory) regions() [4]*arena.Region {
	return [4]*arena.Region{m.rowRegion, m.nodeRegion, m.table.cellRegion, m.table.markRegion}
}

// release gives everything back. Nobody may use the memory any more.
func (m *memory) release() error {
	m.mu.Lock()
	regions := m.regions()
	m.rowRegion, m.nodeRegion, m.table = nil, nil, table{}
	m.mu.Unlock()
	m.rows, m.nodes, m.sums = nil, nil, nil
	var errs []error
	for _, region := range regions { // takes as long as there are resident pages
		errs = append(errs, region.Release())
	}
	return errors.Join(errs...)
}
