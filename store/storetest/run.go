package storetest

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/blockhash"
	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/store"
)

// Run puts a store through all tests.
func Run(t *testing.T, factory Factory) {
	t.Run("Model", func(t *testing.T) { checkModel(t, factory) })
	t.Run("Histories", func(t *testing.T) { checkHistories(t, factory) })
	t.Run("Reuse", func(t *testing.T) { checkReuse(t, factory) })
	t.Run("Isolation", func(t *testing.T) { checkIsolation(t, factory) })
	t.Run("Pressure", func(t *testing.T) { checkPressure(t, factory) })
	t.Run("Faults", func(t *testing.T) {
		checkFaults(t, factory)
		t.Run("a consumer that does not return", func(t *testing.T) { checkStuckConsumer(t, factory) })
		t.Run("Close races everything", func(t *testing.T) { checkCloseRaces(t, factory) })
	})
	t.Run("Limits", func(t *testing.T) {
		checkLimits(t, factory)
		t.Run("many goroutines stay within the budget", func(t *testing.T) { checkBudget(t, factory) })
		t.Run("many puts that wait all get through", func(t *testing.T) { checkStuckPuts(t, factory) })
	})
}

// SequentialRun is Run for a store that is not safe for concurrent use.
func SequentialRun(t *testing.T, factory Factory) {
	t.Run("Model", func(t *testing.T) { checkModel(t, factory) })
	t.Run("Reuse", func(t *testing.T) { checkReuse(t, factory) })
	t.Run("Isolation", func(t *testing.T) { checkIsolation(t, factory) })
	t.Run("Pressure", func(t *testing.T) { checkPressure(t, factory) })
	t.Run("Faults", func(t *testing.T) { checkFaults(t, factory) })
	t.Run("Limits", func(t *testing.T) { checkLimits(t, factory) })
}

// numbered is a hash outside the universe of drawn operations.
func numbered(n int) blockhash.Hash {
	digest := make([]byte, 32)
	digest[0], digest[29], digest[30], digest[31] = 0xff, byte(n>>16), byte(n>>8), byte(n)
	hash, err := blockhash.FromBytes(digest)
	if err != nil {
		panic(err) // 32 bytes are a digest
	}
	return hash
}

// checkReuse pushes many hashes through few slots and reads each block as long as
// it is there: what a slot held before must never show.
func checkReuse(t *testing.T, factory Factory) {
	const slots, blockBytes, blocks = 7, 64, 5000
	s, err := factory(slots, blockBytes)
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	for n := range blocks {
		_, err := s.Put(store.Batch{Blocks: []store.Block{{Hash: numbered(n), Rows: payload(numbered(n), n, blockBytes)}}})
		require.NoError(t, err)
		for old := max(0, n-slots); old <= n; old++ {
			rows, err := s.Get(nil, []blockhash.Hash{numbered(old)})
			if old == n-slots {
				require.ErrorIs(t, err, auxerrors.ErrAbsent)
				continue
			}
			require.NoError(t, err)
			require.Equal(t, payload(numbered(old), old, blockBytes), rows)
		}
	}
}

// checkIsolation writes to whatever crosses the border.
func checkIsolation(t *testing.T, factory Factory) {
	s, err := factory(2, 4)
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	rows := []byte("abcd")
	hashes := []blockhash.Hash{numbered(1)}
	batch := store.Batch{Blocks: []store.Block{{Hash: hashes[0], Rows: rows}}}
	_, err = s.Put(batch)
	require.NoError(t, err)
	copy(rows, "????")
	batch.Blocks[0].Hash = numbered(2)
	got, err := s.Get(nil, hashes)
	require.NoError(t, err)
	require.Equal(t, "abcd", string(got), "the rows that were put are the caller's again")
	copy(got, "YYYY")
	got, err = s.Get([]byte("1"), hashes)
	require.NoError(t, err)
	require.Equal(t, "1abcd", string(got), "the rows that were read are the caller's")

	full := append(make([]byte, 0, 100), "before"...)
	_, err = s.Get(full, []blockhash.Hash{hashes[0], numbered(9)})
	require.ErrorIs(t, err, auxerrors.ErrAbsent)
	require.True(t, bytes.Equal(full, []byte("before")))
}

// checkPressure fills a store with retained blocks: then nothing fits, nothing is
// harmed, and all is well once they are released.
func checkPressure(t *testing.T, factory Factory) {
	const slots, blockBytes = 5, 16
	s, err := factory(slots, blockBytes)
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	var held []blockhash.Hash
	var blocks []store.Block
	for n := range slots {
		held = append(held, numbered(n))
		blocks = append(blocks, store.Block{Hash: numbered(n), Rows: payload(numbered(n), n, blockBytes)})
	}
	_, err = s.Put(store.Batch{Blocks: blocks, Retain: held})
	require.NoError(t, err)
	extra := store.Block{Hash: numbered(99), Rows: payload(numbered(99), 99, blockBytes)}
	for range 100 {
		_, err = s.Put(store.Batch{Blocks: []store.Block{extra}})
		require.ErrorIs(t, err, auxerrors.ErrCannotFit)
		require.Zero(t, s.Prefix([]blockhash.Hash{extra.Hash}))
	}
	result, err := s.Put(store.Batch{Blocks: []store.Block{extra}, Partial: true})
	require.NoError(t, err)
	require.Equal(t, store.PutResult{LeftOut: 1}, result)
	require.Equal(t, slots, s.Prefix(held))
	result, err = s.Put(store.Batch{Blocks: []store.Block{extra}, Release: held})
	require.NoError(t, err)
	require.Equal(t, store.PutResult{Stored: 1, Evicted: 1}, result)
	require.Equal(t, slots-1, s.Prefix(held), "the tail made room")
}
