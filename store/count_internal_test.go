package store

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/blockhash"
	auxerrors "github.com/auxoutput/auxoutput/errors"
)

func TestACountThatIsFullIsNotRaised(t *testing.T) {
	s, err := New(Options{MaxBytes: 64, BlockBytes: 8})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	hashes := []blockhash.Hash{numbered(1)}
	_, err = s.Put(Batch{Retain: hashes})
	require.NoError(t, err)
	at, ok := s.pending.find(&hashes[0])
	require.True(t, ok)
	s.pending.entries[at].refs = maxRefs - 1
	_, err = s.Put(Batch{Retain: hashes})
	require.NoError(t, err)

	refused := func() {
		before := s.Snapshot()
		_, err := s.Put(Batch{Retain: []blockhash.Hash{numbered(2), hashes[0]}})
		require.ErrorIs(t, err, auxerrors.ErrTooLarge)
		var typed *auxerrors.BlockObjectStoreError
		require.ErrorAs(t, err, &typed)
		require.Equal(t, 1, typed.Index)
		require.Equal(t, before, s.Snapshot())
	}
	refused()
	_, err = s.Put(Batch{Blocks: []Block{{numbered(1), make([]byte, 8)}}})
	require.NoError(t, err)
	refused() // the count has moved to the block
	n, err := s.RetainPrefix(0, hashes)
	require.NoError(t, err)
	require.Zero(t, n)
	_, err = s.Put(Batch{Release: hashes})
	require.NoError(t, err)
	n, err = s.RetainPrefix(0, hashes)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	refused()
}
