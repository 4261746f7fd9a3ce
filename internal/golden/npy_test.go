package golden_test

import (
	"bytes"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/internal/golden"
)

func TestNpyFilesAreReadAsRecorded(t *testing.T) {
	data, err := os.ReadFile("../../testdata/npy.json")
	require.NoError(t, err)
	kind, report, err := golden.File(data)
	require.NoError(t, err)
	require.Equal(t, golden.KindNpy, kind)
	require.Empty(t, report.Failures)
	require.Equal(t, 37, report.Passed)
	require.Zero(t, report.Failed)
	require.Zero(t, report.Deviates)
}

func TestAWrongNpyRecordingIsNoticed(t *testing.T) {
	data, err := os.ReadFile("../../testdata/npy.json")
	require.NoError(t, err)
	for name, change := range map[string][2]string{
		"another shape":        {`"shape":[0,3,2]`, `"shape":[1,3,2]`},
		"another item type":    {`"descr_out":"<u2"`, `"descr_out":"|u1"`},
		"other ids":            {`"data":"afc419f643d3"`, `"data":"afc419f643d4"`},
		"a failure expected":   {`"expect":"ok","shape":[2,3,2]`, `"expect":"error","shape":[2,3,2]`},
		"a success expected":   {`"expect":"error"`, `"expect":"ok"`},
		"no file where one is": {`"id":"u1/2","npy":"k05V`, `"id":"u1/2","npy":"k06V`},
	} {
		t.Run(name, func(t *testing.T) {
			changed := bytes.Replace(data, []byte(change[0]), []byte(change[1]), 1)
			require.NotEqual(t, data, changed)
			report, err := golden.Npy(changed)
			require.NoError(t, err)
			require.Equal(t, 1, report.Failed)
			require.NotEmpty(t, report.Failures)
		})
	}
}

func TestADamagedNpyRecordingIsAnError(t *testing.T) {
	for name, data := range map[string]string{
		"empty":                  "",
		"no cases":               `{"cases":[]}`,
		"an unknown expectation": `{"cases":[{"id":"a","npy":"","expect":"perhaps"}]}`,
		"no base64":              `{"cases":[{"id":"a","npy":"*","expect":"error"}]}`,
		"odd hexadecimal":        `{"cases":[{"id":"a","npy":"","expect":"ok","data":"abc"}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			report, err := golden.Npy([]byte(data))
			require.Error(t, err)
			require.Nil(t, report)
		})
	}
}
