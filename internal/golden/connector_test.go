package golden_test

import (
	"bytes"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/internal/golden"
)

func replayConnector(t *testing.T, name string) *golden.Report {
	data, err := os.ReadFile("../../testdata/" + name)
	require.NoError(t, err)
	kind, report, err := golden.File(data)
	require.NoError(t, err)
	require.Equal(t, golden.KindConnector, kind)
	return report
}

// The deviations: a read of a waiting block (1), a prompt start at the end of the
// prompt (2 traces of a step and a take), two takes of an empty range, and 8 puts
// without room, which are rolled back.
func TestConnectorStepsReplayAsRecorded(t *testing.T) {
	report := replayConnector(t, "connector-steps.json")
	require.Empty(t, report.Failures)
	require.Zero(t, report.Failed)
	require.Equal(t, 15, report.Deviates)
	require.Equal(t, 4988, report.Passed)
}

// Each hole shows in Reference mode. In the default mode the same events are served.
func TestConnectorHolesShowInReferenceModeAndAreClosedByDefault(t *testing.T) {
	report := replayConnector(t, "connector-holes.json")
	require.Empty(t, report.Failures)
	require.Zero(t, report.Failed)
	require.Equal(t, 3, report.Deviates)
	require.Equal(t, 1203, report.Passed)
}

func TestAWrongConnectorRecordingIsNoticed(t *testing.T) {
	for name, change := range map[string][3]string{
		"other metadata":       {"connector-steps.json", `"fin":["c","a"]`, `"fin":["a","c"]`},
		"other rows":           {"connector-steps.json", `"out":[["a",0,"8ab9`, `"out":[["a",0,"8ab8`},
		"another output start": {"connector-steps.json", `"out":[["a",0,"8ab9`, `"out":[["a",1,"8ab9`},
		"another error":        {"connector-steps.json", `"kind":"capture_gap"`, `"kind":"capture_backwards"`},
		"another phase":        {"connector-steps.json", `"phase":"commit","kind":"capture_gap"`, `"phase":"apply","kind":"capture_gap"`},
		"another count":        {"connector-steps.json", `"refs":{"0:0":1,"0:1":1}`, `"refs":{"0:0":1,"0:1":2}`},
		"another order":        {"connector-steps.json", `"lru":["0:3","0:2","0:1","0:0"],"refs":{}`, `"lru":["0:3","0:2","0:0","0:1"],"refs":{}`},
		"another free count":   {"connector-steps.json", `"free":12`, `"free":11`},
		"another take":         {"connector-steps.json", `"result":"invalid_range"`, `"result":"ok"`},
		"a missing read":       {"connector-steps.json", `["q","missing"]`, `["q",8,"00"]`},
		"another token":        {"connector-holes.json", `"tokens":[833,`, `"tokens":[834,`},
	} {
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile("../../testdata/" + change[0])
			require.NoError(t, err)
			changed := bytes.Replace(data, []byte(change[1]), []byte(change[2]), 1)
			require.NotEqual(t, data, changed)
			report, err := golden.Connector(changed)
			require.NoError(t, err)
			require.NotZero(t, report.Failed)
			require.NotEmpty(t, report.Failures)
		})
	}
}

func TestADamagedConnectorRecordingIsAnError(t *testing.T) {
	const head = `{"traces":[{"id":"T","kind":"worker","profile":{"layers":1,"top_k":1,"dtype":"uint8","block":4},"slots":4,"max_num_seqs":1,"max_num_batched_tokens":4,"max_concurrent_batches":1,`
	for name, data := range map[string]string{
		"empty":              "",
		"no profile":         `{"traces":[{"id":"T","kind":"worker","events":[]}]}`,
		"a huge store":       `{"traces":[{"id":"T","kind":"worker","profile":{"layers":1000,"top_k":200,"dtype":"uint8","block":1000},"slots":1000,"max_num_seqs":1,"max_num_batched_tokens":4,"max_concurrent_batches":1}]}`,
		"too many sequences": `{"traces":[{"id":"T","kind":"worker","profile":{"layers":1,"top_k":1,"dtype":"uint8","block":4},"slots":4,"max_num_seqs":2000000000,"max_num_batched_tokens":4,"max_concurrent_batches":1}]}`,
		"a short hash":       head + `"hashes":["00"]}]}`,
		"an unknown event":   head + `"events":[{"ev":"sell"}]}]}`,
		"a hash beyond":      head + `"events":[{"ev":"step","meta":{"req":[["a",0]],"hashes":[["a",[7]]]}}]}]}`,
		"events after error": head + `"events":[{"ev":"step","meta":{"fin":["a"]},"err":{"phase":"apply","kind":"unknown_request"}},{"ev":"reset"}]}]}`,
		"an odd output":      head + `"events":[{"ev":"step","out":[["a","gone"]]}]}]}`,
		"an unknown finish":  head + `"events":[{"ev":"finished","req":"a","hashes":1}]}]}`,
		"a finish of many":   head + `"events":[{"ev":"finished","req":["a"]}]}]}`,
		"a hole without KV":  `{"traces":[{"id":"H9","kind":"full","profile":{"layers":1,"top_k":1,"dtype":"uint8","block":4},"slots":4,"max_num_seqs":1,"max_num_batched_tokens":4,"max_concurrent_batches":1,"events":[]}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			_, err := golden.Connector([]byte(data))
			require.Error(t, err)
		})
	}
}

func FuzzConnectorRecording(f *testing.F) {
	f.Add([]byte(`{"traces":[{"id":"26e-pending-read","kind":"worker","profile":{"layers":1,"top_k":1,"dtype":"uint8","block":4},"slots":4,"max_num_seqs":1,"max_num_batched_tokens":4,"max_concurrent_batches":1,"hashes":["0011223344556677"],"requests":{"a":{"tokens":[1,2,3,4,5,6,7],"hashes":[0]}},"events":[{"ev":"step","k":0,"meta":{"gen":0,"req":[["a",0]],"hashes":[["a",[0]]],"fin":[]},"batch":{"req":["a"],"start":[0],"qsl":[0,4],"sampled":[1],"rejected":[0],"rows":"00112233"},"out":[["a",0,"00112233"]],"store":{"lru":["0:0"],"refs":{"0:0":1}},"free":3},{"ev":"step","k":1,"meta":null,"batch":null,"err":{"phase":"commit","kind":"range"}}]}]}`))
	f.Add([]byte(`{"traces":[{"id":"H","kind":"full","kv_block":4,"kv_blocks":4,"profile":{"layers":1,"top_k":1,"dtype":"uint16","block":4},"slots":4,"max_num_seqs":1,"max_num_batched_tokens":4,"max_concurrent_batches":2,"hashes":["0011223344556677"],"requests":{"a":{"tokens":[1,2,3,4,5,6,7],"prompt":4,"hashes":[0]}},"events":[{"ev":"build","sched":["a"],"live":[["a",4,0,1]],"meta":{"gen":0,"req":[["a",0]],"hashes":[["a",[0]]],"fin":[]}},{"ev":"step","k":0,"batch":{"req":["a"],"start":[0],"qsl":[0,4],"sampled":[1],"rejected":[0],"rows":"0000110022003300"},"out":[]},{"ev":"take","req":"a","num_tokens":5,"finished":true,"result":"ok","rows":4},{"ev":"finished","req":"a","hashes":1},{"ev":"reset"}]}]}`))
	f.Add([]byte(`{"traces":[{"id":"36","kind":"sched","requests":{"a":{"hashes":[]}},"events":[{"ev":"take","req":"a","num_tokens":7,"given":[4,2],"result":"ok","rows":2},{"ev":"build","sched":["a"],"live":[],"err":"hashes_shrank"}]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if report, err := golden.Connector(data); err == nil {
			require.Equal(t, report.Failed > 0, len(report.Failures) > 0)
		}
	})
}
