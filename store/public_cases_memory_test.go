package store_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/blockhash"
	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/store"
)

func TestPublicCase_PC_125_AStoreDroppedWithoutCloseGivesItsMemoryBack(t *testing.T) {
	const stores, blockBytes = 20, 6144
	before := store.Process()
	rows := make([]byte, blockBytes)
	var mapped int64
	for range stores {
		s, err := store.New(store.Options{MaxBytes: 64 << 20, BlockBytes: blockBytes})
		require.NoError(t, err)
		for n := range 100 {
			keeps(t, s, store.Batch{Blocks: []store.Block{{Hash: hashOf(n), Rows: rows}}, Retain: hashesOf(n)})
		}
		_, err = s.Get(nil, hashesOf(0, 50, 99))
		require.NoError(t, err)
		view, err := s.View(hashesOf(1))
		require.NoError(t, err)
		require.NoError(t, view.Close())
		_, err = s.Reset()
		require.NoError(t, err)
		mapped += s.Stats().MappedBytes
	}
	if !raceEnabled {
		require.Greater(t, mapped, int64(stores*64<<20))
	}
	require.True(t, collected(func(now store.ProcessStats) bool {
		return now.Dropped == before.Dropped+stores && now.MappedBytes <= before.MappedBytes
	}), "%+v, before: %+v", store.Process(), before)
	require.Equal(t, before.DroppedInUse, store.Process().DroppedInUse)
}

func TestPublicCase_PC_127_SlotsAroundAPowerOfTwoAreAllThereAndOddSizesAreRefused(t *testing.T) {
	for slots := 65_534; slots <= 65_537; slots++ {
		s, err := store.New(store.Options{MaxBytes: int64(slots) * 8, BlockBytes: 8})
		require.NoError(t, err)
		require.Equal(t, slots, s.Slots())
		putCounted(t, s, 0, slots)
		require.Equal(t, slots, s.Stats().Used)
		require.Zero(t, s.Stats().Evicted)
		var evicted []blockhash.Hash
		for n := range 3 { // over the brim: one goes for each, the oldest
			oldest := s.Snapshot().Evictable[0]
			keeps(t, s, store.Batch{Blocks: []store.Block{{Hash: countedHash(slots + n), Rows: make([]byte, 8)}}, Evicted: &evicted})
			require.Equal(t, oldest, evicted[n])
			require.Equal(t, slots, s.Stats().Used)
		}
		require.NoError(t, s.Close())
	}

	var odd []store.Options
	for _, maxBytes := range []int64{-1, 0, 1 << 62} {
		odd = append(odd, store.Options{MaxBytes: maxBytes, BlockBytes: 8})
	}
	for _, blockBytes := range []int{0, -5} {
		odd = append(odd, store.Options{MaxBytes: 1 << 20, BlockBytes: blockBytes})
	}
	if large := uint64(1) << 40; strconv.IntSize == 64 {
		odd = append(odd, store.Options{MaxBytes: 1 << 20, BlockBytes: int(large)})
		_, err := store.New(store.Options{MaxBytes: 1 << 62, BlockBytes: int(large)})
		require.ErrorIs(t, err, auxerrors.ErrMemory)
	}
	for _, options := range odd {
		s, err := store.New(options)
		require.Nil(t, s)
		var config *auxerrors.ConfigError
		require.ErrorAs(t, err, &config, "%+v", options)
	}
}
