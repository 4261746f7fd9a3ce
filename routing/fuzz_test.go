package routing_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"math"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/routing"
)

// recordedNpy is the files of the recording, in base64.
func recordedNpy(f *testing.F) []string {
	f.Helper()
	data, err := os.ReadFile("../testdata/npy.json")
	require.NoError(f, err)
	var file struct{ Cases []struct{ Npy string } }
	require.NoError(f, json.Unmarshal(data, &file))
	require.NotEmpty(f, file.Cases)
	var texts []string
	for _, c := range file.Cases {
		texts = append(texts, c.Npy)
	}
	return texts
}

// judge checks what a decoder may give: a typed error, or an array that stays the
// same through every form.
func judge(t *testing.T, a routing.Array, err error) {
	t.Helper()
	if err != nil {
		var refused *routing.DecodeError
		var wrong *routing.IDError
		var count *routing.CountError
		if !errors.As(err, &refused) && !errors.As(err, &wrong) && !errors.As(err, &count) {
			t.Fatalf("untyped error: %v", err)
		}
		if len(err.Error()) > 2000 {
			t.Fatalf("%d characters of error", len(err.Error()))
		}
		return
	}
	if again, err := routing.NewArray(a.Shape, a.DType, a.Data); err != nil {
		t.Fatalf("%+v: %v", again, err)
	}
	file, err := a.Append(nil, routing.FormatNpy, 0)
	require.NoError(t, err)
	again, err := routing.DecodeNpy(file)
	require.NoError(t, err)
	require.True(t, sameArray(a, again))
	object, err := a.Append(nil, routing.FormatObjectJSON, 5)
	require.NoError(t, err)
	field, err := routing.DecodeField(object)
	require.NoError(t, err)
	require.True(t, sameArray(a, field.Array))
	require.Equal(t, 5, field.Start)
}

func sameArray(a, b routing.Array) bool {
	return a.Shape == b.Shape && a.DType == b.DType && bytes.Equal(a.Data, b.Data)
}

func FuzzDecodeNpy(f *testing.F) {
	for _, text := range recordedNpy(f) {
		file, err := base64.StdEncoding.DecodeString(text)
		require.NoError(f, err)
		f.Add(file)
	}
	f.Add(npyFile(2, npyHeader(">i4", "True", "(1L, 2, 1,)"), 0, 0, 0, 1, 0, 0, 0, 2))
	f.Fuzz(func(t *testing.T, file []byte) {
		before := bytes.Clone(file)
		a, err := routing.DecodeNpy(file)
		require.True(t, bytes.Equal(before, file), "the input was written to")
		judge(t, a, err)

		read, readErr := routing.ReadNpy(bytes.NewReader(file), int64(len(file)))
		require.Equal(t, err == nil, readErr == nil)
		require.True(t, sameArray(a, read))
	})
}

func FuzzDecodeNpyBase64(f *testing.F) {
	for _, text := range recordedNpy(f) {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		a, err := routing.DecodeNpyBase64(text)
		judge(t, a, err)
		if err != nil {
			return
		}
		file, err := base64.StdEncoding.DecodeString(string(text))
		require.NoError(t, err)
		require.Equal(t, base64.StdEncoding.EncodeToString(file), string(text), "only one text stands for a file")
	})
}

func FuzzDecodeField(f *testing.F) {
	for _, text := range recordedNpy(f) {
		f.Add([]byte(`"` + text + `"`))
	}
	for _, value := range []string{
		`{"shape":[1,1,3],"dtype":"uint8","start":0,"data":"AQID"}`,
		`{"data":"AQIDBAUG","start":12,"dtype":"uint16","shape":[3,1,1]}`,
		`{"shape":[1,2,1],"dtype":"int32","start":0,"data":"AAAAAP\/\/\/\/8="}`,
		`{"shape":[1099511627776,1048576,8],"dtype":"uint8","start":0,"data":""}`,
		`[[[1]]]`, `null`, `"\u006b05V"`,
	} {
		f.Add([]byte(value))
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		field, err := routing.DecodeField(value)
		judge(t, field.Array, err)
		if err != nil {
			return
		}
		require.True(t, json.Valid(value), "what is no JSON was accepted")
		data, err := json.Marshal(field)
		require.NoError(t, err)
		var again routing.Field
		require.NoError(t, json.Unmarshal(data, &again))
		require.Equal(t, field.Form, again.Form)
		require.Equal(t, field.Start, again.Start)
		require.True(t, sameArray(field.Array, again.Array))
	})
}

func FuzzDecodeRaw(f *testing.F) {
	f.Add([]byte{1, 2, 3, 4, 5, 6}, uint8(1), 3, 2, 1)
	f.Add([]byte{1, 2, 3, 4, 5, 6}, uint8(1), 3, 1, routing.AnyRows)
	f.Add([]byte{0, 0, 0, 128}, uint8(5), 1, 1, 4)
	f.Add([]byte{0}, uint8(2), 1<<31-1, 1<<31-1, 0)
	f.Add([]byte{}, uint8(1), 1, 1, math.MaxInt)
	f.Fuzz(func(t *testing.T, data []byte, d uint8, layers, topK, rows int) {
		form := routing.RawForm{DType: routing.DType(d), Layers: layers, TopK: topK, Rows: rows}
		a, err := routing.DecodeRaw(data, form)
		judge(t, a, err)
		if err == nil && rows != routing.AnyRows {
			require.Equal(t, rows, a.Len())
		}
		text, textErr := routing.DecodeRawBase64([]byte(base64.StdEncoding.EncodeToString(data)), form)
		require.Equal(t, err == nil, textErr == nil)
		require.True(t, sameArray(a, text))
	})
}

func FuzzAllLayers(f *testing.F) {
	f.Add([]byte{0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 9, 1, 0, 0}, uint8(0b1010), 4, 1, 300)
	f.Add([]byte{0, 0, 0, 0, 7, 0, 0, 0}, uint8(0b10), 2, 1, 8)
	f.Fuzz(func(t *testing.T, data []byte, mask uint8, all, topK, experts int) {
		a, err := routing.DecodeRaw(data, routing.RawForm{DType: routing.Int32, Layers: all, TopK: topK, Rows: routing.AnyRows})
		if err != nil {
			return
		}
		var moe []int
		for layer := range 8 {
			if mask>>layer&1 == 1 {
				moe = append(moe, layer)
			}
		}
		m, err := routing.NewLayerMap(all, moe)
		if err != nil {
			return
		}
		rows, err := m.Rows(a, routing.Profile{Layers: len(moe), TopK: topK, Experts: experts}, 0)
		if err != nil {
			return
		}
		require.NoError(t, routing.Checks{Range: true}.Check(rows))
		again, err := m.Int32(rows)
		require.NoError(t, err)
		require.True(t, sameArray(a, again), "ids were lost")
	})
}

func FuzzPromptStart(f *testing.F) {
	for _, value := range []string{"0", "14", "15", "-1", "-0", "1.5", "1e3", "9223372036854775808", "null", `"3"`, "007"} {
		f.Add(value, 14)
	}
	f.Fuzz(func(t *testing.T, value string, prompt int) {
		var s routing.PromptStart
		if err := json.Unmarshal([]byte(value), &s); err != nil {
			return
		}
		start, err := s.Resolve(prompt)
		if err == nil {
			require.GreaterOrEqual(t, start, 0)
			require.True(t, start <= prompt || s == "" && start == 0)
			return
		}
		var refused *routing.RequestError
		require.ErrorAs(t, err, &refused)
	})
}
