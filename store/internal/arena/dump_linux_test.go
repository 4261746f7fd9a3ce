//go:build linux && !race

package arena

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// TestRegionsAreLeftOutOfCoreDumpsAndOnHugePagesIfAsked reads the flags of every
// mapping that a region lies in: "dd" is "do not dump", "hg" is advice to use huge
// pages.
func TestRegionsAreLeftOutOfCoreDumpsAndOnHugePagesIfAsked(t *testing.T) {
	_, err := os.Stat("/sys/kernel/mm/transparent_hugepage")
	kernelHasThem := err == nil
	for _, size := range []int{4096, 3*HugePage + 1} {
		for _, hugePages := range []bool{false, true} {
			r, err := New(size, hugePages)
			require.NoError(t, err)
			from := uint64(uintptr(unsafe.Pointer(&r.raw[0])))
			to := from + uint64(len(r.raw))
			smaps, err := os.ReadFile("/proc/self/smaps")
			if err != nil {
				t.Skipf("LOUD: the system does not tell the flags of mappings: %v", err)
			}
			var covered, overlap, huge uint64
			for line := range strings.Lines(string(smaps)) {
				var start, end uint64
				if n, _ := fmt.Sscanf(line, "%x-%x ", &start, &end); n == 2 {
					overlap = max(min(end, to), max(start, from)) - max(start, from)
				}
				if flags, ok := strings.CutPrefix(line, "VmFlags:"); ok && overlap > 0 {
					require.Contains(t, strings.Fields(flags), "dd")
					covered += overlap
					if slices.Contains(strings.Fields(flags), "hg") {
						huge += overlap
					}
				}
			}
			require.Equal(t, to-from, covered, "all of the region was found")
			want := 0
			if hugePages && kernelHasThem {
				want = size &^ (HugePage - 1) // whole huge pages only
			}
			require.EqualValues(t, want, huge)
			require.NoError(t, r.Release())
		}
	}
}
