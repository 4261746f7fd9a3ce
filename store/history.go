package store

// history remembers which blocks left the store in this generation and why, so
// that a miss can say "evicted" or "removed" instead of only "absent". It has two
// marks a slot, in buckets of which none lies in two cache lines. A full bucket loses
// its oldest mark to a new one. From then on it cannot tell a block that it forgot
// from one that never was there, and says unknown.
type history struct {
	marks []uint32 // buckets of bucketMarks, newest first; 0 is empty
}

// absence is why a block is not in the store.
type absence uint32

const (
	unknown     absence = iota // the block may have been stored, or not
	wasEvicted                 // it gave way to others
	wasRemoved                 // its owner removed it
	neverStored                // it was not stored in this generation
)

const (
	bucketMarks   = 8
	bucketSlots   = 4   // slots that share a bucket: two marks a slot
	fewestBuckets = 128 // of a small store: one page
	absenceBits   = 3   // of a mark; the others are a fingerprint of the hash
)

// marksFor is the number of marks for so many slots.
func marksFor(slots int) int {
	return max(fewestBuckets, slots/bucketSlots) * bucketMarks
}

// bucket is where a hash is remembered. The upper half of its tag chooses the
// bucket, as it does the cell in the index, and the lower half is the fingerprint.
func (h *history) bucket(t tag) *[bucketMarks]uint32 {
	buckets := uint64(len(h.marks) / bucketMarks)
	at := uint64(t) >> 32 * buckets >> 32 * bucketMarks
	return (*[bucketMarks]uint32)(h.marks[at:])
}

func fingerprint(t tag) uint32 { return uint32(t) &^ absenceBits }

// add remembers why a block left. Of a hash that left before only the last reason
// counts.
func (h *history) add(t tag, why absence) {
	b, print := h.bucket(t), fingerprint(t)
	next := print | uint32(why)
	for i, mark := range b { // each moves one place, up to the first that is free
		b[i] = next
		if mark == 0 || mark&^absenceBits == print {
			return
		}
		next = mark
	}
}

// why tells why the block of an absent hash is not in the store. It never says
// neverStored of one that left in this generation. It says wasEvicted or
// wasRemoved of another hash's block if the 30 bits of their fingerprints agree: at
// most one time in 2^27 (8 marks of 2^30).
func (h *history) why(t tag) absence {
	print := fingerprint(t)
	for _, mark := range h.bucket(t) {
		if mark == 0 {
			return neverStored // nothing was lost from a bucket that is not full
		}
		if mark&^absenceBits == print {
			return absence(mark & absenceBits)
		}
	}
	return unknown
}
