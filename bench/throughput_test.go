package main

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/bench/throughput"
)

func TestThroughputPrintsEveryPhase(t *testing.T) {
	small := []string{"throughput", "--budget", "256KiB", "--block", "64,128", "--source", "1MiB", "--rounds", "2"}
	code, stdout, stderr := bench(small...)
	require.Equal(t, 0, code, stderr)
	for _, want := range []string{
		"(4096 slots), 2 rounds", "(2048 slots), 2 rounds", "put cold", "put, 99 % retained", "get 64", "two readers",
		"reader beside writer", "heap objects", "bytes a slot",
	} {
		require.Contains(t, stdout, want)
	}

	code, stdout, stderr = bench(append(small, "--json")...)
	require.Equal(t, 0, code, stderr)
	var report throughputReport
	require.NoError(t, json.Unmarshal([]byte(stdout), &report))
	require.Len(t, report.Summaries, 2)
	own, found := report.Summaries[0].Line(throughput.StoreName)
	require.True(t, found)
	require.Positive(t, report.Summaries[0].Cell(own, throughput.PhaseSteady).Ratio)
	require.NotEmpty(t, report.Machine)
}

func TestThroughputUsage(t *testing.T) {
	for name, args := range map[string][]string{
		"an argument":        {"now"},
		"no rounds":          {"--rounds", "0"},
		"no size":            {"--budget", "much"},
		"a budget too small": {"--budget", "1KiB"},
		"a tiny block":       {"--block", "8"},
		"an unknown flag":    {"--fast"},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := bench(append([]string{"throughput"}, args...)...)
			require.Equal(t, 2, code, stderr)
			require.Empty(t, stdout)
		})
	}
}
