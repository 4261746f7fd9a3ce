package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// bench runs a command line as the program would.
func bench(args ...string) (code int, stdout, stderr string) {
	var out, err bytes.Buffer
	code = run(args, strings.NewReader(""), &out, &err)
	return code, out.String(), err.String()
}

func TestExitCodesTellUsageFromData(t *testing.T) {
	damaged := filepath.Join(t.TempDir(), "damaged.json")
	require.NoError(t, os.WriteFile(damaged, []byte("{\"traces\":[\n{\"object_nbytes\":8,"), 0o600))
	empty := filepath.Join(t.TempDir(), "empty.json")
	require.NoError(t, os.WriteFile(empty, nil, 0o600))
	other := filepath.Join(t.TempDir(), "other.json")
	require.NoError(t, os.WriteFile(other, []byte(`{"traces":[{"what":"else"}]}`), 0o600))

	for name, tc := range map[string]struct {
		args   []string
		code   int
		stderr string
	}{
		"help":                     {[]string{"-h"}, 0, ""},
		"an unknown command":       {[]string{"frobnicate"}, 2, "unknown command"},
		"an unknown flag":          {[]string{"--frobnicate"}, 2, "unknown flag"},
		"verify of nothing":        {[]string{"verify"}, 2, "at least one file"},
		"verify of no file":        {[]string{"verify", "no such file"}, 1, "no such file"},
		"verify of a cut-off file": {[]string{"verify", damaged}, 1, "line 2"},
		"verify of an empty file":  {[]string{"verify", empty}, 1, "line 1"},
		"verify of something else": {[]string{"verify", other}, 1, "not a recording"},
		"an unknown model":         {[]string{"--model", "gpt-2"}, 2, "gpt-2"},
		"a profile of nothing":     {[]string{"--profile", "0,0,0"}, 2, "layers"},
		"no KV cache":              {[]string{"--kv-blocks", "1"}, 2, "null block"},
		"a huge KV cache":          {[]string{"--kv-blocks", "99999999999"}, 2, "KVBlocks"},
		"no live request":          {[]string{"--live", "0"}, 2, "Requests"},
		"negative sessions":        {[]string{"--sessions", "-1"}, 2, "essions"},
		"a block of no tokens":     {[]string{"--block", "0"}, 2, "block tokens"},
		"a block too large":        {[]string{"--block", "2147483647"}, 2, "block bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := bench(tc.args...)
			require.Equal(t, tc.code, code, stderr)
			require.Contains(t, stderr, tc.stderr)
			if tc.code != 0 {
				require.Empty(t, stdout)
			}
		})
	}
}

func TestVerifyCountsAndNamesWhatDiffers(t *testing.T) {
	files := []string{
		"../testdata/blockhash-vectors.json",
		"../testdata/prefix-cache-traces.json",
		"../testdata/store-ops.json",
		"../testdata/prefix-cache-eagle-mixed.json",
	}
	code, stdout, stderr := bench(append([]string{"verify"}, files...)...)
	require.Zero(t, code, stderr)
	require.True(t, strings.HasSuffix(stdout, "\n6702 passed, 0 failed\n"), stdout)

	data, err := os.ReadFile(files[2])
	require.NoError(t, err)
	wrong := filepath.Join(t.TempDir(), "wrong.json")
	data = bytes.Replace(data, []byte(`"tags":[1,4]`), []byte(`"tags":[1,5]`), 1)
	require.NoError(t, os.WriteFile(wrong, data, 0o600))
	code, stdout, stderr = bench("verify", wrong)
	require.Equal(t, 1, code)
	require.Contains(t, stdout, "T1 op 5: rows: expected [5 1], got [4 1]")
	require.True(t, strings.HasSuffix(stdout, "\n4439 passed, 1 failed\n"), stdout)
	require.Contains(t, stderr, "1 of 4984")
}

func TestTheMainJobFindsASafeBudgetAndChecksEveryRow(t *testing.T) {
	args := []string{"--sessions", "6", "--kv-blocks", "900", "--live", "3", "--json"}
	code, stdout, stderr := bench(args...)
	require.Zero(t, code, stderr)
	var report mainReport
	require.NoError(t, json.Unmarshal([]byte(stdout), &report))
	require.GreaterOrEqual(t, len(report.Runs), len(storeFractions))
	lost := 0
	for i, run := range report.Runs {
		require.Zero(t, run.WrongRows)
		require.Positive(t, run.RowsChecked)
		require.Zero(t, run.Rejected)
		require.Equal(t, run.Requests, run.Finished+run.Lost)
		require.LessOrEqual(t, run.ResidentBytes, run.MaxBytes+88*int64(run.Slots))
		require.Equal(t, run.Slots >= report.SafeSlots, run.Safe(), "%d slots", run.Slots)
		lost += run.Lost
		if i > 0 {
			require.Less(t, run.Slots, report.Runs[i-1].Slots, "largest first")
		}
	}
	require.Positive(t, lost, "no size was too small: the test proved nothing")
	require.Less(t, report.SafeSlots, report.KVBlocks)

	again, text, _ := bench(args...)
	require.Zero(t, again)
	require.Equal(t, stdout, text, "the same seed gives the same report")
}

func TestTheMainJobPrintsATable(t *testing.T) {
	code, stdout, stderr := bench("--sessions", "3", "--kv-blocks", "900", "--profile", "2,2,300")
	require.Zero(t, code, stderr)
	for _, want := range []string{"KV capacity", "lost rows", "Smallest safe max_bytes", "profile 2,2,300"} {
		require.Contains(t, stdout, want)
	}
}

func TestABudgetThatIsNeverSafeIsSaidToBeSo(t *testing.T) {
	code, stdout, stderr := bench("--sessions", "3", "--kv-blocks", "3")
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, "slots")
}
