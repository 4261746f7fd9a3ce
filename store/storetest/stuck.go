package storetest

import (
	"errors"
	"math/rand/v2"
	"sync"

	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/blockhash"
	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/store"
)

// checkStuckPuts has many goroutines put batches that need almost every slot, while
// others read the blocks that are in the way. Copies of such blocks take long, so puts
// have to wait for reads and for each other, and reads for puts. All of them get
// through, and no read finds rows of another hash or of two puts.
func checkStuckPuts(t require.TestingT, factory Factory) {
	const slots, blockBytes, putters, readers, rounds = 4, 128 << 10, 8, 4, 25
	s, err := factory(slots, blockBytes)
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	kept := numbers(0)
	_, err = s.Put(store.Batch{Blocks: []store.Block{{Hash: kept[0], Rows: stamped(kept[0], 0, blockBytes)}}, Retain: kept})
	require.NoError(t, err)

	var wg sync.WaitGroup
	for putter := range putters {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(putter), 11))
			for round := range rounds {
				batch := store.Batch{}
				for i := range 1 + r.IntN(slots-1) { // as many as can be had beside the retained one
					hash := numbered(10 + (putter*rounds+round)%3*slots + i)
					batch.Blocks = append(batch.Blocks, store.Block{Hash: hash, Rows: stamped(hash, putter, blockBytes)})
				}
				if _, err := s.Put(batch); err != nil {
					t.Errorf("a put that has to wait: %v", err)
					return
				}
			}
		})
	}
	for reader := range readers {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(reader), 12))
			var dst []byte
			for round := range 4 * rounds {
				hash := numbered(10 + r.IntN(3*slots))
				if round%4 == 0 {
					hash = kept[0]
				}
				rows, err := s.Get(dst[:0], []blockhash.Hash{hash})
				switch {
				case errors.Is(err, auxerrors.ErrAbsent) && hash != kept[0]:
				case err != nil:
					t.Errorf("a read behind puts that wait: %v", err)
					return
				case len(rows) != blockBytes || !isStamped(hash, rows):
					t.Errorf("a read behind puts that wait found rows of another hash, or of two")
					return
				}
				dst = rows
			}
		})
	}
	wg.Wait()
}
