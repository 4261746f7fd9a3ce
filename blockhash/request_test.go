package blockhash_test

import (
	"crypto/sha256"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/auxoutput/auxoutput/blockhash"
)

// hashAll hashes tokens block by block with the keys given for each.
func hashAll(tb require.TestingT, a blockhash.Algorithm, blockTokens int, tokens []uint32, keys [][]blockhash.ExtraKey) (hashes []blockhash.Hash) {
	parent, err := blockhash.SeedRoot(a, blockhash.DefaultSeed)
	require.NoError(tb, err)
	for i := range len(tokens) / blockTokens {
		parent, err = blockhash.HashBlock(a, parent, tokens[i*blockTokens:][:blockTokens], keys[i]...)
		require.NoError(tb, err)
		hashes = append(hashes, parent)
	}
	return hashes
}

func TestEachBlockCarriesTheKeysOfTheRequest(t *testing.T) {
	type keys = []blockhash.ExtraKey
	lora, salt := blockhash.LoRAKey("L"), blockhash.SaltKey("S")
	image, bare := blockhash.ImageKey, blockhash.BareImageKey
	embeds := func(data ...byte) blockhash.ExtraKey {
		digest := sha256.Sum256(data)
		return blockhash.EmbedsKey(digest[:])
	}
	for _, tc := range []struct {
		name    string
		request blockhash.Request
		want    []keys // blocks of 16
	}{
		{"text alone", blockhash.Request{}, []keys{nil, nil, nil}},
		{"a LoRA is on every block", blockhash.Request{LoRA: "L"}, []keys{{lora}, {lora}, {lora}}},
		{"a salt is on the first block", blockhash.Request{Salt: "S"}, []keys{{salt}, nil, nil}},
		{
			"an image through three blocks, between LoRA and salt", // vLLM's own answer, research of 2026-08-01
			blockhash.Request{LoRA: "L", Salt: "S", Images: []blockhash.Image{{"img", 5, 30}}},
			[]keys{{lora, image("img", 5), salt}, {lora, image("img", -11)}, {lora, image("img", -27)}},
		},
		{
			"an image that ends with its block",
			blockhash.Request{Images: []blockhash.Image{{"img", 5, 11}}},
			[]keys{{image("img", 5)}, nil, nil},
		},
		{
			"two images in one block, the second into the next",
			blockhash.Request{Images: []blockhash.Image{{"a", 2, 4}, {"b", 10, 10}}},
			[]keys{{image("a", 2), image("b", 10)}, {image("b", -6)}, nil},
		},
		{
			"bare images",
			blockhash.Request{Images: []blockhash.Image{{"a", 2, 4}, {"b", 10, 10}}, BareImages: true},
			[]keys{{bare("a"), bare("b")}, {bare("b")}, nil},
		},
		{
			"an image that lies twice in a block, as one object",
			blockhash.Request{Images: []blockhash.Image{{"a", 0, 8}, {"a", 8, 8}}, SharedImages: true},
			[]keys{{image("a", 0).Shared(), image("a", 8).Shared()}, nil, nil},
		},
		{
			"embeddings that end in the second block",
			blockhash.Request{Embeds: fill(2*20, 7), EmbedBytes: 2},
			[]keys{{embeds(fill(32, 7)...)}, {embeds(fill(8, 7)...)}, {embeds()}},
		},
		{
			"everything together",
			blockhash.Request{
				LoRA: "L", Salt: "S", Images: []blockhash.Image{{"img", 0, 1}},
				Embeds: fill(48, 1), EmbedBytes: 1,
			},
			[]keys{{lora, image("img", 0), salt, embeds(fill(16, 1)...)}, {lora, embeds(fill(16, 1)...)}, {lora, embeds(fill(16, 1)...)}},
		},
		{
			"audio within a video is met once the video is over",
			blockhash.Request{Images: []blockhash.Image{{"video", 0, 40}, {"audio", 4, 40}}},
			[]keys{{image("video", 0)}, {image("video", -16)}, {image("video", -32), image("audio", -28)}},
		},
		{
			"audio within a video that is over when it would be met is left out",
			blockhash.Request{Images: []blockhash.Image{{"video", 0, 34}, {"audio", 4, 4}, {"late", 36, 4}}},
			[]keys{{image("video", 0)}, {image("video", -16)}, {image("video", -32), image("late", 4)}},
		},
		{
			"a block that generated tokens complete has the last image only",
			blockhash.Request{Images: []blockhash.Image{{"a", 33, 4}, {"b", 38, 4}}, PromptTokens: 42},
			[]keys{nil, nil, {image("b", 6)}},
		},
		{
			"the first block has all images, whoever completes it",
			blockhash.Request{Images: []blockhash.Image{{"a", 1, 4}, {"b", 6, 4}}, PromptTokens: 12},
			[]keys{{image("a", 1), image("b", 6)}, nil, nil},
		},
		{
			"all images count where the prompt's length is not known",
			blockhash.Request{Images: []blockhash.Image{{"a", 33, 4}, {"b", 38, 4}}},
			[]keys{nil, nil, {image("a", 1), image("b", 6)}},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, a := range algorithms {
				want := hashAll(t, a, 16, filler(48), tc.want)
				whole := newChain(t, a, 16, tc.request)
				assert.Equal(t, want, whole.Append(filler(48)...), "%v", a)
				single := newChain(t, a, 16, tc.request)
				for _, token := range filler(48) {
					single.Append(token)
				}
				assert.Equal(t, want, single.Hashes(), "%v, token by token", a)
			}
		})
	}
}

// vllmKeys is get_request_block_hasher of vLLM with _gen_mm_extra_hash_keys,
// word for word: it is called when the request is made and whenever tokens are
// appended, and each call starts where the hashes end.
func vllmKeys(images []blockhash.Image, blockTokens, prompt int, appended []int) (keys [][]blockhash.ExtraKey) {
	total := prompt
	call := func() {
		start := len(keys) * blockTokens
		current := 0
		if start > 0 {
			current = -1
		}
		for ; start+blockTokens <= total; start += blockTokens {
			end := start + blockTokens
			var extra []blockhash.ExtraKey
			if last := len(images) - 1; last >= 0 && images[last].Offset+images[last].Tokens > start {
				if current < 0 {
					current += len(images)
				}
				for current < len(images) {
					offset, length := images[current].Offset, images[current].Tokens
					if end <= offset {
						break
					}
					if start >= offset+length {
						current++
						continue
					}
					extra = append(extra, blockhash.ImageKey(images[current].Identifier, int64(offset-start)))
					if end < offset+length {
						break
					}
					current++
				}
			}
			keys = append(keys, extra)
		}
	}
	call()
	for _, n := range appended {
		total += n
		call()
	}
	return keys
}

func TestImagesCountAsInVLLMHoweverTokensArrive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const blockTokens = 8
		prompt := rapid.IntRange(1, 60).Draw(t, "prompt")
		appended := rapid.SliceOfN(rapid.IntRange(1, 20), 0, 6).Draw(t, "appended")
		images := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) blockhash.Image {
			offset := rapid.IntRange(0, prompt-1).Draw(t, "offset")
			return blockhash.Image{
				Identifier: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "identifier"),
				Offset:     offset,
				Tokens:     rapid.IntRange(1, prompt-offset).Draw(t, "tokens"),
			}
		}), 0, 6).Draw(t, "images")
		slices.SortStableFunc(images, func(a, b blockhash.Image) int { return a.Offset - b.Offset })

		total := prompt
		for _, n := range appended {
			total += n
		}
		want := hashAll(t, blockhash.XXH64, blockTokens, filler(total), vllmKeys(images, blockTokens, prompt, appended))

		root, err := blockhash.SeedRoot(blockhash.XXH64, blockhash.DefaultSeed)
		require.NoError(t, err)
		chain, err := blockhash.NewChain(blockhash.XXH64, root, blockTokens, blockhash.Request{Images: images, PromptTokens: prompt})
		require.NoError(t, err)
		tokens := filler(total)
		for len(tokens) > 0 {
			n := rapid.IntRange(1, len(tokens)).Draw(t, "chunk")
			chain.Append(tokens[:n]...)
			tokens = tokens[n:]
		}
		require.Equal(t, want, append([]blockhash.Hash(nil), chain.Hashes()...))
	})
}

func TestImpossibleRequestsAreRefused(t *testing.T) {
	for _, tc := range []struct {
		name    string
		request blockhash.Request
		field   string
		index   int
	}{
		{"a LoRA that is not UTF-8", blockhash.Request{LoRA: "\xff"}, "LoRA", -1},
		{"a salt that is not UTF-8", blockhash.Request{Salt: "a\xc3"}, "Salt", -1},
		{"a salt that is too long", blockhash.Request{Salt: string(fill(blockhash.MaxText+1, 'a'))}, "Salt", -1},
		{"an identifier that is not UTF-8", blockhash.Request{Images: []blockhash.Image{{"\xff", 0, 1}}}, "Images", 0},
		{"a negative offset", blockhash.Request{Images: []blockhash.Image{{"a", -1, 1}}}, "Images", 0},
		{"a negative length", blockhash.Request{Images: []blockhash.Image{{"a", 0, 1}, {"b", 1, -1}}}, "Images", 1},
		{"an image without tokens", blockhash.Request{Images: []blockhash.Image{{"a", 0, 0}}}, "Images", 0},
		{"an image past the largest int", blockhash.Request{Images: []blockhash.Image{{"a", 2, math.MaxInt - 1}}}, "Images", 0},
		{"images out of order", blockhash.Request{Images: []blockhash.Image{{"a", 4, 1}, {"b", 3, 1}}}, "Images", 1},
		{"an image past the prompt", blockhash.Request{Images: []blockhash.Image{{"a", 4, 5}}, PromptTokens: 8}, "Images", 0},
		{"a negative prompt", blockhash.Request{PromptTokens: -1}, "PromptTokens", -1},
		{"embeddings without a size", blockhash.Request{Embeds: fill(4, 0)}, "EmbedBytes", -1},
		{"half a token's embedding", blockhash.Request{Embeds: fill(5, 0), EmbedBytes: 2}, "Embeds", -1},
		{"no token's embedding", blockhash.Request{Embeds: []byte{}, EmbedBytes: 2}, "Embeds", -1},
		{"embeddings past the prompt", blockhash.Request{Embeds: fill(6, 0), EmbedBytes: 2, PromptTokens: 2}, "Embeds", -1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			chain := newChain(t, blockhash.SHA256CBOR, 4, blockhash.Request{LoRA: "L"})
			before := append([]blockhash.Hash(nil), chain.Append(1, 2, 3, 4, 5)...)
			err := chain.Reset(tc.request)
			require.ErrorIs(t, err, blockhash.ErrRequest)
			var bad *blockhash.RequestError
			require.ErrorAs(t, err, &bad)
			assert.Equal(t, tc.field, bad.Field)
			assert.Equal(t, tc.index, bad.Index)
			assert.Contains(t, err.Error(), tc.field)
			assert.Equal(t, before, chain.Hashes(), "a refused request changes nothing")
			assert.Equal(t, []uint32{5}, chain.Pending())

			_, err = blockhash.NewChain(blockhash.SHA256CBOR, before[0], 4, tc.request)
			require.ErrorIs(t, err, blockhash.ErrRequest)
		})
	}
	t.Run("bad text is also ErrText", func(t *testing.T) {
		_, err := blockhash.NewChain(blockhash.XXH64, mustParse(t, "0000000000000001"), 4, blockhash.Request{LoRA: "\xff"})
		require.ErrorIs(t, err, blockhash.ErrText)
	})
}

func TestAHugeBlockNeedsNoHugeMemory(t *testing.T) {
	chain := newChain(t, blockhash.SHA256, math.MaxInt, blockhash.Request{
		Embeds: fill(64, 0), EmbedBytes: 32, Images: []blockhash.Image{{"a", 0, 2}},
	})
	chain.Reserve(-1)
	chain.Reserve(math.MaxInt)
	assert.Empty(t, chain.Append(1, 2, 3))
	assert.Equal(t, 3, chain.Tokens())
	newChain(t, blockhash.XXH64, 1, blockhash.Request{}).Reserve(math.MaxInt)
}

func fill(n int, value byte) []byte {
	return slices.Repeat([]byte{value}, n)
}
