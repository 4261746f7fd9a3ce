package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/blockhash"
	"github.com/auxoutput/auxoutput/store"
)

// of is a block with rows of a version.
func of(n, version int) store.Block {
	return store.Block{Hash: hashOf(n), Rows: rowsFor(n, version, testBlock)}
}

func TestOfTwoPayloadsForOneHashInABatchTheFirstIsStored(t *testing.T) {
	s := newStore(t, 4)
	result, err := s.Put(store.Batch{Blocks: []store.Block{of(0, 1), of(1, 0), of(0, 2), of(0, 1)}})
	require.NoError(t, err)
	require.Equal(t, store.PutResult{Stored: 2}, result)
	rows, err := s.Get(nil, hashesOf(0))
	require.NoError(t, err)
	require.Equal(t, rowsFor(0, 1, testBlock), rows)
}

func TestWithVerifyAnotherPayloadForOneHashIsAConflictWhereverItStands(t *testing.T) {
	for name, tc := range map[string]struct {
		blocks []store.Block
		want   store.PutResult
	}{
		"the same payload twice":                   {[]store.Block{of(5, 1), of(5, 1)}, store.PutResult{Stored: 1}},
		"two payloads for a new block":             {[]store.Block{of(5, 1), of(5, 2)}, store.PutResult{Stored: 1, Conflicts: 1}},
		"three payloads for a new block":           {[]store.Block{of(5, 1), of(5, 2), of(5, 3)}, store.PutResult{Stored: 1, Conflicts: 1}},
		"the first again after another one":        {[]store.Block{of(5, 1), of(5, 2), of(5, 1)}, store.PutResult{Stored: 1, Conflicts: 1}},
		"first the stored payload, then another":   {[]store.Block{of(0, 0), of(0, 2)}, store.PutResult{Present: 1, Conflicts: 1}},
		"first another payload, then the stored":   {[]store.Block{of(0, 2), of(0, 0)}, store.PutResult{Present: 1, Conflicts: 1}},
		"the same other payload twice":             {[]store.Block{of(0, 2), of(0, 2)}, store.PutResult{Present: 1, Conflicts: 1}},
		"the stored payload twice":                 {[]store.Block{of(0, 0), of(0, 0)}, store.PutResult{Present: 1}},
		"a conflict each for two blocks":           {[]store.Block{of(0, 2), of(5, 1), of(5, 2)}, store.PutResult{Stored: 1, Present: 1, Conflicts: 2}},
		"two payloads of a block that is left out": {[]store.Block{of(1, 0), of(5, 0), of(6, 0), of(7, 0), of(8, 1), of(8, 2)}, store.PutResult{Stored: 3, Present: 1, LeftOut: 1, Conflicts: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := store.New(store.Options{MaxBytes: 4 * testBlock, BlockBytes: testBlock, Verify: true})
			require.NoError(t, err)
			defer s.Close()
			put(t, s, 0, 1)
			result, err := s.Put(store.Batch{Blocks: tc.blocks, Partial: true})
			require.NoError(t, err)
			result.Evicted = 0
			require.Equal(t, tc.want, result)
			require.EqualValues(t, tc.want.Conflicts, s.Stats().Conflicts)
			first := tc.blocks[0].Hash
			want := tc.blocks[0].Rows
			if first == hashOf(0) {
				want = rowsFor(0, 0, testBlock)
			}
			rows, err := s.Get(nil, []blockhash.Hash{first})
			require.NoError(t, err)
			require.Equal(t, want, rows)
		})
	}
}

// TestPresentCountsBlocksThatWereStoredAndStillAre looks at blocks that were stored
// before their batch.
func TestPresentCountsBlocksThatWereStoredAndStillAre(t *testing.T) {
	for name, tc := range map[string]struct {
		batch store.Batch
		want  store.PutResult
		there []int
	}{
		"put again":                        {store.Batch{Blocks: blocksOf(0, 1)}, store.PutResult{Present: 2}, []int{0, 1, 2}},
		"mentioned twice":                  {store.Batch{Blocks: blocksOf(0, 0, 0)}, store.PutResult{Present: 1}, []int{0, 1, 2}},
		"retained":                         {store.Batch{Blocks: blocksOf(2)}, store.PutResult{Present: 1}, []int{0, 1, 2}},
		"released in the batch, with room": {store.Batch{Blocks: blocksOf(2), Release: hashesOf(2)}, store.PutResult{Present: 1}, []int{0, 1, 2}},
		"released in the batch, and a victim of its other blocks": {
			store.Batch{Blocks: blocksOf(2, 5, 6, 7), Release: hashesOf(2)}, store.PutResult{Stored: 3, Dropped: 1, Evicted: 3}, []int{5, 6, 7},
		},
		"put again beside a victim": {
			store.Batch{Blocks: blocksOf(0, 5)}, store.PutResult{Stored: 1, Present: 1, Evicted: 1}, []int{0, 2, 5},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t, 3)
			_, err := s.Put(store.Batch{Blocks: blocksOf(0, 1, 2), Retain: hashesOf(2)})
			require.NoError(t, err)
			result, err := s.Put(tc.batch)
			require.NoError(t, err)
			require.Equal(t, tc.want, result)
			require.EqualValues(t, tc.want.Present, s.Stats().Present)
			there := 0
			for n := range 10 {
				there += s.Prefix(hashesOf(n))
			}
			require.Equal(t, len(tc.there), there)
			for _, n := range tc.there {
				require.Equal(t, 1, s.Prefix(hashesOf(n)), "block %d", n)
			}
		})
	}
}

func TestABlockThatIsRemovedWhileRetainedIsPresentAndStaysWhenPutAgain(t *testing.T) {
	s := newStore(t, 3)
	_, err := s.Put(store.Batch{Blocks: blocksOf(0), Retain: hashesOf(0)})
	require.NoError(t, err)
	_, err = s.Remove(0, hashesOf(0))
	require.NoError(t, err)
	result, err := s.Put(store.Batch{Blocks: blocksOf(0)})
	require.NoError(t, err)
	require.Equal(t, store.PutResult{Present: 1}, result)
	_, err = s.Put(store.Batch{Release: hashesOf(0)})
	require.NoError(t, err)
	require.Equal(t, 1, s.Prefix(hashesOf(0)), "its removal is taken back")
}
