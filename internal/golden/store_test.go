package golden_test

import (
	"bytes"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/internal/golden"
)

func TestStoreOperationsReplayAsRecorded(t *testing.T) {
	data, err := os.ReadFile("../../testdata/store-ops.json")
	require.NoError(t, err)
	report, err := golden.Store(data)
	require.NoError(t, err)
	require.Empty(t, report.Failures)
	require.Equal(t, 4984, report.Passed)
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
