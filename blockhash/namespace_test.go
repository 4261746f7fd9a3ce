package blockhash_test

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/auxoutput/auxoutput/blockhash"
)

func someHash(t testing.TB, size int, n byte) blockhash.Hash {
	digest := sha256.Sum256([]byte{n})
	hash, err := blockhash.FromBytes(digest[:size])
	require.NoError(t, err)
	return hash
}

func TestDifferentNamesAreDifferentNamespaces(t *testing.T) {
	lists := [][]string{
		nil, {""}, {"", ""}, {"a"}, {"a", ""}, {"", "a"}, {"a", "bc"}, {"ab", "c"}, {"abc"}, {"a", "b", "c"},
		{"a\x00b"}, {"a", "\x00b"}, {"a\x00", "b"}, {"\x00\x00\x00\x00\x00\x00\x00\x01a"}, {"\xff\xfe"}, {"A"},
	}
	seen := map[blockhash.Namespace]string{}
	keys := map[blockhash.Hash]string{}
	hash := someHash(t, 32, 1)
	for _, list := range lists {
		n := blockhash.NewNamespace(list...)
		require.Empty(t, seen[n], "%q", list)
		require.Empty(t, keys[n.Key(hash)], "%q", list)
		seen[n], keys[n.Key(hash)] = fmt.Sprintf("%q", list), fmt.Sprintf("%q", list)
		require.Equal(t, n, blockhash.NewNamespace(list...), "the same names are the same namespace")
		require.False(t, n.IsZero())
	}
}

func TestAKeyStandsForNamesGenerationAndHashWithItsSize(t *testing.T) {
	names := [][]string{{"model"}, {"model", "adapter"}, {"modeladapter"}}
	keys := map[blockhash.Hash]string{}
	for _, list := range names {
		for _, generation := range []uint64{0, 1, 256, math.MaxUint64} {
			for _, size := range []int{8, 16, 32} {
				for n := range byte(3) {
					what := fmt.Sprint(list, generation, size, n)
					hash := someHash(t, size, n)
					key := blockhash.NewNamespace(list...).WithGeneration(generation).Key(hash)
					require.Equal(t, 32, key.Size())
					require.NotEqual(t, hash, key)
					require.Empty(t, keys[key], what)
					keys[key] = what
				}
			}
		}
	}
	// A short digest is no long one that begins alike and ends in zeros.
	short, err := blockhash.FromBytes([]byte{1, 2, 3, 4, 5, 6, 7, 8})
	require.NoError(t, err)
	long, err := blockhash.FromBytes([]byte{1, 2, 3, 4, 5, 6, 7, 8, 15: 0})
	require.NoError(t, err)
	n := blockhash.NewNamespace("model")
	require.NotEqual(t, n.Key(short), n.Key(long))
}

// TestAKeyIsTheSameInEveryProcess has its bytes put together by hand.
func TestAKeyIsTheSameInEveryProcess(t *testing.T) {
	names := []byte("auxoutput namespace\x00")
	for _, name := range []string{"model", "adapter"} {
		names = append(binary.BigEndian.AppendUint64(names, uint64(len(name))), name...)
	}
	digest := sha256.Sum256(names)
	hash := someHash(t, 16, 7)
	preimage := append([]byte("auxoutput key\x00"), digest[:]...)
	preimage = binary.BigEndian.AppendUint64(preimage, 3)
	preimage = append(append(preimage, 16), hash.Bytes()...)
	want := sha256.Sum256(preimage)
	key := blockhash.NewNamespace("model", "adapter").WithGeneration(3).Key(hash)
	require.Equal(t, want[:], key.Bytes())
}

func TestGenerationsOfANamespaceFollowEachOther(t *testing.T) {
	n := blockhash.NewNamespace("model")
	before := n
	require.Zero(t, n.Generation())
	require.EqualValues(t, 1, n.Next().Generation())
	require.Equal(t, n.WithGeneration(2), n.Next().Next())
	require.NotEqual(t, n, n.Next())
	require.Equal(t, before, n, "a namespace does not change")
	require.True(t, n.WithGeneration(math.MaxUint64).Next().IsZero(), "and never begins anew")
	require.True(t, blockhash.Namespace{}.Next().IsZero())
}

func TestWithoutANamespaceOrAHashThereIsNoKey(t *testing.T) {
	hash := someHash(t, 32, 1)
	require.True(t, blockhash.Namespace{}.Key(hash).IsZero())
	require.True(t, blockhash.Namespace{}.Next().WithGeneration(4).Key(hash).IsZero())
	require.True(t, blockhash.NewNamespace("model").Key(blockhash.Hash{}).IsZero())
	require.Equal(t, make([]blockhash.Hash, 2), blockhash.Namespace{}.AppendKeys(nil, []blockhash.Hash{hash, hash}))
}

func TestKeysOfAListAreThoseOfItsHashesAndCostNoMemory(t *testing.T) {
	n := blockhash.NewNamespace("model", "adapter").Next()
	rapid.Check(t, func(rt *rapid.T) {
		var hashes, want []blockhash.Hash
		for _, b := range rapid.SliceOfN(rapid.Byte(), 0, 50).Draw(rt, "hashes") {
			hashes = append(hashes, someHash(t, 8<<(b%3), b))
			want = append(want, n.Key(hashes[len(hashes)-1]))
		}
		first := []blockhash.Hash{someHash(t, 8, 0)}
		require.Equal(t, append(first[:1:1], want...), n.AppendKeys(first[:1:1], hashes))
		require.Equal(t, append([]blockhash.Hash{}, want...), append([]blockhash.Hash{}, n.AppendKeys(hashes[:0], hashes)...), "in place")
	})
	hashes := make([]blockhash.Hash, 1000)
	for i := range hashes {
		hashes[i] = someHash(t, 32, byte(i))
	}
	dst := make([]blockhash.Hash, 0, len(hashes))
	require.Zero(t, testing.AllocsPerRun(10, func() { dst = n.AppendKeys(dst[:0], hashes) }))
}

func BenchmarkKeys(b *testing.B) {
	n := blockhash.NewNamespace("model", "adapter")
	hashes := make([]blockhash.Hash, 1000)
	for i := range hashes {
		hashes[i] = someHash(b, 32, byte(i))
	}
	dst := make([]blockhash.Hash, 0, len(hashes))
	for b.Loop() {
		dst = n.AppendKeys(dst[:0], hashes)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(hashes)), "ns/key")
}
