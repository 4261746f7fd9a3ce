package store

import (
	"sync/atomic"

	"github.com/auxoutput/auxoutput/store/internal/arena"
)

// ProcessStats counts the stores of this process and their memory.
type ProcessStats struct {
	Open int // stores made and not closed yet

	// MappedBytes is address space that stores hold outside the Go heap: of those
	// that are open, of those that were closed and still have open views, and of
	// those that were dropped and are not cleaned up yet.
	MappedBytes int64

	// Dropped counts the stores that were garbage before they were closed. Each is
	// a mistake of the program: until the collector finds such a store, its memory
	// is held for nothing.
	Dropped uint64

	// DroppedInUse counts, of these, the ones that had open views. The memory of
	// such a store is never given back, as slices of the views may point to it.
	DroppedInUse uint64
}

var process struct {
	open                  atomic.Int64
	dropped, droppedInUse atomic.Uint64
}

// Process takes a snapshot of the figures of all stores, in constant time.
func Process() ProcessStats {
	return ProcessStats{
		Open:         int(process.open.Load()),
		MappedBytes:  arena.MappedBytes(),
		Dropped:      process.dropped.Load(),
		DroppedInUse: process.droppedInUse.Load(),
	}
}

// dropped is run when the store of this memory has become garbage without having
// been closed. Copies into it or out of it keep their store alive, and so do views
// as long as somebody has them: what is left is slices of views that nobody can
// close any more. They are no pointers that the collector follows.
func (m *memory) dropped() {
	process.open.Add(-1)
	process.dropped.Add(1)
	if m.views.Load() > 0 {
		process.droppedInUse.Add(1)
		return
	}
	go m.release() // may take longer than other cleanups should wait; an error has nobody to go to
}
