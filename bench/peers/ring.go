package main

import (
	"context"
	"errors"
	"fmt"
	"time"
	"unsafe"

	"github.com/VictoriaMetrics/fastcache"
	"github.com/allegro/bigcache/v3"
	"github.com/coocood/freecache"

	"github.com/auxoutput/auxoutput/bench/throughput"
	"github.com/auxoutput/auxoutput/blockhash"
	"github.com/auxoutput/auxoutput/store"
)

// ringCache is a cache that copies values into rings of bytes of its own.
type ringCache struct {
	blockBytes int
	set        func(key, rows []byte) error
	get        func(dst, key []byte) (bool, error)
	stop       func() error
}

func (c ringCache) Put(blocks []store.Block) error {
	var key [32]byte
	for i := range blocks {
		if err := c.set(blocks[i].Hash.AppendTo(key[:0]), blocks[i].Rows); err != nil {
			return err
		}
	}
	return nil
}

func (c ringCache) Get(dst []byte, hashes []blockhash.Hash) (int, error) {
	var key [32]byte
	for i := range hashes {
		found, err := c.get(dst[i*c.blockBytes:(i+1)*c.blockBytes], hashes[i].AppendTo(key[:0]))
		if err != nil || !found {
			return i, err
		}
	}
	return len(hashes), nil
}

func (c ringCache) Close() error { return c.stop() }

func newFastcache(setup throughput.Setup) (throughput.Cache, error) {
	if setup.BlockBytes > 64<<10-64 {
		return nil, fmt.Errorf("fastcache takes values below 64 KiB, not %d bytes", setup.BlockBytes)
	}
	cache := fastcache.New(int(setup.BudgetBytes))
	return ringCache{
		blockBytes: setup.BlockBytes,
		set: func(key, rows []byte) error {
			cache.Set(key, rows)
			return nil
		},
		get: func(dst, key []byte) (bool, error) {
			rows, found := cache.HasGet(dst[:0], key)
			return found && len(rows) == len(dst), nil
		},
		stop: func() error {
			cache.Reset()
			return nil
		},
	}, nil
}

func newFreecache(setup throughput.Setup) (throughput.Cache, error) {
	cache := freecache.NewCache(int(setup.BudgetBytes))
	return ringCache{
		blockBytes: setup.BlockBytes,
		set:        func(key, rows []byte) error { return cache.Set(key, rows, 0) },
		get: func(dst, key []byte) (bool, error) {
			rows, err := cache.GetWithBuf(key, dst)
			if errors.Is(err, freecache.ErrNotFound) {
				return false, nil
			}
			return err == nil && len(rows) == len(dst), err
		},
		stop: func() error {
			cache.Clear()
			return nil
		},
	}, nil
}

// newBigcache has as many shards as leave room for 64 blocks in each, up to its
// default of 1024, and their full size from the start: growing them copies.
func newBigcache(setup throughput.Setup) (throughput.Cache, error) {
	shards := 1
	for shards < 1024 && setup.Slots() >= 2*shards*64 {
		shards *= 2
	}
	cache, err := bigcache.New(context.Background(), bigcache.Config{
		Shards:             shards,
		LifeWindow:         24 * time.Hour,
		MaxEntriesInWindow: setup.Slots(),
		MaxEntrySize:       setup.BlockBytes,
		HardMaxCacheSize:   max(1, int(setup.BudgetBytes>>20)),
	})
	if err != nil {
		return nil, err
	}
	return ringCache{
		blockBytes: setup.BlockBytes,
		set:        func(key, rows []byte) error { return cache.Set(text(key), rows) },
		get: func(dst, key []byte) (bool, error) {
			rows, err := cache.Get(text(key))
			if errors.Is(err, bigcache.ErrEntryNotFound) {
				return false, nil
			}
			return err == nil && copy(dst, rows) == len(dst), err
		},
		stop: cache.Close,
	}, nil
}

// text is the key as a string without a copy: bigcache does not keep it.
func text(key []byte) string { return unsafe.String(&key[0], len(key)) }
