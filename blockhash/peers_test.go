package blockhash_test

import (
	"hash/fnv"
	"math"
	"testing"

	"github.com/fxamacker/cbor/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/blockhash"
)

func TestASaltIsTheRootOfSGLangPages(t *testing.T) {
	// The prior of vector sglang/salt/16.
	assert.Equal(t, "44e4df9bf0773e0ee5ac1b032cdee7e60cae18c9060f874a346c507807368f16",
		blockhash.SGLangRoot("tenant-7").String())
	assert.True(t, blockhash.SGLangRoot("").IsZero())
}

func TestSGLangPagesAppendAndChain(t *testing.T) {
	tokens := filler(200)
	whole, err := blockhash.AppendSGLangPages(nil, blockhash.Hash{}, 90, tokens)
	require.NoError(t, err)
	require.Len(t, whole, 2)
	first, err := blockhash.AppendSGLangPages(nil, blockhash.Hash{}, 90, tokens[:90])
	require.NoError(t, err)
	both, err := blockhash.AppendSGLangPages(first, first[0], 90, tokens[90:])
	require.NoError(t, err)
	assert.Equal(t, whole, both)

	for _, size := range []int{0, -1} {
		got, err := blockhash.AppendSGLangPages(first, first[0], size, tokens)
		require.ErrorIs(t, err, blockhash.ErrBlockTokens)
		assert.Equal(t, first, got)
	}
	_, err = blockhash.AppendSGLangPages(nil, mustParse(t, "0000000000000001"), 1, tokens)
	require.ErrorIs(t, err, blockhash.ErrSize)
}

// The packages below are those that llm-d itself uses.
func TestLLMDKeysEqualThoseOfItsOwnPackages(t *testing.T) {
	mode, err := cbor.CanonicalEncOptions().EncMode()
	require.NoError(t, err)
	key := func(parent any, tokens, extra any) uint64 {
		encoded, err := mode.Marshal([]any{parent, tokens, extra})
		require.NoError(t, err)
		h := fnv.New64a()
		h.Write(encoded)
		return h.Sum64()
	}
	seed := fnv.New64a()
	seed.Write([]byte("42"))
	root := blockhash.LLMDRoot("42", "a model")
	assert.Equal(t, key(seed.Sum64(), nil, "a model"), root)

	for _, parent := range []uint64{0, 23, 24, root, math.MaxUint64} {
		for _, n := range []int{1, 16, 300} {
			tokens := filler(n)
			assert.Equal(t, key(parent, tokens, nil), blockhash.LLMDKey(parent, tokens))
			images := []map[string]string{{"Hash": "first"}, {"Hash": "second"}}
			assert.Equal(t, key(parent, tokens, images), blockhash.LLMDKey(parent, tokens, "first", "second"))
		}
	}
	_, err = blockhash.AppendLLMDKeys(nil, root, 0, filler(4))
	require.ErrorIs(t, err, blockhash.ErrBlockTokens)
}
