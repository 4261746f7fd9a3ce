package prefixcache_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/internal/golden"
)

func TestRecordedTracesReplay(t *testing.T) {
	for _, file := range []struct {
		name       string
		operations int
	}{
		{"prefix-cache-traces.json", 612},
		{"prefix-cache-eagle-mixed.json", 1440},
	} {
		t.Run(file.name, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join("..", "testdata", file.name))
			require.NoError(t, err)
			report, err := golden.PrefixCache(data)
			require.NoError(t, err)
			for i, failure := range report.Failures {
				if i == 10 {
					break
				}
				t.Error(failure)
			}
			require.Equal(t, file.operations, report.Passed)
			require.Zero(t, report.Failed)
		})
	}
}
