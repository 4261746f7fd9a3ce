package blockhash_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/blockhash"
)

func TestDigestsOfOtherLengthsAreRefused(t *testing.T) {
	for size := range 70 {
		h, err := blockhash.FromBytes(fill(size, 0xab))
		text := strings.Repeat("ab", size)
		parsed, parseErr := blockhash.Parse(text)
		if size == 8 || size == 16 || size == 32 {
			require.NoError(t, err)
			require.NoError(t, parseErr)
			assert.Equal(t, h, parsed)
			assert.Equal(t, size, h.Size())
			assert.Equal(t, text, h.String())
			assert.Equal(t, fill(size, 0xab), h.Bytes())
			continue
		}
		require.ErrorIs(t, err, blockhash.ErrSize)
		require.ErrorIs(t, parseErr, blockhash.ErrSize)
		assert.True(t, h.IsZero())
	}
	for _, text := range []string{"zz", "abc", strings.Repeat("g", 64)} {
		_, err := blockhash.Parse(text)
		require.Error(t, err, "%q", text)
	}
}

func TestAShortDigestIsNotALongOneWithZeros(t *testing.T) {
	short := mustParse(t, "0102030405060708")
	long := mustParse(t, "01020304050607080000000000000000")
	assert.NotEqual(t, short, long)
	assert.Equal(t, short.First64(), long.First64())
	assert.NotEqual(t, short.Low64(), long.Low64())
}

func TestTheIntegersOfAHash(t *testing.T) {
	h := mustParse(t, "ffffffffffffffff"+"0000000000000001"+"0000000000000002"+"ffffffffffffffff")
	assert.Equal(t, uint64(math.MaxUint64), h.Low64())
	assert.Equal(t, int64(-1), h.First64())
	var zero blockhash.Hash
	assert.Zero(t, zero.Low64())
	assert.Zero(t, zero.First64())
	assert.Zero(t, zero.Size())
	assert.Equal(t, []byte{0, 0, 1, 2}, zero.AppendGroupKey(nil, 258))
}
