package blockhash_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/internal/golden"
)

func TestEveryRecordedVectorIsReproduced(t *testing.T) {
	data, err := os.ReadFile("../testdata/blockhash-vectors.json")
	require.NoError(t, err)
	report, err := golden.BlockHash(data)
	require.NoError(t, err)
	for _, failure := range report.Failures {
		t.Error(failure)
	}
	assert.Equal(t, 210, report.Passed)
	assert.Zero(t, report.Failed)
}
