package throughput

import (
	"fmt"
	"runtime"

	"github.com/auxoutput/auxoutput/bench/numbered"
	"github.com/auxoutput/auxoutput/blockhash"
)

// puts lets every lane put so many new blocks, batch by batch in turn.
func (b *bout) puts(phase string, blocks, batch int) error {
	for left := blocks; left > 0; left -= batch {
		for _, l := range b.lanes {
			fresh := l.fresh(min(batch, left))
			took, err := l.put(fresh)
			if err != nil {
				return err
			}
			s := l.sample(phase)
			s.Ops++
			s.Bytes += int64(len(fresh) * l.blockBytes)
			s.Seconds += took.Seconds()
		}
	}
	return nil
}

// reads lets every lane read lists of n hashes, a budget of bytes altogether.
func (b *bout) reads(n int) error {
	list := make([]blockhash.Hash, n)
	turns := max(4, b.setup.Slots()/n)
	for range turns {
		for _, l := range b.lanes {
			if !l.enough(n) {
				continue
			}
			l.pick(list)
			took, hit, err := l.read(b.dst.Bytes, list)
			if err != nil {
				return err
			}
			s := l.sample(PhaseRead(n))
			s.Reads++
			if !hit {
				s.Missed++
				continue
			}
			s.Ops++
			s.Bytes += int64(n * l.blockBytes)
			s.Seconds += took.Seconds()
		}
	}
	return nil
}

// retained lets every lane put while it holds a share of its blocks. The limit
// loses track of its blocks in this, so it comes last.
func (b *bout) retained() error {
	held := 0
	for _, share := range b.setup.Retained {
		want := b.setup.Slots() * share / 100
		for _, l := range b.lanes {
			holder, ok := l.cache.(Holder)
			if !ok {
				return fmt.Errorf("%s: cannot hold blocks", l.Name)
			}
			var hashes []blockhash.Hash
			for id := l.next - int64(want-held); id < l.next; id++ {
				hashes = append(hashes, numbered.Hash(id))
			}
			if err := holder.Hold(hashes); err != nil {
				return fmt.Errorf("%s: hold: %w", l.Name, err)
			}
		}
		held = want
		free := b.setup.Slots() - held
		if err := b.puts(PhaseRetained(share), b.setup.Slots(), min(batchBlocks, free)); err != nil {
			return err
		}
	}
	return nil
}

// countedOps is how many operations their heap objects are counted over.
const countedOps = 64

// allocations counts the heap objects of puts and of reads.
func (b *bout) allocations() error {
	list := make([]blockhash.Hash, pairedHashes)
	for i, l := range b.lanes {
		var err error
		b.runs[i].AllocsPut, err = mallocs(func() error {
			_, err := l.put(l.fresh(batchBlocks))
			return err
		})
		if err != nil {
			return err
		}
		if err := l.probe(b.dst.Bytes); err != nil {
			return err
		}
		if !l.enough(len(list)) {
			continue
		}
		b.runs[i].AllocsRead, err = mallocs(func() error {
			l.pick(list)
			_, _, err := l.read(b.dst.Bytes, list)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// mallocs is the mean number of heap objects that an operation makes, whole ones
// only, as the runtime makes a few of its own now and then.
func mallocs(op func() error) (float64, error) {
	var before, after runtime.MemStats
	if err := op(); err != nil {
		return 0, err
	}
	runtime.ReadMemStats(&before)
	for range countedOps {
		if err := op(); err != nil {
			return 0, err
		}
	}
	runtime.ReadMemStats(&after)
	return float64((after.Mallocs - before.Mallocs) / countedOps), nil
}
