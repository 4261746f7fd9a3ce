package store_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/store"
)

func TestOptionsThatMakeNoSenseAreRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		options store.Options
		reason  error
	}{
		"no block size":               {store.Options{MaxBytes: 100}, auxerrors.ErrTooSmall},
		"negative block size":         {store.Options{MaxBytes: 100, BlockBytes: -1}, auxerrors.ErrTooSmall},
		"no budget":                   {store.Options{BlockBytes: 100}, auxerrors.ErrTooSmall},
		"negative budget":             {store.Options{MaxBytes: -1, BlockBytes: 1}, auxerrors.ErrTooSmall},
		"one byte below one block":    {store.Options{MaxBytes: 99, BlockBytes: 100}, auxerrors.ErrTooSmall},
		"more slots than can be kept": {store.Options{MaxBytes: math.MaxInt64, BlockBytes: 1}, auxerrors.ErrTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := store.New(tc.options)
			require.Nil(t, s)
			require.ErrorIs(t, err, tc.reason)
			var config *auxerrors.ConfigError
			require.ErrorAs(t, err, &config)
		})
	}
}

func TestMemoryThatCannotBeHadIsATypedError(t *testing.T) {
	if math.MaxInt == math.MaxInt32 {
		t.Skip("LOUD: a 32-bit address space refuses such a budget before it asks for memory")
	}
	_, err := store.New(store.Options{MaxBytes: 1 << 54, BlockBytes: 1 << 30})
	require.ErrorIs(t, err, auxerrors.ErrMemory)
	var typed *auxerrors.BlockObjectStoreError
	require.ErrorAs(t, err, &typed)
	require.Equal(t, 1<<24, typed.Limit)
}

func TestSlotsAreTheBudgetDividedByTheBlockSize(t *testing.T) {
	for _, tc := range []struct {
		maxBytes   int64
		blockBytes int
		want       int
	}{{1, 1, 1}, {99, 10, 9}, {100, 10, 10}, {109, 10, 10}, {6144 * 3, 6144, 3}, {1<<20 + 1, 4095, 256}} {
		s, err := store.New(store.Options{MaxBytes: tc.maxBytes, BlockBytes: tc.blockBytes, Populate: true})
		require.NoError(t, err)
		require.Equal(t, tc.want, s.Slots())
		require.Equal(t, tc.blockBytes, s.BlockBytes())
		require.NoError(t, s.Close())
	}
}

func TestTheDefaultBudgetIsOneSlotForEachHashBlockOfTheKVPool(t *testing.T) {
	for _, tc := range []struct {
		name                                   string
		kvBlocks, hashesPerKVBlock, blockBytes int
		want                                   int64
		reason                                 error
	}{
		{"Qwen3-30B-A3B with 40 GiB of KV", 27_306, 1, 6144, 167_768_064, nil},
		{"a KV block of four hash blocks", 1000, 4, 7424, 29_696_000, nil},
		{"no KV blocks", 0, 1, 6144, 0, auxerrors.ErrTooSmall},
		{"negative hashes", 1, -1, 6144, 0, auxerrors.ErrTooSmall},
		{"no bytes", 1, 1, 0, 0, auxerrors.ErrTooSmall},
		{"a product beyond an int64", math.MaxInt32, math.MaxInt32, math.MaxInt32, 0, auxerrors.ErrTooLarge},
		{"a product just beyond an int64", math.MaxInt32, math.MaxInt32, 3, 0, auxerrors.ErrTooLarge},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := store.Budget(tc.kvBlocks, tc.hashesPerKVBlock, tc.blockBytes)
			if tc.reason != nil {
				require.ErrorIs(t, err, tc.reason)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tc.want, got)
		})
	}
}
