package golden_test

import (
	"bytes"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/internal/golden"
)

// The deviations are gets of objects whose put had several payloads, of which the
// reference stores the last and this library the first.
func TestStoreOperationsReplayAsRecorded(t *testing.T) {
	data, err := os.ReadFile("../../testdata/store-ops.json")
	require.NoError(t, err)
	report, err := golden.Store(data)
	require.NoError(t, err)
	require.Empty(t, report.Failures)
	require.Equal(t, 544, report.Deviates)
	require.Equal(t, 4440, report.Passed)
	require.Zero(t, report.Failed)
}

func TestAWrongStoreRecordingIsNoticed(t *testing.T) {
	data, err := os.ReadFile("../../testdata/store-ops.json")
	require.NoError(t, err)
	for name, change := range map[string][2]string{
		"another result":      {`"keys":["B"],"result":"missing"`, `"keys":["B"],"result":"ok"`},
		"another order":       {`"lru":["A","B"]`, `"lru":["B","A"]`},
		"another count":       {`"refs":{"A":1,"B":1}`, `"refs":{"A":1,"B":2}`},
		"other bytes":         {`"tags":[1,4]`, `"tags":[1,3]`},
		"another slot number": {`"used":2`, `"used":1`},
		"a payload that is neither the first nor the last of its put": {`"tags":[3,3,2]`, `"tags":[4,4,2]`},
		"other bytes beside an object with several payloads":          {`"tags":[3,2]`, `"tags":[3,1]`},
	} {
		t.Run(name, func(t *testing.T) {
			changed := bytes.Replace(data, []byte(change[0]), []byte(change[1]), 1)
			require.NotEqual(t, data, changed)
			report, err := golden.Store(changed)
			require.NoError(t, err)
			require.Equal(t, 1, report.Failed)
			require.NotEmpty(t, report.Failures)
		})
	}
}

// Only an object that a put with several payloads has stored may differ from the
// recording: not one that was stored before, nor one that has come again since.
func TestOnlyTheFirstOfSeveralPayloadsMayReplaceWhatWasRecorded(t *testing.T) {
	for name, tc := range map[string]struct {
		ops      string
		deviates int
		failed   int
	}{
		"stored by it": {`
			{"op":"put","objects":[["A",1],["A",3]],"result":"ok","lru":["A"],"used":1},
			{"op":"get","keys":["A"],"tags":[3],"result":"ok","lru":["A"],"used":1}`, 1, 0},
		"the first one recorded": {`
			{"op":"put","objects":[["A",1],["A",3]],"result":"ok","lru":["A"],"used":1},
			{"op":"get","keys":["A"],"tags":[1],"result":"ok","lru":["A"],"used":1}`, 0, 0},
		"stored before": {`
			{"op":"put","objects":[["A",1]],"result":"ok","lru":["A"],"used":1},
			{"op":"put","objects":[["A",2],["A",3]],"result":"ok","lru":["A"],"used":1},
			{"op":"get","keys":["A"],"tags":[3],"result":"ok","lru":["A"],"used":1}`, 0, 1},
		"come again since": {`
			{"op":"put","objects":[["A",1],["A",3]],"result":"ok","lru":["A"],"used":1},
			{"op":"put","objects":[["B",4],["C",5]],"result":"ok","lru":["B","C"],"used":2},
			{"op":"put","objects":[["A",6]],"result":"ok","lru":["C","A"],"used":2},
			{"op":"get","keys":["A"],"tags":[3],"result":"ok","lru":["C","A"],"used":2}`, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			report, err := golden.Store([]byte(`{"traces":[{"id":"T","limit":2,"object_nbytes":8,"max_bytes":16,"ops":[` + tc.ops + `]}]}`))
			require.NoError(t, err)
			require.Equal(t, tc.deviates, report.Deviates, "%v", report.Failures)
			require.Equal(t, tc.failed, report.Failed, "%v", report.Failures)
		})
	}
}

func TestADamagedStoreRecordingIsAnError(t *testing.T) {
	for name, data := range map[string]string{
		"empty":                "",
		"cut off":              `{"traces":[{"id":"T1","limit":2`,
		"not UTF-8":            "{\"traces\":[{\"id\":\"\xff\"}]}",
		"wrong type":           `{"traces":[{"id":"T1","limit":"two"}]}`,
		"budget below a block": `{"traces":[{"id":"T1","limit":2,"object_nbytes":8,"max_bytes":4}]}`,
		"negative block":       `{"traces":[{"id":"T1","limit":2,"object_nbytes":-8,"max_bytes":16}]}`,
		"a huge budget":        `{"traces":[{"id":"T1","limit":2,"object_nbytes":8,"max_bytes":9000000000000000000}]}`,
		"a tag beyond a byte":  `{"traces":[{"id":"T1","limit":2,"object_nbytes":8,"max_bytes":16,"ops":[{"op":"put","objects":[["A",256]]}]}]}`,
		"an unknown operation": `{"traces":[{"id":"T1","limit":2,"object_nbytes":8,"max_bytes":16,"ops":[{"op":"sell"}]}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			_, err := golden.Store([]byte(data))
			require.Error(t, err)
		})
	}
}

func FuzzStore(f *testing.F) {
	f.Add([]byte(`{"traces":[{"id":"T","limit":2,"object_nbytes":8,"max_bytes":16,"ops":[
		{"op":"put","objects":[["A",1],["B",2],["A",3]],"retain":["A","C"],"release":["C"],"result":"ok","lru":["B","A"],"refs":{"A":1},"used":2},
		{"op":"get","keys":["B","A"],"result":"ok","tags":[2,3],"lru":["B","A"],"refs":{"A":1},"used":2},
		{"op":"close","result":"ok"}]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		report, err := golden.Store(data)
		if (report == nil) == (err == nil) {
			t.Fatalf("report %v, error %v", report, err)
		}
		_, _, _ = golden.File(data)
	})
}
