package main

import (
	"bufio"
	"bytes"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// serve runs the example server until the test ends, and returns its address.
func serve(t *testing.T, args ...string) (url string) {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "server.exe")
	output, err := exec.Command("go", "build", "-o", binary, "../server").CombinedOutput()
	require.NoError(t, err, string(output))
	server := exec.Command(binary, append(args, "-listen", "127.0.0.1:0")...)
	stderr, err := server.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, server.Start())
	t.Cleanup(func() {
		if server.Process.Signal(os.Interrupt) != nil {
			_ = server.Process.Kill() // where there are no signals
		}
		_ = server.Wait()
	})
	line, err := bufio.NewReader(stderr).ReadString('\n')
	require.NoError(t, err)
	go io.Copy(io.Discard, stderr) //nolint:errcheck // until the server ends
	url = regexp.MustCompile(`http://\S+`).FindString(line)
	require.NotEmpty(t, url, line)
	return url
}

// TestAConversationWithTheExampleServer runs both examples as a user would.
func TestAConversationWithTheExampleServer(t *testing.T) {
	url := serve(t, "-model", "Kimi-K2")
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), []string{"-url", url, "-model", "Kimi-K2", "-turns", "3"}, &out))
	require.Contains(t, out.String(), "turn 2: 195 tokens, 65 new rows from 129 on")
	require.Contains(t, out.String(), "equal to one full fetch")

	require.Error(t, run(t.Context(), []string{"-url", url, "-model", "Qwen3-30B-A3B"}, io.Discard), "rows of another model are refused")
	require.Error(t, run(t.Context(), []string{"-url", url, "-model", "Kimi-K2", "-all-layers"}, io.Discard), "and so are rows of other layers")
}

func TestRowsOfAllLayersAreReadWithTheirOwnProfile(t *testing.T) {
	url := serve(t, "-model", "DeepSeek-V3", "-all-layers")
	require.NoError(t, run(t.Context(), []string{"-url", url, "-model", "DeepSeek-V3", "-all-layers", "-turns", "2"}, io.Discard))
	require.Error(t, run(t.Context(), []string{"-url", url, "-model", "DeepSeek-V3", "-turns", "2"}, io.Discard))
}

func TestAServerWithCaptureOffIsNotTakenForADenseModel(t *testing.T) {
	url := serve(t, "-no-enable-return-routed-experts")
	err := run(t.Context(), []string{"-url", url}, io.Discard)
	require.ErrorContains(t, err, "was the server started with --enable-return-routed-experts?")
}

func TestACommandLineThatMakesNoSenseIsAUsageError(t *testing.T) {
	var usage usageError
	for _, args := range [][]string{{"-model", "gpt-2"}, {"-turns", "0"}, {"-turns", "two"}, {"extra"}, {"-colour"}} {
		require.ErrorAs(t, run(t.Context(), args, io.Discard), &usage, "%v", args)
	}
	var out bytes.Buffer
	require.ErrorIs(t, run(t.Context(), []string{"-h"}, &out), flag.ErrHelp)
	require.Contains(t, out.String(), "-all-layers")
}
