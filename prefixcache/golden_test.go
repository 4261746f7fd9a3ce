package prefixcache_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/internal/golden"
)

func TestRecordedTracesReplay(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "testdata", "prefix-cache-traces.json"))
	require.NoError(t, err)
	report, err := golden.PrefixCache(data)
	require.NoError(t, err)
	for i, failure := range report.Failures {
		if i == 10 {
			break
		}
		t.Error(failure)
	}
	require.Equal(t, 612, report.Passed)
	require.Zero(t, report.Failed)
}
