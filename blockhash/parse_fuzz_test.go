package blockhash_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/blockhash"
)

// FuzzParse reads the hexadecimal form of a digest.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"", "00", "0011223344556677", "00112233445566778899aabbccddeeff", strings.Repeat("0f", 32), strings.Repeat("F0", 32), strings.Repeat("0", 65), "0x11223344556677", "001122334455667g", strings.Repeat("a", 1000)} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		h, err := blockhash.Parse(text)
		if err != nil {
			require.True(t, h.IsZero())
			require.Less(t, len(err.Error()), 400)
			return
		}
		require.Equal(t, strings.ToLower(text), h.String())
		require.Contains(t, []int{8, 16, 32}, h.Size())
		again, err := blockhash.FromBytes(h.Bytes())
		require.NoError(t, err)
		require.Equal(t, h, again)
	})
}

// FuzzNames reads the names of algorithms, and single tokens.
func FuzzNames(f *testing.F) {
	for _, text := range []string{"sha256", "sha256_cbor", "xxhash", "xxhash_cbor", "xxh64", "SHA256", "md5", "", "7", "4294967295", "4294967296", "-1", "+1", " 1", "0x1"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if a, err := blockhash.ParseAlgorithm(text); err == nil {
			require.Equal(t, text, a.String())
		}
		token, err := blockhash.ParseToken(text)
		want, wantErr := strconv.ParseUint(text, 10, 32)
		require.Equal(t, wantErr == nil, err == nil, "%q", text)
		if err == nil {
			require.EqualValues(t, want, token)
		} else {
			require.ErrorIs(t, err, blockhash.ErrToken)
		}
	})
}
