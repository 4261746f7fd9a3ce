package scale

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/auxoutput/auxoutput/bench/machine"
	"github.com/auxoutput/auxoutput/bench/numbered"
	"github.com/auxoutput/auxoutput/blockhash"
	"github.com/auxoutput/auxoutput/store"
)

// herd is a full store and what is known of the blocks in it. A place is taken by one
// block at a time: its number is the place and how many have been there.
type herd struct {
	store  *store.Store
	ids    []int64 // by place; -1 where no block is
	turns  []int32 // by place: how many blocks have been there
	vacant []int32 // places without a block
	random *rand.Rand
	source machine.Region // rows are put from here, round and round
	at     int
	batch  []store.Block
	gone   []blockhash.Hash
}

const (
	batchBlocks = 32
	readBlocks  = 256
	sourceBytes = 64 << 20
)

// newHerd makes a store of so many slots and fills it.
func newHerd(slots, blockBytes int) (*herd, error) {
	s, err := store.New(store.Options{MaxBytes: int64(slots) * int64(blockBytes), BlockBytes: blockBytes})
	if err != nil {
		return nil, err
	}
	places := slots + batchBlocks // a batch is put before those that give way are known
	h := &herd{
		store: s, ids: make([]int64, places), turns: make([]int32, places),
		random: rand.New(rand.NewPCG(1, uint64(slots))),
	}
	if h.source, err = machine.NewRegion(sourceBytes, true); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	h.source.Fill()
	for place := places - 1; place >= 0; place-- {
		h.ids[place] = -1
		h.vacant = append(h.vacant, int32(place))
	}
	for left := slots; left > 0; left -= batchBlocks {
		batch := h.fresh(min(batchBlocks, left))
		if err := h.put(batch); err != nil {
			return nil, errors.Join(err, h.close())
		}
		h.settle(batch)
	}
	return h, nil
}

// close gives everything back.
func (h *herd) close() error { return errors.Join(h.store.Close(), h.source.Release()) }

// fresh makes a batch of blocks that were never put before.
func (h *herd) fresh(n int) []store.Block {
	h.batch = h.batch[:0]
	size := h.store.BlockBytes()
	for i := range n {
		place := h.vacant[len(h.vacant)-1-i]
		id := int64(h.turns[place])<<32 | int64(place)
		if h.at+size > len(h.source.Bytes) {
			h.at = 0
		}
		rows := h.source.Bytes[h.at : h.at+size]
		h.at += size
		numbered.Stamp(rows, id)
		h.batch = append(h.batch, store.Block{Hash: numbered.Hash(id), Rows: rows})
	}
	return h.batch
}

// put puts what fresh has made.
func (h *herd) put(batch []store.Block) error {
	h.gone = h.gone[:0]
	result, err := h.store.Put(store.Batch{Blocks: batch, Evicted: &h.gone})
	if err != nil {
		return err
	}
	if result.Stored != len(batch) {
		return fmt.Errorf("%d of %d new blocks were stored", result.Stored, len(batch))
	}
	return nil
}

// settle notes what the last put has changed.
func (h *herd) settle(batch []store.Block) {
	h.vacant = h.vacant[:len(h.vacant)-len(batch)]
	for i := range batch {
		id := numbered.ID(&batch[i].Hash)
		place := int32(id)
		h.ids[place] = id
		h.turns[place]++
	}
	for i := range h.gone {
		h.forget(&h.gone[i])
	}
}

func (h *herd) forget(hash *blockhash.Hash) {
	place := int32(numbered.ID(hash))
	h.ids[place] = -1
	h.vacant = append(h.vacant, place)
}

// pick fills list with random blocks that are there, and places with where a bare
// region has them.
func (h *herd) pick(list []blockhash.Hash, places []int32) {
	for i := range list {
		for {
			place := h.random.IntN(len(h.ids))
			if id := h.ids[place]; id >= 0 {
				list[i], places[i] = numbered.Hash(id), int32(place)
				break
			}
		}
	}
}
