package scale

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"time"

	"github.com/auxoutput/auxoutput/bench/machine"
	"github.com/auxoutput/auxoutput/bench/numbered"
	"github.com/auxoutput/auxoutput/store"
)

// gcBlock is 16 tokens x 48 layers x 8 experts of a byte.
const gcBlock = 6144

// Collector is what the garbage collector notices of a full store.
type Collector struct {
	StoreBytes    int64   `json:"store_bytes"`
	ForcedMS      float64 `json:"forced_ms"`       // one collection beside the store, median of several
	ForcedEmptyMS float64 `json:"forced_empty_ms"` // ... and without it
	GoalBytes     uint64  `json:"goal_bytes"`      // heap size at which the collector starts by itself
	GoalEmpty     uint64  `json:"goal_empty"`      // ... without the store
	HeapObjects   int64   `json:"heap_objects"`    // that the full store added
}

// measureCollector fills a store and collects garbage beside it.
func measureCollector(ctx context.Context, bytes int64) (c Collector, err error) {
	rows := make([]byte, batchBlocks*gcBlock)
	batch := make([]store.Block, batchBlocks)
	var before, after runtime.MemStats
	c.ForcedEmptyMS = forcedGC()
	runtime.ReadMemStats(&before)

	s, err := store.New(store.Options{MaxBytes: bytes, BlockBytes: gcBlock})
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	for id := int64(0); id < int64(s.Slots()); {
		if err := ctx.Err(); err != nil {
			return c, err
		}
		for i := range batch {
			batch[i] = store.Block{Hash: numbered.Hash(id), Rows: rows[i*gcBlock : (i+1)*gcBlock]}
			numbered.Stamp(batch[i].Rows, id)
			id++
		}
		if _, err := s.Put(store.Batch{Blocks: batch}); err != nil {
			return c, err
		}
	}
	c.StoreBytes = s.Stats().UsedBytes
	c.ForcedMS = forcedGC()
	runtime.ReadMemStats(&after)
	c.GoalBytes, c.GoalEmpty = after.NextGC, before.NextGC
	c.HeapObjects = int64(after.HeapObjects) - int64(before.HeapObjects)
	runtime.KeepAlive(rows)
	return c, nil
}

// forcedGC is the median time of a collection, in milliseconds.
func forcedGC() float64 {
	runtime.GC()
	var took []float64
	for range 9 {
		start := time.Now()
		runtime.GC()
		took = append(took, time.Since(start).Seconds()*1e3)
	}
	slices.Sort(took)
	return took[len(took)/2]
}

// Paper is a budget that no machine at hand has, reserved and hardly used.
type Paper struct {
	Budget        int64   `json:"budget"`
	Slots         int     `json:"slots"`
	MetadataBytes int64   `json:"metadata_bytes"` // once all slots are in use
	StartMS       float64 `json:"start_ms"`
	ResidentBytes int64   `json:"resident_bytes"` // after some puts; 0 where the system does not tell
	Puts          int     `json:"puts"`
	Refused       string  `json:"refused,omitempty"` // why the system did not reserve it
}

// measurePaper makes a store of the budget and puts a few blocks.
func measurePaper(budget int64) (p Paper, err error) {
	p.Budget = budget
	before, _ := machine.Resident()
	start := time.Now()
	s, err := store.New(store.Options{MaxBytes: budget, BlockBytes: gcBlock})
	p.StartMS = time.Since(start).Seconds() * 1e3
	if err != nil {
		p.Refused = err.Error()
		return p, nil
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	p.Slots, p.MetadataBytes = s.Slots(), s.Stats().MetadataBytes
	rows := make([]byte, gcBlock)
	for id := range int64(1000) {
		if _, err := s.Put(store.Batch{Blocks: []store.Block{{Hash: numbered.Hash(id), Rows: rows}}}); err != nil {
			return p, err
		}
		p.Puts++
	}
	if after, _ := machine.Resident(); after > before {
		p.ResidentBytes = after - before
	}
	return p, nil
}
