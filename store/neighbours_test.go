package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/blockhash"
	"github.com/auxoutput/auxoutput/store"
)

// TestRowsInOneArrayGoWhereTheirBlocksAre puts blocks whose rows lie one behind the
// other, as those of a captured step do, into slots that are neighbours, that are
// not, and both.
func TestRowsInOneArrayGoWhereTheirBlocksAre(t *testing.T) {
	for name, touched := range map[string][]int{
		"all neighbours":    nil,
		"every other one":   {1, 3, 5},
		"two and two":       {2, 3},
		"the first of them": {0},
		"the last of them":  {5},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t, 6)
			for n := range 6 {
				put(t, s, n, 1)
			}
			kept := map[int]bool{}
			for _, n := range touched {
				kept[n] = true
				_, err := s.Get(nil, []blockhash.Hash{hashOf(n)})
				require.NoError(t, err)
			}
			var array []byte
			var fresh []store.Block
			for n := 6; n < 12-len(touched); n++ {
				array = append(array, rowsFor(n, 0, testBlock)...)
			}
			for n := 6; n < 12-len(touched); n++ {
				fresh = append(fresh, store.Block{Hash: hashOf(n), Rows: array[(n-6)*testBlock : (n-5)*testBlock]})
			}
			_, err := s.Put(store.Batch{Blocks: fresh})
			require.NoError(t, err)
			for n := range 12 - len(touched) {
				rows, err := s.Get(nil, []blockhash.Hash{hashOf(n)})
				if n < 6 && !kept[n] {
					require.Error(t, err)
					continue
				}
				require.NoError(t, err)
				require.Equal(t, rowsFor(n, 0, testBlock), rows, "block %d", n)
			}
		})
	}
}

// TestRowsThatOnlyLookLikeNeighboursAreCopiedEachFromItsPlace puts blocks whose rows
// have room behind them that is not the next block's.
func TestRowsThatOnlyLookLikeNeighboursAreCopiedEachFromItsPlace(t *testing.T) {
	s := newStore(t, 4)
	var blocks []store.Block
	for n := range 4 {
		roomy := make([]byte, testBlock, 4*testBlock)
		copy(roomy, rowsFor(n, 0, testBlock))
		blocks = append(blocks, store.Block{Hash: hashOf(n), Rows: roomy})
	}
	_, err := s.Put(store.Batch{Blocks: blocks})
	require.NoError(t, err)
	for n := range 4 {
		rows, err := s.Get(nil, []blockhash.Hash{hashOf(n)})
		require.NoError(t, err)
		require.Equal(t, rowsFor(n, 0, testBlock), rows, "block %d", n)
	}
}
