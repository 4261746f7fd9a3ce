package arena_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/store/internal/arena"
)

func TestARegionIsZeroedAndOfTheSizeAskedFor(t *testing.T) {
	for _, size := range []int{1, 8, 4095, 4096, arena.HugePage - 1, arena.HugePage, arena.HugePage + 1, 3 * arena.HugePage} {
		for _, hugePages := range []bool{false, true} {
			r, err := arena.New(size, hugePages)
			require.NoError(t, err)
			b := r.Bytes()
			require.Len(t, b, size)
			require.Equal(t, size, cap(b))
			require.Equal(t, size, bytes.Count(b, []byte{0}))
			b[0], b[size-1] = 1, 2
			require.NoError(t, r.Release())
			require.NoError(t, r.Release(), "a second release is harmless")
		}
	}
}

func TestPopulateLeavesTheRegionZeroed(t *testing.T) {
	r, err := arena.New(5<<20+123, true)
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Release()) }()
	require.NoError(t, r.Populate())
	require.Equal(t, len(r.Bytes()), bytes.Count(r.Bytes(), []byte{0}))
}

func TestMemoryThatCannotBeHadIsAnError(t *testing.T) {
	if ^uint(0)>>32 == 0 {
		t.Skip("LOUD: the address space of this platform is too small to ask for too much")
	}
	tooMuch := uint64(1) << 55
	_, err := arena.New(int(tooMuch), true)
	require.ErrorContains(t, err, "bytes")
	_, err = arena.New(int(^uint(0)>>1), true)
	require.Error(t, err)
}
