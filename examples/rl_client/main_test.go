package main

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAConversationWithTheExampleServer runs both examples as a user would.
func TestAConversationWithTheExampleServer(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "server.exe")
	output, err := exec.Command("go", "build", "-o", binary, "../server").CombinedOutput()
	require.NoError(t, err, string(output))
	server := exec.Command(binary, "-listen", "127.0.0.1:0", "-model", "Kimi-K2")
	stderr, err := server.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, server.Start())
	defer func() {
		if server.Process.Signal(os.Interrupt) != nil {
			_ = server.Process.Kill() // where there are no signals
		}
		_ = server.Wait()
	}()
	line, err := bufio.NewReader(stderr).ReadString('\n')
	require.NoError(t, err)
	go io.Copy(io.Discard, stderr) //nolint:errcheck // until the server ends
	url := regexp.MustCompile(`http://\S+`).FindString(line)
	require.NotEmpty(t, url, line)

	var out bytes.Buffer
	require.NoError(t, run(t.Context(), []string{"-url", url, "-model", "Kimi-K2", "-turns", "3"}, &out))
	require.Contains(t, out.String(), "turn 2: 195 tokens, 65 new rows from 129 on")
	require.Contains(t, out.String(), "equal to one full fetch")

	require.Error(t, run(t.Context(), []string{"-url", url, "-model", "Qwen3-30B-A3B"}, io.Discard), "rows of another model are refused")
	require.Error(t, run(t.Context(), []string{"-url", url, "-model", "gpt-2"}, io.Discard))
}
