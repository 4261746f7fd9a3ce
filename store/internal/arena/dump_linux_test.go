//go:build linux && !race

package arena

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// TestRegionsAreLeftOutOfCoreDumps reads the flags of every mapping that a region
// lies in: "dd" is "do not dump".
func TestRegionsAreLeftOutOfCoreDumps(t *testing.T) {
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
			covered := uint64(0)
			overlap := uint64(0)
			for line := range strings.Lines(string(smaps)) {
				var start, end uint64
				if n, _ := fmt.Sscanf(line, "%x-%x ", &start, &end); n == 2 {
					overlap = max(min(end, to), max(start, from)) - max(start, from)
				}
				if flags, ok := strings.CutPrefix(line, "VmFlags:"); ok && overlap > 0 {
					require.Contains(t, strings.Fields(flags), "dd")
					covered += overlap
				}
			}
			require.Equal(t, to-from, covered, "all of the region was found")
			require.NoError(t, r.Release())
		}
	}
}
