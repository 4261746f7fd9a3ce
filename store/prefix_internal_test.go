package store

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/blockhash"
)

// TestALookForAPrefixHashesInProportionToWhatItFinds counts the tags that a look at
// 200,000 hashes computes, of which a few are there.
func TestALookForAPrefixHashesInProportionToWhatItFinds(t *testing.T) {
	s, err := New(Options{MaxBytes: 8 * 5000, BlockBytes: 8})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	list := make([]blockhash.Hash, 200_000)
	for n := range list {
		list[n] = numbered(uint64(n))
	}
	there := 0
	for _, want := range []int{0, 1, 63, 64, 65, 255, 256, 257, 1000, 5000} {
		for ; there < want; there++ {
			_, err := s.Put(Batch{Blocks: []Block{{list[there], bytes.Repeat([]byte{1}, 8)}}})
			require.NoError(t, err)
		}
		var f found
		n := s.lockLeading(list, &f)
		s.mu.Unlock()
		require.Equal(t, want, n)
		require.LessOrEqual(t, len(f.tags), moreLook*max(want, firstLook), "tags computed for %d blocks", want)

		require.Equal(t, want, s.Prefix(list))
		n, err := s.RetainPrefix(0, list)
		require.NoError(t, err)
		require.Equal(t, want, n)
		require.Equal(t, want, s.Stats().Retained)
		_, err = s.Put(Batch{Release: list[:want]})
		require.NoError(t, err)
	}
	require.Equal(t, 300, s.Prefix(list[:300]), "a list that ends")
	require.Zero(t, s.Prefix(nil))
}
