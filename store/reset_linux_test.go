//go:build linux && !race

package store

import (
	"runtime/debug"
	"strconv"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// residentPages counts the pages of b that the system has backed.
func residentPages(t *testing.T, b []byte) int {
	t.Helper()
	pages := make([]byte, (len(b)+unix.Getpagesize()-1)/unix.Getpagesize())
	_, _, errno := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), uintptr(unsafe.Pointer(&pages[0])))
	require.Zero(t, errno)
	n := 0
	for _, page := range pages {
		n += int(page & 1)
	}
	return n
}

// TestAResetReadsNothingThatGrowsWithTheStore takes away the right to read nodes, index
// and history: a reset that looked at them would be a fault.
func TestAResetReadsNothingThatGrowsWithTheStore(t *testing.T) {
	const slots, blockBytes = 5000, 8
	for _, verify := range []bool{false, true} {
		s, err := New(Options{MaxBytes: slots * blockBytes, BlockBytes: blockBytes, Verify: verify, NoHugePages: true})
		require.NoError(t, err)
		fillUp(t, s, 0)
		held := []pinned{pin(t, s, 1000, false), pin(t, s, 2000, true)}

		nodes := s.memory.nodeRegion.Bytes()[unix.Getpagesize():] // behind the end of the recency list
		forbidden := [][]byte{nodes, s.memory.table.cellRegion.Bytes(), s.memory.table.markRegion.Bytes()}
		for _, b := range forbidden {
			require.NoError(t, unix.Mprotect(b, unix.PROT_NONE))
		}
		fault := func() (fault any) {
			defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
			defer func() { fault = recover() }()
			_, err = s.Reset()
			return nil
		}()
		require.NoError(t, unix.Mprotect(nodes, unix.PROT_READ|unix.PROT_WRITE))
		require.Nil(t, fault)
		require.NoError(t, err)
		for _, p := range held {
			p.end()
		}
		checkSlots(t, s)
		require.NoError(t, s.Close())
	}
}

func TestAResetLeavesNothingOfTheIndexResident(t *testing.T) {
	if strconv.IntSize == 32 {
		t.Skip("LOUD: needs a mapping of 100 GiB")
	}
	for _, used := range []uint64{0, 100} {
		s, err := New(Options{MaxBytes: 100 << 30, BlockBytes: 6 << 10})
		require.NoError(t, err)
		for n := range used {
			_, err := s.Put(Batch{Blocks: []Block{blockOf(n, 6<<10)}})
			require.NoError(t, err)
		}
		nodes := residentPages(t, s.memory.nodeRegion.Bytes())
		for range 3 {
			_, err := s.Reset()
			require.NoError(t, err)
		}
		require.LessOrEqual(t, residentPages(t, s.memory.nodeRegion.Bytes()), max(nodes, 512), "nodes: one huge page for the list's end")
		require.Zero(t, residentPages(t, s.memory.table.cellRegion.Bytes()), "index")
		require.Zero(t, residentPages(t, s.memory.table.markRegion.Bytes()), "history")
		require.NoError(t, s.Close())
	}
	// All of it used, and populated: what New made resident stays so.
	s, err := New(Options{MaxBytes: 1 << 20, BlockBytes: 8, Populate: true})
	require.NoError(t, err)
	fillUp(t, s, 0)
	for range 2 {
		for _, region := range s.memory.regions() {
			require.Equal(t, pagesOf(region.Bytes()), residentPages(t, region.Bytes()))
		}
		_, err = s.Reset()
		require.NoError(t, err)
	}
	require.NoError(t, s.Close())
}

// pagesOf is how many pages b has.
func pagesOf(b []byte) int { return (len(b) + unix.Getpagesize() - 1) / unix.Getpagesize() }

func TestPopulateMakesAllOfTheStoreResident(t *testing.T) {
	for _, populate := range []bool{false, true} {
		s, err := New(Options{MaxBytes: 8 << 20, BlockBytes: 64, Verify: true, Populate: populate, NoHugePages: true})
		require.NoError(t, err)
		for _, region := range s.memory.regions() {
			want := 0
			if populate {
				want = pagesOf(region.Bytes())
			}
			require.Equal(t, want, residentPages(t, region.Bytes()))
		}
		require.NoError(t, s.Close())
	}
}

func TestAThousandResetsLeaveNoMemoryBehind(t *testing.T) {
	s, err := New(Options{MaxBytes: 1 << 30, BlockBytes: 6 << 10})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	before := Process().MappedBytes
	for n := range uint64(1000) {
		_, err := s.Put(Batch{Generation: n, Blocks: []Block{blockOf(n, 6<<10)}})
		require.NoError(t, err)
		_, err = s.Reset()
		require.NoError(t, err)
	}
	require.Equal(t, before, Process().MappedBytes)
	require.LessOrEqual(t, residentPages(t, s.memory.rowRegion.Bytes()), 512, "every generation begins at the first slot")
}
