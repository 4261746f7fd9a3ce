package throughput

import (
	"math/rand/v2"

	"github.com/auxoutput/auxoutput/bench/numbered"
	"github.com/auxoutput/auxoutput/blockhash"
)

const (
	mixIDs     = int64(1) << 40 // numbers of the mix's chains, far from all others
	mixReach   = 4              // budgets of chains that are read at all
	mixZipf    = 1.1
	mixReadsOf = 10 // one operation in so many is a put of blocks nobody reads
)

// mix lets every lane serve chains of 32 blocks whose popularity follows Zipf's
// law, put back whole when one is not whole, and takes in blocks nobody reads.
// The first half of the operations warms the cache up.
func (b *bout) mix() error {
	chains := mixReach * b.setup.Slots() / batchBlocks
	random := rand.New(rand.NewPCG(1, 2))
	popular := rand.NewZipf(random, mixZipf, 1, uint64(chains-1))
	list := make([]blockhash.Hash, batchBlocks)
	for op := range 2 * chains {
		first := mixIDs + int64(popular.Uint64())*batchBlocks
		isRead := random.IntN(mixReadsOf) > 0
		for _, l := range b.lanes {
			if l.Bare {
				continue
			}
			done, err := l.mixed(b.dst.Bytes, isRead, first, list)
			if err != nil {
				return err
			}
			if op >= chains {
				s := l.sample(PhaseMix)
				s.Ops++
				s.Reads += done.Reads
				s.Missed += done.Missed
				s.Seconds += done.Seconds
			}
		}
	}
	return nil
}

// mixed is one operation of the mix.
func (l *lane) mixed(dst []byte, isRead bool, first int64, list []blockhash.Hash) (done Sample, err error) {
	if !isRead {
		took, err := l.put(l.fresh(batchBlocks))
		return Sample{Seconds: took.Seconds()}, err
	}
	for i := range list {
		list[i] = numbered.Hash(first + int64(i))
	}
	took, hit, err := l.read(dst, list)
	done = Sample{Reads: 1, Seconds: took.Seconds()}
	if err != nil || hit {
		return done, err
	}
	done.Missed = 1
	took, err = l.put(l.prepare(first, len(list)))
	done.Seconds += took.Seconds()
	return done, err
}
