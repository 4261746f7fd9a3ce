package throughput

import (
	"errors"

	"github.com/auxoutput/auxoutput/blockhash"
	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/store"
)

// storeCache is the store with its default options.
type storeCache struct{ store *store.Store }

func newStore(setup Setup) (Cache, error) {
	s, err := store.New(store.Options{MaxBytes: setup.BudgetBytes, BlockBytes: setup.BlockBytes})
	if err != nil {
		return nil, err
	}
	return storeCache{s}, nil
}

func (c storeCache) Put(blocks []store.Block) error {
	_, err := c.store.Put(store.Batch{Blocks: blocks})
	return err
}

func (c storeCache) Get(dst []byte, hashes []blockhash.Hash) (int, error) {
	_, err := c.store.Get(dst[:0], hashes)
	switch {
	case errors.Is(err, auxerrors.ErrAbsent):
		return 0, nil
	case err != nil:
		return 0, err
	}
	return len(hashes), nil
}

func (c storeCache) Hold(hashes []blockhash.Hash) error {
	_, err := c.store.Put(store.Batch{Retain: hashes})
	return err
}

func (c storeCache) MetadataBytes() float64 {
	stats := c.store.Stats()
	return float64(stats.MetadataBytes) / float64(stats.Slots)
}

func (c storeCache) Close() error { return c.store.Close() }
