package golden

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/auxoutput/auxoutput/routing"
)

type npyFile struct {
	Cases []npyCase `json:"cases"`
}

// npyCase is a file in base64 and what reading it gives: "ok" with shape, item
// type and ids in C order, little-endian; or "error".
type npyCase struct {
	ID     string   `json:"id"`
	Npy    string   `json:"npy"`
	Expect string   `json:"expect"`
	Shape  []int    `json:"shape"`
	Descr  string   `json:"descr_out"`
	Data   hexBytes `json:"data"`
}

// Npy replays a file of .npy files that NumPy wrote, and of damaged ones: one case
// per file. Each is read as a file, as base64 text and as a JSON string, with the
// same result. What NumPy wrote in version 1.0, C order and little-endian is also
// written again and must be the same bytes.
//
// Big-endian items are swapped and Fortran order is transposed; the recording
// would allow refusing them.
func Npy(data []byte) (*Report, error) {
	var file npyFile
	if err := decode(data, &file); err != nil {
		return nil, fmt.Errorf("npy files: %w", err)
	}
	if len(file.Cases) == 0 {
		return nil, errors.New("npy files: none in this file")
	}
	report := new(Report)
	for i, recorded := range file.Cases {
		if recorded.Expect != "ok" && recorded.Expect != "error" {
			return nil, fmt.Errorf("npy files: cases[%d]: %q: unknown expectation %q", i, recorded.ID, recorded.Expect)
		}
		content, err := base64.StdEncoding.DecodeString(recorded.Npy)
		if err != nil {
			return nil, fmt.Errorf("npy files: cases[%d]: %q: %w", i, recorded.ID, err)
		}
		c := report.Case(recorded.ID, -1)
		recorded.replay(c, content)
		c.Done()
	}
	return report, nil
}

// npyReaders are the ways to read a file.
var npyReaders = []struct {
	name string
	read func(content []byte, text string) (routing.Array, error)
}{
	{"file", func(content []byte, _ string) (routing.Array, error) { return routing.DecodeNpy(content) }},
	{"stream", func(content []byte, _ string) (routing.Array, error) {
		return routing.ReadNpy(bytes.NewReader(content), int64(len(content)))
	}},
	{"base64", func(_ []byte, text string) (routing.Array, error) { return routing.DecodeNpyBase64([]byte(text)) }},
	{"json", func(_ []byte, text string) (routing.Array, error) {
		var field routing.Field
		err := json.Unmarshal([]byte(`"`+text+`"`), &field)
		return field.Array, err
	}},
}

func (n npyCase) replay(c *Case, content []byte) {
	for _, reader := range npyReaders {
		array, err := reader.read(content, n.Npy)
		got := "ok"
		if err != nil {
			got = "error"
		}
		if !c.Equal(reader.name, n.Expect, got) || err != nil {
			continue
		}
		c.Equal(reader.name+" shape", fmt.Sprint(n.Shape), fmt.Sprint(array.Shape))
		c.Equal(reader.name+" descr_out", n.Descr, array.DType.Descr())
		c.Equal(reader.name+" data", hex.EncodeToString(n.Data), hex.EncodeToString(array.Data))
		if !n.isOurs(content) {
			continue
		}
		again, err := array.Append(nil, routing.FormatNpy, 0)
		if err != nil {
			c.Fail(reader.name+" written again", "ok", err.Error())
			continue
		}
		c.Equal(reader.name+" written again", hex.EncodeToString(content), hex.EncodeToString(again))
	}
}

// isOurs says whether a file has the version, order and byte order that this
// library writes.
func (n npyCase) isOurs(content []byte) bool {
	return bytes.HasPrefix(content, []byte("\x93NUMPY\x01")) &&
		bytes.Contains(content, []byte("'fortran_order': False")) &&
		bytes.Contains(content, fmt.Appendf(nil, "'descr': '%s'", n.Descr))
}
