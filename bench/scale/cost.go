package scale

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/auxoutput/auxoutput/bench/machine"
	"github.com/auxoutput/auxoutput/bench/numbered"
	"github.com/auxoutput/auxoutput/blockhash"
	"github.com/auxoutput/auxoutput/store"
)

// Size is a store of the comparison.
type Size struct {
	Slots         int     `json:"slots"`
	MetadataBytes float64 `json:"metadata_bytes"` // for each slot, as the store says
	FillSeconds   float64 `json:"fill_seconds"`
}

// bytes is the memory of the store's rows.
func (s Size) bytes(o Options) int64 { return int64(s.Slots) * int64(o.BlockBytes) }

// Cost is what an operation costs for each of its blocks, in nanoseconds, in a store
// of each size: medians over the rounds.
type Cost struct {
	Operation   string    `json:"operation"`
	Nanoseconds []float64 `json:"nanoseconds"`
}

// Growth is how many times more the operation costs in the last store than in the
// first.
func (c Cost) Growth() float64 { return c.Nanoseconds[len(c.Nanoseconds)-1] / c.Nanoseconds[0] }

// turns is how many times an operation is done in a round.
const turns = 256

// operation is something that is timed; it returns how long it took for how many
// blocks.
type operation struct {
	name string
	run  func(*bench) (time.Duration, int, error)
}

var operations = []operation{
	{"put 32, evicting 32", (*bench).put},
	{"get 256", (*bench).get},
	{"bare copy of 256", (*bench).copy},
	{"view 256", (*bench).view},
	{"prefix of 256", (*bench).prefix},
	{"retain and release 256", (*bench).retain},
	{"remove 32", (*bench).remove},
}

// mostBare is as much memory as bare copies need to find nothing of it in a cache.
const mostBare = 4 << 30

// bench is a store with what the operations need.
type bench struct {
	*herd
	bare   machine.Region // memory like the store's, of mostBare bytes if the store has more
	dst    machine.Region
	list   []blockhash.Hash
	places []int32
}

// measureCosts does the operations in stores of all sizes, turn by turn.
func measureCosts(ctx context.Context, o Options, tick func()) (sizes []Size, costs []Cost, err error) {
	var benches []*bench
	defer func() {
		for _, b := range benches {
			err = errors.Join(err, b.close(), b.bare.Release(), b.dst.Release())
		}
	}()
	for _, slots := range o.Slots {
		start := time.Now()
		h, err := newHerd(slots, o.BlockBytes)
		if err != nil {
			return nil, nil, err
		}
		size := Size{Slots: slots, FillSeconds: time.Since(start).Seconds()}
		size.MetadataBytes = float64(h.store.Stats().MetadataBytes) / float64(slots)
		sizes = append(sizes, size)
		b := &bench{herd: h, list: make([]blockhash.Hash, readBlocks), places: make([]int32, readBlocks)}
		benches = append(benches, b)
		if b.bare, err = machine.NewRegion(int(min(size.bytes(o), mostBare)), true); err != nil {
			return nil, nil, err
		}
		if b.dst, err = machine.NewRegion(readBlocks*o.BlockBytes, true); err != nil {
			return nil, nil, err
		}
		b.bare.Fill()
		b.dst.Fill()
		tick()
	}
	samples := make([][][]float64, len(operations)) // by operation and size
	for i := range samples {
		samples[i] = make([][]float64, len(benches))
	}
	for range o.Rounds {
		for at, b := range benches {
			for i, op := range operations {
				if err := ctx.Err(); err != nil {
					return nil, nil, err
				}
				var took time.Duration
				blocks := 0
				for range turns {
					t, n, err := op.run(b)
					if err != nil {
						return nil, nil, err
					}
					took, blocks = took+t, blocks+n
				}
				samples[i][at] = append(samples[i][at], float64(took)/float64(blocks))
			}
			tick()
		}
	}
	for i, op := range operations {
		cost := Cost{Operation: op.name}
		for _, rounds := range samples[i] {
			cost.Nanoseconds = append(cost.Nanoseconds, median(rounds))
		}
		costs = append(costs, cost)
	}
	return sizes, costs, nil
}

func (b *bench) put() (time.Duration, int, error) {
	batch := b.fresh(batchBlocks)
	start := time.Now()
	err := b.herd.put(batch)
	took := time.Since(start)
	if err == nil {
		b.settle(batch)
	}
	return took, len(batch), err
}

func (b *bench) get() (time.Duration, int, error) {
	b.pick(b.list, b.places)
	size := b.store.BlockBytes()
	numbered.Unstamp(b.dst.Bytes, size)
	start := time.Now()
	_, err := b.store.Get(b.dst.Bytes[:0], b.list)
	took := time.Since(start)
	if err == nil {
		err = numbered.Check(b.dst.Bytes, size, b.list)
	}
	return took, len(b.list), err
}

func (b *bench) copy() (time.Duration, int, error) {
	b.pick(b.list, b.places)
	size := b.store.BlockBytes()
	room := len(b.bare.Bytes) / size
	start := time.Now()
	for i, place := range b.places {
		from := int(place) % room * size
		copy(b.dst.Bytes[i*size:(i+1)*size], b.bare.Bytes[from:from+size])
	}
	return time.Since(start), len(b.places), nil
}

func (b *bench) view() (time.Duration, int, error) {
	b.pick(b.list, b.places)
	start := time.Now()
	v, err := b.store.View(b.list)
	if err == nil {
		err = v.Close()
	}
	return time.Since(start), len(b.list), err
}

func (b *bench) prefix() (time.Duration, int, error) {
	b.pick(b.list, b.places)
	start := time.Now()
	n := b.store.Prefix(b.list)
	took := time.Since(start)
	if n != len(b.list) {
		return 0, 0, errors.New("a block that is there was not counted")
	}
	return took, n, nil
}

func (b *bench) retain() (time.Duration, int, error) {
	b.pick(b.list, b.places)
	start := time.Now()
	n, err := b.store.RetainPrefix(b.store.Generation(), b.list)
	if err == nil {
		_, err = b.store.Put(store.Batch{Release: b.list[:n]})
	}
	return time.Since(start), n, err
}

// remove removes blocks, and puts others in their places outside the time.
func (b *bench) remove() (time.Duration, int, error) {
	list := b.list[:batchBlocks]
	b.pick(list, b.places)
	start := time.Now()
	n, err := b.store.Remove(b.store.Generation(), list)
	took := time.Since(start)
	if err != nil {
		return 0, 0, err
	}
	for i := range list {
		if b.ids[b.places[i]] >= 0 { // the list may name a block twice
			b.forget(&list[i])
		}
	}
	batch := b.fresh(n)
	if err := b.herd.put(batch); err != nil {
		return 0, 0, err
	}
	b.settle(batch)
	return took, n, nil
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
