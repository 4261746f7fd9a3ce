package store

// Stats is a snapshot of a store. Counters start at zero in New and go on across
// resets.
type Stats struct {
	Generation uint64

	Slots      int   // blocks that fit: floor(MaxBytes / BlockBytes)
	Used       int   // blocks stored
	Retained   int   // blocks stored that are retained, so that they cannot be evicted
	Pending    int   // hashes retained whose blocks are not stored
	OpenViews  int   // views that hold their blocks: not closed yet, or closed and still in use
	Orphaned   int   // slots of removed blocks that open views or copies still keep
	MaxBytes   int64 // the budget
	BlockBytes int   // size of a block
	UsedBytes  int64 // Used x BlockBytes

	// MappedBytes is address space held outside the Go heap, for blocks and
	// book-keeping; what of it is resident grows with use. GOMEMLIMIT does not
	// count it. It is 0 where blocks live in the Go heap.
	MappedBytes int64
	// MetadataBytes is what book-keeping takes when all slots are in use.
	MetadataBytes int64

	Puts        uint64 // batches put
	RefusedPuts uint64 // batches refused with an error
	Stored      uint64 // blocks stored
	Present     uint64 // blocks put that were stored before and stayed
	Conflicts   uint64 // blocks put with rows other than those stored before or mentioned first; counted with Verify only
	Dropped     uint64 // blocks put that had to give way in the same batch
	LeftOut     uint64 // blocks put in a Partial batch for which there was no room
	Evicted     uint64 // blocks that gave way to others
	Removed     uint64 // blocks dropped by Remove

	Reads       uint64 // Get and View calls that succeeded
	BlocksRead  uint64 // blocks they returned
	Misses      uint64 // Get and View calls that found a block absent; the sum of the next four
	EvictedMiss uint64 // of these, the absent block was evicted
	RemovedMiss uint64 // ... was removed
	NeverStored uint64 // ... was never stored in this generation
	AbsentMiss  uint64 // ... was never stored, or evicted or removed so long ago that this is forgotten
	Corrupt     uint64 // reads that found a wrong checksum; counted with Verify only
}

// counts are the counters of a store, under its mutex.
type counts struct {
	puts, refusedPuts, stored, present, conflicts, dropped, leftOut, evicted, removed uint64
	reads, blocksRead, evictedMiss, removedMiss, neverStored, absentMiss, corrupt     uint64
}

// Stats takes a snapshot, in constant time. After Close only the counters and
// the fixed sizes are meaningful.
func (s *Store) Stats() Stats {
	s.lock()
	defer s.mu.Unlock()
	c := &s.counts
	stats := Stats{
		Generation: s.generation,
		Slots:      s.slots.total,
		Used:       s.slots.used,
		Retained:   s.retains,
		Pending:    len(s.pending.places),
		OpenViews:  int(s.memory.views.Load()),
		Orphaned:   s.slots.orphaned,
		MaxBytes:   s.maxBytes,
		BlockBytes: s.blockBytes,
		UsedBytes:  int64(s.slots.used) * int64(s.blockBytes),

		MappedBytes:   s.memory.mapped(),
		MetadataBytes: int64(MetadataBytes) * int64(s.slots.total),

		Puts: c.puts, RefusedPuts: c.refusedPuts,
		Stored: c.stored, Present: c.present, Conflicts: c.conflicts, Dropped: c.dropped, LeftOut: c.leftOut,
		Evicted: c.evicted, Removed: c.removed,
		Reads: c.reads, BlocksRead: c.blocksRead,
		Misses:      c.evictedMiss + c.removedMiss + c.neverStored + c.absentMiss,
		EvictedMiss: c.evictedMiss, RemovedMiss: c.removedMiss, NeverStored: c.neverStored, AbsentMiss: c.absentMiss,
		Corrupt: c.corrupt,
	}
	if s.verify {
		stats.MetadataBytes += 8 * int64(s.slots.total)
	}
	return stats
}
