package arena

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

// Systems that cannot be asked to populate memory have it touched page by page.
func TestTouchingThePagesLeavesThemZeroed(t *testing.T) {
	r, err := New(3*4096+5, false)
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Release()) }()
	touchPages(r.Bytes())
	require.Equal(t, len(r.Bytes()), bytes.Count(r.Bytes(), []byte{0}))
	touchPages(nil)
}

func TestARegionKnowsWhatItMapsOutsideOfTheHeap(t *testing.T) {
	before := MappedBytes()
	r, err := New(HugePage+1, true)
	require.NoError(t, err)
	if offHeap {
		require.EqualValues(t, 2*HugePage+1, r.Mapped(), "alignment costs a huge page")
	} else {
		require.Zero(t, r.Mapped())
	}
	require.Equal(t, before+r.Mapped(), MappedBytes(), "and is counted with all others")
	require.NoError(t, r.Release())
	require.NoError(t, r.Release())
	require.Zero(t, r.Mapped())
	require.Equal(t, before, MappedBytes())

	r = nil
	require.Zero(t, r.Mapped(), "nor does one that was never made")
	require.NoError(t, r.Release())
}
