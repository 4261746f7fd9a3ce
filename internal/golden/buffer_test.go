package golden_test

import (
	"bytes"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/internal/golden"
)

func TestTailBufferOperationsReplayAsRecorded(t *testing.T) {
	data, err := os.ReadFile("../../testdata/buffer-ops.json")
	require.NoError(t, err)
	report, err := golden.Buffer(data)
	require.NoError(t, err)
	require.Empty(t, report.Failures)
	require.Equal(t, 2668, report.Passed)
	require.Zero(t, report.Failed)
	require.Zero(t, report.Deviates)
}

func TestAWrongTailBufferRecordingIsNoticed(t *testing.T) {
	data, err := os.ReadFile("../../testdata/buffer-ops.json")
	require.NoError(t, err)
	for name, change := range map[string][2]string{
		"another result":      {`"result":"not_contiguous"`, `"result":"ok"`},
		"another free count":  {`"free":5`, `"free":4`},
		"another tail":        {`"tails":{"a":[4,3]}`, `"tails":{"a":[4,2]}`},
		"other rows read":     {`"end":7,"result":"ok","rows":"c3`, `"end":7,"result":"ok","rows":"c4`},
		"memory not borrowed": {`"11660f5cdd71466f4bb5b8b8a97caa81",false]`, `"11660f5cdd71466f4bb5b8b8a97caa81",true]`},
	} {
		t.Run(name, func(t *testing.T) {
			changed := bytes.Replace(data, []byte(change[0]), []byte(change[1]), 1)
			require.NotEqual(t, data, changed)
			report, err := golden.Buffer(changed)
			require.NoError(t, err)
			require.NotZero(t, report.Failed)
			require.NotEmpty(t, report.Failures)
		})
	}
}

func TestADamagedTailBufferRecordingIsAnError(t *testing.T) {
	const head = `{"traces":[{"id":"T","layers":1,"top_k":1,"block":4,"max_num_seqs":1,"max_concurrent_batches":1,`
	for name, data := range map[string]string{
		"empty":                "",
		"an unknown dtype":     head + `"dtype":"int8","max_num_batched_tokens":4}]}`,
		"a huge pool":          head + `"dtype":"uint8","max_num_batched_tokens":2000000000}]}`,
		"no tokens":            head + `"dtype":"uint8","max_num_batched_tokens":0}]}`,
		"an unknown operation": head + `"dtype":"uint8","max_num_batched_tokens":4,"ops":[{"op":"sell"}]}]}`,
		"odd hexadecimal":      head + `"dtype":"uint8","max_num_batched_tokens":4,"ops":[{"op":"capture","rows":"abc"}]}]}`,
		"a number for rows":    head + `"dtype":"uint8","max_num_batched_tokens":4,"ops":[{"op":"capture","rows":7}]}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			_, err := golden.Buffer([]byte(data))
			require.Error(t, err)
		})
	}
}
