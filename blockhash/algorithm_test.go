package blockhash_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/blockhash"
)

func TestAlgorithmsHaveTheNamesOfTheEngine(t *testing.T) {
	sizes := map[string]int{"sha256": 32, "sha256_cbor": 32, "xxhash": 16, "xxhash_cbor": 16, "xxh64": 8}
	for name, size := range sizes {
		a, err := blockhash.ParseAlgorithm(name)
		require.NoError(t, err)
		assert.Equal(t, name, a.String())
		assert.Equal(t, size, a.Size())
	}
	for _, name := range []string{"", "SHA256", "sha256 ", "builtin", "sha256_cbor_64bit"} {
		_, err := blockhash.ParseAlgorithm(name)
		require.ErrorIs(t, err, blockhash.ErrAlgorithm, "%q", name)
	}
	unknown := blockhash.Algorithm(5)
	assert.Equal(t, "Algorithm(5)", unknown.String())
	assert.Zero(t, unknown.Size())
}

func TestEveryEntryRefusesAnUnknownAlgorithm(t *testing.T) {
	const unknown = blockhash.Algorithm(5)
	for name, call := range map[string]func() error{
		"SeedRoot":    func() error { _, err := blockhash.SeedRoot(unknown, ""); return err },
		"DefaultRoot": func() error { _, err := blockhash.DefaultRoot(unknown); return err },
		"HashBlock":   func() error { _, err := blockhash.HashBlock(unknown, blockhash.Hash{}, []uint32{1}); return err },
		"AppendPreimage": func() error {
			_, err := blockhash.AppendPreimage(nil, unknown, blockhash.Hash{}, []uint32{1})
			return err
		},
		"FindSeed": func() error {
			_, _, err := blockhash.FindSeed(unknown, slices.Values([]string{""}), 0, []uint32{1})
			return err
		},
	} {
		assert.ErrorIs(t, call(), blockhash.ErrAlgorithm, name)
	}
}

func TestTheDefaultRootIsKnownUnlessItIsRandom(t *testing.T) {
	for _, a := range algorithms {
		root, err := blockhash.DefaultRoot(a)
		if a == blockhash.XXHash || a == blockhash.XXHashCBOR {
			require.ErrorIs(t, err, blockhash.ErrNoDefaultRoot)
			continue
		}
		require.NoError(t, err)
		want, err := blockhash.SeedRoot(a, blockhash.DefaultSeed)
		require.NoError(t, err)
		assert.Equal(t, want, root)
	}
	_, err := blockhash.SeedRoot(blockhash.SHA256, "\xff")
	require.ErrorIs(t, err, blockhash.ErrText)
}

func TestFindSeedTriesEveryCandidateOnce(t *testing.T) {
	tokens := []uint32{1, 2, 3, 4}
	salt := blockhash.SaltKey("tenant-7")
	for _, a := range algorithms {
		root, err := blockhash.SeedRoot(a, "42")
		require.NoError(t, err)
		first, err := blockhash.HashBlock(a, root, tokens, salt)
		require.NoError(t, err)

		seed, learned, err := blockhash.FindSeed(a, slices.Values([]string{"", "0", "42", "\xff"}), first.Low64(), tokens, salt)
		require.NoError(t, err, "candidates after the right one are not looked at")
		assert.Equal(t, "42", seed)
		assert.Equal(t, root, learned)

		_, _, err = blockhash.FindSeed(a, slices.Values([]string{"", "0"}), first.Low64(), tokens, salt)
		require.ErrorIs(t, err, blockhash.ErrNoSeed)
		assert.ErrorContains(t, err, "2 tried")
		_, _, err = blockhash.FindSeed(a, slices.Values([]string{"42"}), first.Low64(), tokens)
		require.ErrorIs(t, err, blockhash.ErrNoSeed, "the salt counts")
		_, _, err = blockhash.FindSeed(a, slices.Values([]string{"\xff"}), first.Low64(), tokens, salt)
		require.ErrorIs(t, err, blockhash.ErrText)
		_, _, err = blockhash.FindSeed(a, slices.Values([]string{"42"}), first.Low64(), nil)
		require.ErrorIs(t, err, blockhash.ErrBlockTokens)
	}
}

func TestABlockThatCannotBeIsRefused(t *testing.T) {
	root := mustParse(t, "0000000000000000000000000000000000000000000000000000000000000001")
	for _, tc := range []struct {
		name   string
		parent blockhash.Hash
		tokens []uint32
		extra  blockhash.ExtraKey
		want   error
	}{
		{"no parent", blockhash.Hash{}, []uint32{1}, blockhash.LoRAKey("a"), blockhash.ErrSize},
		{"a parent of 8 bytes", mustParse(t, "0000000000000001"), []uint32{1}, blockhash.LoRAKey("a"), blockhash.ErrSize},
		{"no token", root, nil, blockhash.LoRAKey("a"), blockhash.ErrBlockTokens},
		{"text that is not UTF-8", root, []uint32{1}, blockhash.ImageKey("\xc3", 0), blockhash.ErrText},
		{"bytes that are too long", root, []uint32{1}, blockhash.EmbedsKey(fill(blockhash.MaxText+1, 0)), blockhash.ErrText},
		{"a key that is none", root, []uint32{1}, blockhash.ExtraKey{}, blockhash.ErrText},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h, err := blockhash.HashBlock(blockhash.SHA256, tc.parent, tc.tokens, tc.extra)
			require.ErrorIs(t, err, tc.want)
			assert.True(t, h.IsZero())
			b, err := blockhash.AppendPreimage([]byte("before"), blockhash.SHA256, tc.parent, tc.tokens, tc.extra)
			require.ErrorIs(t, err, tc.want)
			assert.Equal(t, "before", string(b))
		})
	}
}

func TestCoarseHashesNeedAWholeRatio(t *testing.T) {
	fine := newChain(t, blockhash.XXH64, 1, blockhash.Request{}).Append(1, 2, 3, 4, 5)
	coarse, err := blockhash.CoarseView(fine, 2)
	require.NoError(t, err)
	assert.Equal(t, []blockhash.Hash{fine[1], fine[3]}, coarse)
	concat, err := blockhash.ConcatView(fine, 2)
	require.NoError(t, err)
	require.Len(t, concat, 2)
	assert.Equal(t, append(fine[2].Bytes(), fine[3].Bytes()...), concat[1])
	same, err := blockhash.CoarseView(fine, 1)
	require.NoError(t, err)
	assert.Equal(t, fine, same)
	none, err := blockhash.CoarseView(fine, 6)
	require.NoError(t, err)
	assert.Empty(t, none)
	for _, ratio := range []int{0, -1} {
		_, err = blockhash.CoarseView(fine, ratio)
		require.ErrorIs(t, err, blockhash.ErrBlockTokens)
		_, err = blockhash.ConcatView(fine, ratio)
		require.ErrorIs(t, err, blockhash.ErrBlockTokens)
	}
}

func TestErrorsSayWhatIsWrong(t *testing.T) {
	_, err := blockhash.ParseToken("4294967296")
	assert.EqualError(t, err, `blockhash: not a token: "4294967296" at offset 0 is not within 0..4294967295`)
	err = &blockhash.RequestError{Field: "Images", Index: 3, Detail: "0 tokens, want at least 1"}
	assert.EqualError(t, err, "blockhash: impossible request: Images[3]: 0 tokens, want at least 1")
	assert.False(t, errors.Is(err, blockhash.ErrText))
}
