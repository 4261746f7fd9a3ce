package blockhash_test

import (
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/blockhash"
)

func TestTheLayoutOfXXH64(t *testing.T) {
	parent := mustParse(t, "0102030405060708")
	for _, tc := range []struct {
		name  string
		extra []blockhash.ExtraKey
		want  string
	}{
		{"tokens alone", nil, "0807060504030201" + "01000000" + "ffffffff"},
		{
			"every kind of key",
			[]blockhash.ExtraKey{
				blockhash.LoRAKey("L"), blockhash.ImageKey("i", -2), blockhash.BareImageKey("b"),
				blockhash.SaltKey("S"), blockhash.EmbedsKey([]byte{0xee}),
			},
			"0807060504030201" + "01000000" + "ffffffff" +
				"01" + "0100000000000000" + "4c" +
				"04" + "0100000000000000" + "69" + "feffffffffffffff" +
				"03" + "0100000000000000" + "62" +
				"02" + "0100000000000000" + "53" +
				"05" + "0100000000000000" + "ee",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			preimage, err := blockhash.AppendPreimage(nil, blockhash.XXH64, parent, []uint32{1, 1<<32 - 1}, tc.extra...)
			require.NoError(t, err)
			assert.Equal(t, tc.want, hex.EncodeToString(preimage))
		})
	}
	// XXH64 of nothing with seed 0, as its specification lists it.
	root, err := blockhash.SeedRoot(blockhash.XXH64, "")
	require.NoError(t, err)
	assert.Equal(t, "ef46db3751d8e999", root.String())
}

// Public case PC-097 (vLLM issue 44701).
func TestNamespacesOfXXH64NeverMeet(t *testing.T) {
	root, err := blockhash.DefaultRoot(blockhash.XXH64)
	require.NoError(t, err)
	lora, salt, image := blockhash.LoRAKey, blockhash.SaltKey, blockhash.BareImageKey
	seen := map[blockhash.Hash]int{}
	for i, extra := range [][]blockhash.ExtraKey{
		nil,
		{lora("x")},
		{salt("x")},
		{image("x")},
		{blockhash.ImageKey("x", 0)},
		{blockhash.EmbedsKey([]byte("x"))},
		{lora("a"), salt("bc")},
		{lora("ab"), salt("c")},
		{lora("abc")},
		{lora("a"), image("bc")},
		{lora("a"), lora("bc")},
		{lora("")},
	} {
		h, err := blockhash.HashBlock(blockhash.XXH64, root, []uint32{1, 2}, extra...)
		require.NoError(t, err)
		if other, met := seen[h]; met {
			t.Errorf("keys %d and %d give one hash", other, i)
		}
		seen[h] = i
	}
}

// The other side of PC-097: what the engine does has to be done too.
func TestALoRAEqualsASaltWhereTheEngineSaysSo(t *testing.T) {
	for _, a := range []blockhash.Algorithm{blockhash.SHA256, blockhash.SHA256CBOR} {
		root, err := blockhash.DefaultRoot(a)
		require.NoError(t, err)
		lora, err := blockhash.HashBlock(a, root, []uint32{1}, blockhash.LoRAKey("x"))
		require.NoError(t, err)
		salt, err := blockhash.HashBlock(a, root, []uint32{1}, blockhash.SaltKey("x"))
		require.NoError(t, err)
		assert.Equal(t, lora, salt)
	}
}
