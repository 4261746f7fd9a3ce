package blockhash_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/auxoutput/auxoutput/blockhash"
)

func TestAChainDoesNotDependOnHowTokensAreSplit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.SampledFrom(algorithms).Draw(t, "algorithm")
		blockTokens := rapid.IntRange(1, 20).Draw(t, "block tokens")
		tokens := rapid.SliceOfN(rapid.Uint32(), 0, 100).Draw(t, "tokens")
		root, err := blockhash.SeedRoot(a, blockhash.DefaultSeed)
		require.NoError(t, err)
		chain, err := blockhash.NewChain(a, root, blockTokens, blockhash.Request{})
		require.NoError(t, err)
		want := hashAll(t, a, blockTokens, tokens, make([][]blockhash.ExtraKey, 100))

		var given []blockhash.Hash
		for rest := tokens; len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "chunk")
			given = append(given, chain.Append(rest[:n]...)...)
			rest = rest[n:]
		}
		require.Equal(t, want, given)
		require.Len(t, chain.Hashes(), len(want))
		require.Equal(t, len(tokens), chain.Tokens())
		held := len(tokens) / blockTokens * blockTokens
		require.Equal(t, append([]uint32{}, tokens[held:]...), append([]uint32{}, chain.Pending()...))
	})
}

func TestAChainStartsAnewAfterReset(t *testing.T) {
	for _, a := range algorithms {
		fresh := newChain(t, a, 4, blockhash.Request{Salt: "new"})
		want := fresh.Append(filler(18)...)

		used := newChain(t, a, 4, blockhash.Request{
			LoRA: "old", Images: []blockhash.Image{{"a", 0, 9}}, Embeds: fill(40, 1), EmbedBytes: 2,
		})
		used.Append(filler(31)...)
		require.NoError(t, used.Reset(blockhash.Request{Salt: "new"}))
		assert.Zero(t, used.Tokens())
		assert.Empty(t, used.Hashes())
		assert.Equal(t, want, used.Append(filler(18)...), "%v", a)
	}
}

func TestAChainKeepsNothingOfItsRequest(t *testing.T) {
	request := blockhash.Request{Images: []blockhash.Image{{"a", 0, 6}}, Embeds: fill(8, 1), EmbedBytes: 1}
	want := newChain(t, blockhash.SHA256, 4, request).Append(filler(8)...)
	chain := newChain(t, blockhash.SHA256, 4, request)
	request.Images[0] = blockhash.Image{Identifier: "b", Tokens: 1}
	clear(request.Embeds)
	assert.Equal(t, want, chain.Append(filler(8)...))
}

func TestHashesGivenOutAreNotOverwritten(t *testing.T) {
	chain := newChain(t, blockhash.XXH64, 1, blockhash.Request{})
	first := chain.Append(1)
	want := first[0]
	_ = append(first, blockhash.Hash{}) // may not reach into the chain's list
	second := chain.Append(2)[0]
	chain.Append(filler(1000)...)
	assert.Equal(t, want, first[0])
	assert.Equal(t, second, chain.Hashes()[1])
}

func TestARootOf32BytesStaysSoUnderXXHash(t *testing.T) {
	raw := mustParse(t, "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f")
	for _, a := range []blockhash.Algorithm{blockhash.XXHash, blockhash.XXHashCBOR} {
		chain, err := blockhash.NewChain(a, raw, 2, blockhash.Request{})
		require.NoError(t, err)
		first, err := blockhash.HashBlock(a, raw, []uint32{1, 2})
		require.NoError(t, err)
		second, err := blockhash.HashBlock(a, first, []uint32{3, 4})
		require.NoError(t, err)
		assert.Equal(t, []blockhash.Hash{first, second}, chain.Append(1, 2, 3, 4))
		assert.Equal(t, 16, first.Size())
	}
}

func TestAChainThatCannotBeIsRefused(t *testing.T) {
	sha, xxh3, xxh64 := mustParse(t, "0000000000000000000000000000000000000000000000000000000000000001"),
		mustParse(t, "00000000000000000000000000000001"), mustParse(t, "0000000000000001")
	for _, tc := range []struct {
		name        string
		algorithm   blockhash.Algorithm
		root        blockhash.Hash
		blockTokens int
		want        error
	}{
		{"no such algorithm", 9, sha, 16, blockhash.ErrAlgorithm},
		{"no root", blockhash.SHA256, blockhash.Hash{}, 16, blockhash.ErrSize},
		{"the root of xxhash under sha256", blockhash.SHA256, xxh3, 16, blockhash.ErrSize},
		{"the root of xxh64 under xxhash", blockhash.XXHash, xxh64, 16, blockhash.ErrSize},
		{"a raw root under xxh64", blockhash.XXH64, sha, 16, blockhash.ErrSize},
		{"blocks without tokens", blockhash.SHA256, sha, 0, blockhash.ErrBlockTokens},
		{"blocks of less than no token", blockhash.SHA256, sha, -1, blockhash.ErrBlockTokens},
	} {
		t.Run(tc.name, func(t *testing.T) {
			chain, err := blockhash.NewChain(tc.algorithm, tc.root, tc.blockTokens, blockhash.Request{})
			require.ErrorIs(t, err, tc.want)
			assert.Nil(t, chain)
		})
	}
}

func TestASteadyChainAllocatesNothing(t *testing.T) {
	const promptTokens, generated, blockTokens = 4096, 64, 16
	tokens := filler(promptTokens + generated)
	for name, request := range map[string]blockhash.Request{
		"text alone":      {},
		"LoRA and salt":   {LoRA: "sql-adapter", Salt: "tenant-7"},
		"images":          {Images: []blockhash.Image{{"a", 3, 700}, {"b", 705, 2}, {"c", 710, 9}}, PromptTokens: promptTokens},
		"a shared image":  {Images: []blockhash.Image{{"a", 3, 2}, {"a", 5, 2}}, SharedImages: true},
		"embeddings":      {Embeds: fill(2*4000, 3), EmbedBytes: 2},
		"a long LoRA":     {LoRA: string(fill(70_000, 'l'))},
		"everything else": {LoRA: "l", Salt: "s", BareImages: true, Images: []blockhash.Image{{"a", 3, 700}}},
	} {
		for _, a := range algorithms {
			t.Run(name+"/"+a.String(), func(t *testing.T) {
				chain := newChain(t, a, blockTokens, request)
				chain.Reserve(len(tokens))
				chain.Append(tokens...)
				prompts := testing.AllocsPerRun(3, func() {
					// Reset digests the embeddings anew, which is not per block.
					if request.Embeds == nil {
						if err := chain.Reset(request); err != nil {
							t.Fatal(err)
						}
						chain.Append(tokens[:promptTokens]...)
					}
				})
				assert.Zero(t, prompts, "prompts")
				require.NoError(t, chain.Reset(request))
				chain.Append(tokens[:promptTokens]...)
				next := promptTokens
				decodes := testing.AllocsPerRun(generated-1, func() {
					chain.Append(tokens[next])
					next++
				})
				assert.Zero(t, decodes, "decodes")
			})
		}
	}
}

func TestOneBlockAllocatesNothing(t *testing.T) {
	tokens := filler(16)
	for _, a := range algorithms {
		root, err := blockhash.SeedRoot(a, blockhash.DefaultSeed)
		require.NoError(t, err)
		assert.Zero(t, testing.AllocsPerRun(10, func() {
			if _, err := blockhash.HashBlock(a, root, tokens, blockhash.LoRAKey("sql-adapter")); err != nil {
				t.Fatal(err)
			}
		}), "%v", a)
	}
}

func TestTheZeroChainKeepsTokensAndCompletesNoBlock(t *testing.T) {
	var c blockhash.Chain
	require.Empty(t, c.Append())
	c.Reserve(math.MaxInt)
	require.Empty(t, c.Append(1, 2, 3))
	require.Empty(t, c.Append(4))
	require.Empty(t, c.Hashes())
	require.Equal(t, []uint32{1, 2, 3, 4}, c.Pending())
	require.Equal(t, 4, c.Tokens())
	require.ErrorIs(t, c.Reset(blockhash.Request{}), blockhash.ErrBlockTokens)
	require.Equal(t, 4, c.Tokens(), "as it was")
}
