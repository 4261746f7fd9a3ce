package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/auxoutput/auxoutput/blockhash"
	"github.com/auxoutput/auxoutput/store"
	"github.com/auxoutput/auxoutput/store/storetest"
)

// verified is a store that compares rows.
type verified struct{ *store.Store }

func (verified) Verifies() bool { return true }

func (v verified) TakeLease() storetest.Lease { return v.Lease() }

func (v verified) OpenView(hashes []blockhash.Hash) (storetest.View, error) { return v.View(hashes) }

// factory makes stores whose budget is not a whole number of blocks.
func factory(verify bool) storetest.Factory {
	return func(slots, blockBytes int) (storetest.Store, error) {
		s, err := store.New(store.Options{
			MaxBytes: int64(slots*blockBytes + blockBytes - 1), BlockBytes: blockBytes, Verify: verify,
		})
		if err != nil {
			return nil, err
		}
		if verify {
			return verified{s}, nil
		}
		return storetest.Of(s), nil
	}
}

func TestConformance(t *testing.T) { storetest.Run(t, factory(false)) }

func TestConformanceWithVerify(t *testing.T) { storetest.Run(t, factory(true)) }

func FuzzConformance(f *testing.F) {
	f.Fuzz(rapid.MakeFuzz(storetest.Property(factory(true))))
}

func TestWithVerifyAnotherPayloadIsAConflictAndTheFirstOneStays(t *testing.T) {
	s, err := store.New(store.Options{MaxBytes: 4 * testBlock, BlockBytes: testBlock, Verify: true})
	require.NoError(t, err)
	defer s.Close()
	put(t, s, 0, 1)
	other := store.Block{Hash: hashOf(0), Rows: rowsFor(0, 1, testBlock)}
	result, err := s.Put(store.Batch{Blocks: []store.Block{other, blocksOf(1)[0]}})
	require.NoError(t, err)
	require.Equal(t, store.PutResult{Present: 2, Conflicts: 1}, result)
	require.EqualValues(t, 1, s.Stats().Conflicts)
	rows, err := s.Get(nil, []blockhash.Hash{hashOf(0)})
	require.NoError(t, err)
	require.Equal(t, rowsFor(0, 0, testBlock), rows)
}
