package main

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/bench/scale"
)

// smallScale is all of the work, in a moment.
var smallScale = []string{"scale", "--slots", "2048,8192", "--block", "64", "--rounds", "1", "--goroutines", "8", "--gc", "1MiB", "--paper", "1GiB"}

func TestScalePrintsEveryPart(t *testing.T) {
	code, stdout, stderr := bench(smallScale...)
	require.Equal(t, 0, code, stderr)
	for _, want := range []string{
		"get 256", "put 32, evicting 32", "retain and release 256", "remove 32", "bare copy of 256",
		"growth", "8192 blocks: book-keeping 88 bytes a slot", "2048 blocks: book-keeping 88 bytes a slot", "GB/s together", "the collector's goal", "a budget of 1 GiB",
	} {
		require.Contains(t, stdout, want)
	}

	code, stdout, stderr = bench(append(smallScale, "--json")...)
	require.Equal(t, 0, code, stderr)
	var report scale.Report
	require.NoError(t, json.Unmarshal([]byte(stdout), &report))
	for _, cost := range report.Costs {
		require.Len(t, cost.Nanoseconds, 2)
		require.Positive(t, cost.Growth(), cost.Operation)
	}
	require.Len(t, report.Crowds, 3)
	for _, crowd := range report.Crowds {
		require.Positive(t, crowd.BytesASecond)
		require.Less(t, crowd.Missed, 0.5)
	}
	require.EqualValues(t, 170*6144, report.Collector.StoreBytes)
	require.Equal(t, 1000, report.Paper.Puts)
}

func TestScaleUsage(t *testing.T) {
	for name, args := range map[string][]string{
		"an argument":          {"now"},
		"no number":            {"--slots", "many"},
		"too few blocks":       {"--slots", "10"},
		"more than there is":   {"--slots", "1000000000", "--block", "1MiB"},
		"no rounds":            {"--rounds", "0"},
		"no goroutines":        {"--goroutines", "0"},
		"a tiny block":         {"--block", "8"},
		"a store of no block":  {"--gc", "1KiB"},
		"a budget of no block": {"--paper", "1KiB"},
		"an unknown flag":      {"--fast"},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := bench(append([]string{"scale"}, args...)...)
			require.Equal(t, 2, code, stderr)
			require.Empty(t, stdout)
		})
	}
}
