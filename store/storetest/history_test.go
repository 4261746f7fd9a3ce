package storetest

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/store"
)

// torn publishes the blocks of a batch one by one.
type torn struct{ Store }

func (s torn) Put(batch store.Batch) (store.PutResult, error) {
	if len(batch.Retain)+len(batch.Release) > 0 || batch.Partial {
		return s.Store.Put(batch)
	}
	var all store.PutResult
	for _, block := range batch.Blocks {
		one, err := s.Store.Put(store.Batch{Generation: batch.Generation, Blocks: []store.Block{block}})
		if err != nil {
			return store.PutResult{}, err
		}
		all.Stored += one.Stored
		all.Present += one.Present
		all.Evicted += one.Evicted
		runtime.Gosched()
	}
	return all, nil
}

func TestAStoreThatTearsBatchesIsCaughtByItsHistories(t *testing.T) {
	text := illegalHistory(t, func(slots, blockBytes int) (Store, error) {
		s, err := store.New(store.Options{MaxBytes: int64(slots * blockBytes), BlockBytes: blockBytes})
		if err != nil {
			return nil, err
		}
		return torn{Of(s)}, nil
	}, 2000)
	require.NotEmpty(t, text)
	require.Contains(t, text, "put")
}
