package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestNumPyReadsWhatTheServerSends lets the library that trainers use decode an
// answer.
func TestNumPyReadsWhatTheServerSends(t *testing.T) {
	python := ""
	for _, name := range []string{"python3", "/usr/bin/python3"} { // the distribution's may not be the first
		if exec.Command(name, "-c", "import numpy").Run() == nil {
			python = name
		}
	}
	if python == "" {
		t.Skip("LOUD: python3 with numpy is not installed, so no foreign reader checks the answers")
	}
	for _, name := range []string{"Qwen3-30B-A3B", "Kimi-K2"} {
		t.Run(name, func(t *testing.T) {
			r := start(t, "-model", name)
			prompt := count(0, 70)
			for _, from := range []int{0, 0, 33, 70} { // cold, warm, a part, generated rows only
				c := r.generate(t, prompt, 8, from)
				raw, err := json.Marshal(c.RoutedExperts)
				require.NoError(t, err)
				_, err = base64.StdEncoding.DecodeString(strings.Trim(string(raw), `"`))
				require.NoError(t, err)
				want := filepath.Join(t.TempDir(), "want")
				require.NoError(t, os.WriteFile(want, r.rowsOf(append(prompt[:70:70], c.TokenIDs...), from), 0o600))
				script := fmt.Sprintf(`
import base64, io, json, sys, numpy
rows = numpy.load(io.BytesIO(base64.b64decode(json.load(sys.stdin))))
want = numpy.fromfile(%q, dtype=%q).reshape(-1, %d, %d)
assert rows.dtype == want.dtype and rows.shape == want.shape, (rows.dtype, rows.shape, want.shape)
assert (rows == want).all()
`, want, map[int]string{1: "|u1", 2: "<u2"}[r.profile.ItemBytes()], r.profile.Layers, r.profile.TopK)
				command := exec.Command(python, "-c", script)
				command.Stdin = bytes.NewReader(raw)
				output, err := command.CombinedOutput()
				require.NoError(t, err, string(output))
			}
		})
	}
}
