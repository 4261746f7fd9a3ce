package store

// departed remembers which hashes left the store lately and why, so that a miss
// can say "evicted" or "removed" instead of only "absent". It is a set of 64-bit
// fingerprints of fixed size: in full buckets the oldest entry makes room, and a
// hash that is forgotten counts as never stored.
type departed struct {
	marks []uint64 // buckets of bucketSize, newest first; 0 is empty
}

// Why a block left the store.
type departure uint64

const (
	neverStored departure = iota
	evicted
	removed
)

const (
	bucketSize  = 4
	fewestMarks = 256
	mostMarks   = 1 << 16
	reasonBits  = 3
)

// newDeparted makes a memory for about as many hashes as there are slots.
func newDeparted(slots int) departed {
	n := fewestMarks
	for n < slots && n < mostMarks {
		n *= 2
	}
	return departed{marks: make([]uint64, n)}
}

// fingerprint is what is remembered of a hash, the reason bits zero. Another
// generation gives another fingerprint, which is how a reset forgets everything.
func fingerprint(generation uint64, t tag) uint64 {
	const odd1, odd2 = 0x9e3779b97f4a7c15, 0xd6e8feb86659fd93
	x := (uint64(t) ^ generation*odd1) * odd2
	return (x ^ x>>32) &^ reasonBits
}

func (d *departed) bucket(print uint64) []uint64 {
	at := (int(print>>8) & (len(d.marks)/bucketSize - 1)) * bucketSize
	return d.marks[at : at+bucketSize]
}

// add remembers why a hash left.
func (d *departed) add(print uint64, why departure) {
	b := d.bucket(print)
	at := 0
	for at < bucketSize-1 && b[at]&^reasonBits != print {
		at++
	}
	copy(b[1:at+1], b[:at])
	b[0] = print | uint64(why)
}

// why is what is remembered of a hash.
func (d *departed) why(print uint64) departure {
	for _, mark := range d.bucket(print) {
		if mark != 0 && mark&^reasonBits == print {
			return departure(mark & reasonBits)
		}
	}
	return neverStored
}
