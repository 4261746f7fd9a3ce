package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReplayServesATraceAndChecksEveryRow(t *testing.T) {
	code, stdout, stderr := bench("replay", "--trace", committedTrace, "--kv-blocks", "300", "--concurrency", "3", "--json")
	require.Zero(t, code, stderr)
	var reports []replayReport
	require.NoError(t, json.Unmarshal([]byte(stdout), &reports))
	require.Len(t, reports, 4)
	for i, r := range reports {
		require.Zero(t, r.WrongRows)
		require.Positive(t, r.RowsChecked)
		require.Equal(t, r.Requests, r.Finished+r.Lost+r.Rejected)
		if r.Mode != "fail-closed" || r.Fraction == 1 {
			require.Zero(t, r.Lost, "run %d", i)
		}
	}
	require.Positive(t, reports[1].Lost, "half of the slots are enough: the test proved nothing")
	require.Greater(t, reports[2].runPerServed(), reports[0].runPerServed(), "gated hits are computed again")
}

func TestReplayPrintsATable(t *testing.T) {
	code, stdout, stderr := bench("replay", "--trace", committedTrace, "--requests", "5", "--output", "4", "--model", "Mixtral-8x7B", "--runs", "row-gated:0.9, linked")
	require.Zero(t, code, stderr)
	for _, want := range []string{"5 requests", "32 layers x top-2", "row-gated", "linked", "rows checked"} {
		require.Contains(t, stdout, want)
	}
}

func TestReplayMisuse(t *testing.T) {
	for name, args := range map[string][]string{
		"no trace":          {},
		"an argument":       {"--trace", committedTrace, "more"},
		"no concurrency":    {"--trace", committedTrace, "--concurrency", "0"},
		"a negative block":  {"--trace", committedTrace, "--block=-1"},
		"no pool":           {"--trace", committedTrace, "--kv-blocks", "1"},
		"an unknown mode":   {"--trace", committedTrace, "--runs", "hopeful:1"},
		"a share of none":   {"--trace", committedTrace, "--runs", "linked:0"},
		"a share of NaN":    {"--trace", committedTrace, "--runs", "linked:NaN"},
		"an unknown model":  {"--trace", committedTrace, "--model", "gpt-2"},
		"an unfit profile":  {"--trace", committedTrace, "--profile", "1,9,8"},
		"blocks beyond all": {"--trace", committedTrace, "--kv-blocks", "2000000000"},
	} {
		t.Run(name, func(t *testing.T) {
			code, _, stderr := bench(append([]string{"replay"}, args...)...)
			require.Equal(t, 2, code, stderr)
		})
	}
	damaged := filepath.Join(t.TempDir(), "damaged.jsonl")
	require.NoError(t, os.WriteFile(damaged, []byte(`{"timestamp":0,"input_length":32,"output_length":1,"hash_ids":[1,2]}`+"\n{"), 0o600))
	code, _, stderr := bench("replay", "--trace", damaged, "--block", "16")
	require.Equal(t, 1, code)
	require.Contains(t, stderr, damaged+":2")
}
