//go:build linux && !race

package arena

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// TestPagesThatCannotBeHadAreAnErrorOfPopulateAndNoCrash populates pages behind the
// end of a file, which the system can never provide: a write to them would end the
// process.
func TestPagesThatCannotBeHadAreAnErrorOfPopulateAndNoCrash(t *testing.T) {
	size := os.Getpagesize()
	fine, err := New(size, false)
	require.NoError(t, err)
	defer func() { require.NoError(t, fine.Release()) }()
	if err := unix.Madvise(fine.Bytes(), unix.MADV_POPULATE_WRITE); err != nil {
		t.Skipf("LOUD: this kernel cannot populate pages, so that a lack of memory shows at the first write: %v", err)
	}
	file, err := os.Create(filepath.Join(t.TempDir(), "empty"))
	require.NoError(t, err)
	defer file.Close()
	raw, err := unix.Mmap(int(file.Fd()), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	require.NoError(t, err)
	r := &Region{raw: raw, bytes: raw}
	require.ErrorContains(t, r.Populate(), "populating")
	require.NoError(t, r.Release(), "it can be given back all the same")
}
