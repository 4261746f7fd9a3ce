package main

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/bench/soak"
)

func TestAShortSoakDoesEverythingAndFindsNothing(t *testing.T) {
	code, stdout, stderr := bench("soak", "--minutes", "0.04", "--max-rss-mib", "0", "--json")
	require.Zero(t, code, stdout+stderr)
	var s soak.Summary
	require.NoError(t, json.Unmarshal([]byte(stdout), &s))
	require.Empty(t, s.Violations)
	for what, n := range map[string]int64{
		"scenarios": s.Scenarios, "rows": s.RowsChecked, "puts": s.Puts, "misuses": s.Misused, "reads": s.Reads,
		"absent": s.Absent, "views": s.Views, "leases": s.Leases, "resets": s.Resets, "blocks": s.Blocks,
	} {
		require.Positive(t, n, what)
	}
}

func TestASoakBelowItsMemoryIsAViolation(t *testing.T) {
	code, stdout, stderr := bench("soak", "--minutes", "1", "--max-rss-mib", "1")
	if code == 0 {
		t.Skip("LOUD: resident memory is not measured here")
	}
	require.Equal(t, 1, code)
	require.Contains(t, stdout, "resident memory")
	require.Contains(t, stderr, "violations")
}

func TestSoakMisuse(t *testing.T) {
	for _, args := range [][]string{{"soak", "now"}, {"soak", "--minutes", "0"}, {"soak", "--minutes", "NaN"}, {"soak", "--max-rss-mib", "-1"}} {
		code, _, _ := bench(args...)
		require.Equal(t, 2, code, "%v", args)
	}
}
