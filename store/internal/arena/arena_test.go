package arena_test

import (
	"bytes"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

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

// TestARegionOfAnySizeIsItsOwnMemory draws sizes around those of pages and huge pages.
func TestARegionOfAnySizeIsItsOwnMemory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := max(1, rapid.SampledFrom([]int{0, 4096, 1 << 16, arena.HugePage, 2 * arena.HugePage}).Draw(t, "near")+rapid.IntRange(-70, 70).Draw(t, "by"))
		hugePages := rapid.Bool().Draw(t, "huge pages")
		r, err := arena.New(size, hugePages)
		require.NoError(t, err)
		other, err := arena.New(size, hugePages)
		require.NoError(t, err)
		if rapid.Bool().Draw(t, "populated") {
			require.NoError(t, r.Populate())
		}
		b := r.Bytes()
		require.Len(t, b, size)
		if size >= arena.HugePage {
			require.Zero(t, uintptr(unsafe.Pointer(&b[0]))%arena.HugePage, "huge regions begin at a huge page")
		}
		places := []int{0, size / 2, size - 1}
		for _, at := range places {
			require.Zero(t, b[at])
		}
		for _, at := range places {
			b[at] = 1
			require.Zero(t, other.Bytes()[at], "nothing is shared")
		}
		require.NoError(t, r.Release())
		require.Zero(t, other.Bytes()[size-1], "and nothing taken along")
		require.NoError(t, other.Release())
		require.Zero(t, r.Mapped())
	})
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
