package golden_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/internal/golden"
)

// judge checks what a replay may give: a report that adds up, or an error.
func judge(t *testing.T, report *golden.Report, err error) {
	t.Helper()
	if err != nil {
		require.Nil(t, report)
		require.NotEmpty(t, err.Error())
		return
	}
	require.GreaterOrEqual(t, min(report.Passed, report.Deviates, report.Failed), 0)
	require.Equal(t, report.Failed > 0, len(report.Failures) > 0)
	require.GreaterOrEqual(t, len(report.Failures), report.Failed)
	for _, failure := range report.Failures {
		require.Less(t, len(failure.Want)+len(failure.Got), 16<<10)
	}
}

// firstTraces is a recording of the first n traces, or cases, of a recording, each
// with its first operations.
func firstTraces(f *testing.F, name, list string, n int) []byte {
	f.Helper()
	var file map[string]json.RawMessage
	require.NoError(f, json.Unmarshal(recording(f, name), &file))
	var traces []map[string]json.RawMessage
	require.NoError(f, json.Unmarshal(file[list], &traces))
	traces = traces[:min(n, len(traces))]
	for _, trace := range traces {
		for _, key := range []string{"ops", "events"} {
			var steps []json.RawMessage
			if trace[key] == nil || json.Unmarshal(trace[key], &steps) != nil {
				continue
			}
			data, err := json.Marshal(steps[:min(12, len(steps))])
			require.NoError(f, err)
			trace[key] = data
		}
	}
	data, err := json.Marshal(traces)
	require.NoError(f, err)
	file[list] = data
	data, err = json.Marshal(file)
	require.NoError(f, err)
	return data
}

// FuzzFile replays what may be a recording of any kind.
func FuzzFile(f *testing.F) {
	for name, list := range map[string]string{
		"blockhash-vectors.json": "vectors", "prefix-cache-traces.json": "traces", "store-ops.json": "traces",
		"prefix-cache-eagle-mixed.json": "traces",
		"buffer-ops.json":               "traces", "connector-steps.json": "traces", "connector-holes.json": "traces", "npy.json": "cases",
	} {
		f.Add(firstTraces(f, name, list, 2))
	}
	for _, text := range hostileRecordings {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		kind, report, err := golden.File(data)
		if report != nil {
			require.NotEmpty(t, kind)
		}
		judge(t, report, err)
	})
}

// FuzzBuffer replays operations of a buffer of tails.
func FuzzBuffer(f *testing.F) {
	f.Add(firstTraces(f, "buffer-ops.json", "traces", 1))
	f.Add([]byte(`{"traces":[{"id":"T","layers":1,"top_k":1,"dtype":"uint8","block":4,"max_num_seqs":1,"max_num_batched_tokens":4,"max_concurrent_batches":1,"pool_blocks":3,"ops":[
		{"op":"capture","req":"a","start":0,"n":5,"rows":"0011223344","completed":[["A",0,"00112233",false]],"result":"ok","free":2,"owned":0,"tails":{"a":[4,1]}},
		{"op":"retain","block":"A","copied":true,"rows":"00112233","result":"ok","free":1,"owned":1,"tails":{"a":[4,1]}},
		{"op":"clobber"},{"op":"peek","block":"A","rows":"00112233"},
		{"op":"read","req":"a","start":4,"end":5,"rows":"44","result":"ok","free":1,"owned":1,"tails":{"a":[4,1]}},
		{"op":"release","block":"A","result":"ok","free":2,"owned":0,"tails":{"a":[4,1]}},
		{"op":"discard","req":"a","free":3,"owned":0,"tails":{}},{"op":"reset","free":3,"owned":0,"tails":{}}]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		report, err := golden.Buffer(data)
		judge(t, report, err)
	})
}

// FuzzNpy replays npy files.
func FuzzNpy(f *testing.F) {
	f.Add(firstTraces(f, "npy.json", "cases", 3))
	f.Add([]byte(`{"cases":[{"id":"a","npy":"k05VTVBZAgD/////e30=","expect":"error"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		report, err := golden.Npy(data)
		judge(t, report, err)
	})
}
