package throughput

import (
	"fmt"
	"sync"
	"time"

	"github.com/auxoutput/auxoutput/bench/numbered"
	"github.com/auxoutput/auxoutput/blockhash"
)

// pairedReads is how many reads each of two readers does in a turn.
const pairedReads = 4

// reader is a goroutine's own part of a phase with several of them.
type reader struct {
	dst   []byte
	lists [pairedReads][]blockhash.Hash
	took  time.Duration
	reads int
	hits  int
	err   error
}

// newReader gets lists to read and a buffer for them.
func (l *lane) newReader(dst []byte) *reader {
	r := &reader{dst: dst[:pairedHashes*l.blockBytes]}
	for i := range r.lists {
		r.lists[i] = make([]blockhash.Hash, pairedHashes)
		l.pick(r.lists[i])
	}
	numbered.Unstamp(r.dst, l.blockBytes)
	return r
}

// once does one read.
func (r *reader) once(c Cache) {
	found, err := c.Get(r.dst, r.lists[r.reads%pairedReads])
	r.reads++
	if found == pairedHashes {
		r.hits++
	}
	r.err = err
}

// check looks at what the last read left.
func (r *reader) check(l *lane) error {
	err := r.err
	if err == nil && r.hits == r.reads {
		err = numbered.Check(r.dst, l.blockBytes, r.lists[(r.reads-1)%pairedReads])
	}
	if err != nil {
		return fmt.Errorf("%s: read beside another goroutine: %w", l.Name, err)
	}
	return nil
}

// account adds a turn to a sample, unless something was missing in it.
func (r *reader) account(s *Sample, blockBytes int, took time.Duration) {
	s.Reads += r.reads
	s.Missed += r.reads - r.hits
	if r.hits == r.reads {
		s.Ops += r.reads
		s.Bytes += int64(r.reads) * int64(pairedHashes*blockBytes)
		s.Seconds += took.Seconds()
	}
}

// twoReaders lets two goroutines read from the same cache.
func (b *bout) twoReaders() error {
	turns := max(4, b.setup.Slots()/(2*pairedReads*pairedHashes))
	for range turns {
		for _, l := range b.lanes {
			if !l.enough(pairedHashes) {
				continue
			}
			readers := []*reader{l.newReader(b.dst.Bytes), l.newReader(b.second.Bytes)}
			var done sync.WaitGroup
			start := time.Now()
			for _, r := range readers {
				done.Go(func() {
					for r.reads < pairedReads && r.err == nil {
						r.once(l.cache)
					}
				})
			}
			done.Wait()
			took := time.Since(start)
			both := &reader{}
			for _, r := range readers {
				if err := r.check(l); err != nil {
					return err
				}
				both.reads += r.reads
				both.hits += r.hits
			}
			both.account(l.sample(PhasePair), l.blockBytes, took)
		}
	}
	return nil
}

// besideTurns is how many times a writer writes an eighth of the budget beside a
// reader. What it writes is then the newest, and the next turn reads of that.
const besideTurns = 4

// beside lets one goroutine read while another puts.
func (b *bout) beside() error {
	for range besideTurns {
		for _, l := range b.lanes {
			if err := l.probe(b.dst.Bytes); err != nil {
				return err
			}
			if !l.enough(pairedHashes) {
				continue
			}
			r := l.newReader(b.second.Bytes)
			started, stop := make(chan struct{}), make(chan struct{})
			var done sync.WaitGroup
			done.Go(func() { r.until(l.cache, started, stop) })
			<-started
			err := l.write(b.setup.Slots() / 8)
			close(stop)
			done.Wait()
			if err != nil {
				return err
			}
			if err := r.check(l); err != nil {
				return err
			}
			r.account(l.sample(PhaseReader), l.blockBytes, r.took)
		}
	}
	return nil
}

// until reads until it is told to stop. The first read is over before started
// is closed.
func (r *reader) until(c Cache, started, stop chan struct{}) {
	start := time.Now()
	r.once(c)
	close(started)
	for r.err == nil {
		select {
		case <-stop:
			r.took = time.Since(start)
			return
		default:
			r.once(c)
		}
	}
}

// write puts so many new blocks and accounts for them.
func (l *lane) write(blocks int) error {
	s := l.sample(PhaseWriter)
	for left := blocks; left > 0; left -= batchBlocks {
		batch := l.fresh(min(batchBlocks, left))
		took, err := l.put(batch)
		if err != nil {
			return err
		}
		s.Ops++
		s.Bytes += int64(len(batch) * l.blockBytes)
		s.Seconds += took.Seconds()
	}
	return nil
}
