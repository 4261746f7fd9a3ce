package throughput

import (
	"fmt"
	"time"

	"github.com/auxoutput/auxoutput/bench/numbered"
	"github.com/auxoutput/auxoutput/blockhash"
	"github.com/auxoutput/auxoutput/store"
)

// lane is one contestant on its way through the phases.
type lane struct {
	Contestant
	cache      Cache
	blockBytes int
	slots      int

	source   []byte // rows are put from here, round and round
	at       int
	next     int64 // the number of the next new block
	batch    []store.Block
	resident []blockhash.Hash // blocks known to be there
	shift    int              // moves the reads on, so that no two are the same
	samples  []Sample
}

// sample finds the lane's figures of a phase, or starts them.
func (l *lane) sample(phase string) *Sample {
	for i := range l.samples {
		if l.samples[i].Phase == phase {
			return &l.samples[i]
		}
	}
	l.samples = append(l.samples, Sample{Phase: phase})
	return &l.samples[len(l.samples)-1]
}

// prepare makes a batch of n blocks from number id on, with rows from the source.
func (l *lane) prepare(id int64, n int) []store.Block {
	l.batch = l.batch[:0]
	for i := range int64(n) {
		if l.at+l.blockBytes > len(l.source) {
			l.at = 0
		}
		rows := l.source[l.at : l.at+l.blockBytes]
		l.at += l.blockBytes
		numbered.Stamp(rows, id+i)
		l.batch = append(l.batch, store.Block{Hash: numbered.Hash(id + i), Rows: rows})
	}
	return l.batch
}

// fresh makes a batch of blocks never put before.
func (l *lane) fresh(n int) []store.Block {
	batch := l.prepare(l.next, n)
	l.next += int64(n)
	return batch
}

// put times the put of a batch.
func (l *lane) put(batch []store.Block) (time.Duration, error) {
	start := time.Now()
	err := l.cache.Put(batch)
	took := time.Since(start)
	if err != nil {
		return 0, fmt.Errorf("%s: put: %w", l.Name, err)
	}
	return took, nil
}

// read times a read and checks what came back. It reports whether all of it was
// there.
func (l *lane) read(dst []byte, hashes []blockhash.Hash) (took time.Duration, hit bool, err error) {
	dst = dst[:len(hashes)*l.blockBytes]
	numbered.Unstamp(dst, l.blockBytes)
	start := time.Now()
	found, err := l.cache.Get(dst, hashes)
	took = time.Since(start)
	if err == nil {
		err = numbered.Check(dst, l.blockBytes, hashes[:found])
	}
	if err != nil {
		return 0, false, fmt.Errorf("%s: read: %w", l.Name, err)
	}
	return took, found == len(hashes), nil
}

// probe finds out which of the newest blocks, half a budget of them, are there.
func (l *lane) probe(dst []byte) error {
	s := l.sample(PhaseProbe)
	l.resident = l.resident[:0]
	one := make([]blockhash.Hash, 1)
	for id := l.next - int64(l.slots/2); id < l.next; id++ {
		one[0] = numbered.Hash(id)
		_, hit, err := l.read(dst, one)
		if err != nil {
			return err
		}
		s.Reads++
		if hit {
			l.resident = append(l.resident, one[0])
		} else {
			s.Missed++
		}
	}
	return nil
}

// enough tells whether reads of n blocks can be compared: that many are there, and
// at least half of those that should be. A cache that has kept only a few serves
// them from the processor's caches.
func (l *lane) enough(n int) bool { return len(l.resident) >= max(n, l.slots/4) }

// pick fills list with resident blocks that are no neighbours, and goes on where
// the read before has ended.
func (l *lane) pick(list []blockhash.Hash) {
	n := len(l.resident)
	each := max(1, n/64)
	for i := range list {
		list[i] = l.resident[(l.shift+64*i+i/each)%n]
	}
	l.shift = (l.shift + 64*len(list) + 7) % n
}
