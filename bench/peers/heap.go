package main

import (
	"bytes"
	"fmt"

	"github.com/Yiling-J/theine-go"
	"github.com/dgraph-io/ristretto/v2"
	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/maypok86/otter/v2"

	"github.com/auxoutput/auxoutput/bench/throughput"
	"github.com/auxoutput/auxoutput/blockhash"
	"github.com/auxoutput/auxoutput/store"
)

// heapCache is a cache of Go values. It gets a copy of the rows of its own, as
// the caller goes on to use his, and each is an object on the Go heap.
type heapCache struct {
	set    func(blockhash.Hash, []byte)
	get    func(blockhash.Hash) ([]byte, bool)
	settle func() // makes what was set readable, nil if it is so at once
	stop   func()
}

func (c heapCache) Put(blocks []store.Block) error {
	for i := range blocks {
		c.set(blocks[i].Hash, bytes.Clone(blocks[i].Rows))
	}
	if c.settle != nil {
		c.settle()
	}
	return nil
}

func (c heapCache) Get(dst []byte, hashes []blockhash.Hash) (int, error) {
	for i, hash := range hashes {
		rows, found := c.get(hash)
		if !found {
			return i, nil
		}
		dst = dst[copy(dst, rows):]
	}
	return len(hashes), nil
}

func (c heapCache) Close() error {
	c.stop()
	return nil
}

func newGolangLRU(setup throughput.Setup) (throughput.Cache, error) {
	cache, err := lru.New[blockhash.Hash, []byte](setup.Slots())
	if err != nil {
		return nil, err
	}
	return heapCache{
		set:  func(hash blockhash.Hash, rows []byte) { cache.Add(hash, rows) },
		get:  cache.Get,
		stop: cache.Purge,
	}, nil
}

func newOtter(setup throughput.Setup) (throughput.Cache, error) {
	cache, err := otter.New(&otter.Options[blockhash.Hash, []byte]{
		MaximumWeight: uint64(setup.BudgetBytes),
		Weigher:       func(_ blockhash.Hash, rows []byte) uint32 { return uint32(len(rows)) },
	})
	if err != nil {
		return nil, err
	}
	return heapCache{
		set:  func(hash blockhash.Hash, rows []byte) { cache.Set(hash, rows) },
		get:  cache.GetIfPresent,
		stop: func() { cache.StopAllGoroutines() },
	}, nil
}

func newTheine(setup throughput.Setup) (throughput.Cache, error) {
	cache, err := theine.NewBuilder[blockhash.Hash, []byte](setup.BudgetBytes).Build()
	if err != nil {
		return nil, err
	}
	return heapCache{
		set:  func(hash blockhash.Hash, rows []byte) { cache.Set(hash, rows, int64(len(rows))) },
		get:  cache.Get,
		stop: cache.Close,
	}, nil
}

// newRistretto waits after each batch: a set is only queued, and a full queue
// drops it.
func newRistretto(setup throughput.Setup) (throughput.Cache, error) {
	cache, err := ristretto.NewCache(&ristretto.Config[[]byte, []byte]{
		NumCounters:        10 * int64(setup.Slots()),
		MaxCost:            setup.BudgetBytes,
		BufferItems:        64,
		IgnoreInternalCost: true,
	})
	if err != nil {
		return nil, fmt.Errorf("ristretto: %w", err)
	}
	return heapCache{
		set: func(hash blockhash.Hash, rows []byte) {
			var key [32]byte
			cache.Set(hash.AppendTo(key[:0]), rows, int64(len(rows)))
		},
		get: func(hash blockhash.Hash) ([]byte, bool) {
			var key [32]byte
			return cache.Get(hash.AppendTo(key[:0]))
		},
		settle: cache.Wait,
		stop:   cache.Close,
	}, nil
}
