package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// built is the command as users run it.
var built struct {
	once sync.Once
	dir  string
	err  error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if built.dir != "" {
		_ = os.RemoveAll(built.dir)
	}
	os.Exit(code)
}

func binary(t *testing.T) string {
	t.Helper()
	built.once.Do(func() {
		if built.dir, built.err = os.MkdirTemp("", "server"); built.err != nil {
			return
		}
		output, err := exec.Command("go", "build", "-o", filepath.Join(built.dir, "server.exe"), ".").CombinedOutput()
		if err != nil {
			built.err = errors.New(string(output))
		}
	})
	require.NoError(t, built.err)
	return filepath.Join(built.dir, "server.exe")
}

// launch runs the command on a port of its own until the test ends. Interrupted it has
// to end well.
func launch(t *testing.T, args ...string) (r running, pid int) {
	t.Helper()
	command := exec.Command(binary(t), append(args, "-listen", "127.0.0.1:0")...)
	stderr, err := command.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	line, err := bufio.NewReader(stderr).ReadString('\n')
	require.NoError(t, err, "%v: %s", args, line)
	go io.Copy(io.Discard, stderr) //nolint:errcheck // until the server ends
	r.url = regexp.MustCompile(`http://\S+`).FindString(line)
	require.NotEmpty(t, r.url, line)
	t.Cleanup(func() {
		if runtime.GOOS == "windows" {
			_ = command.Process.Kill()
			_ = command.Wait()
			return
		}
		require.NoError(t, command.Process.Signal(os.Interrupt))
		late := time.AfterFunc(time.Minute, func() { _ = command.Process.Kill() })
		defer late.Stop()
		require.NoError(t, command.Wait(), "%v", args)
	})
	return r, command.Process.Pid
}

// status runs a command that ends by itself.
func status(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, fault bytes.Buffer
	command := exec.Command(binary(t), args...)
	command.Stdout, command.Stderr = &out, &fault
	err := command.Run()
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		require.NoError(t, err)
	}
	return command.ProcessState.ExitCode(), out.String(), fault.String()
}

func TestTheCommandEndsWithTheStatusThatItDocuments(t *testing.T) {
	code, out, fault := status(t, "-h")
	require.Equal(t, 0, code)
	require.Contains(t, out, "-aux-output-config")
	require.Empty(t, fault)

	code, out, fault = status(t, "-colour", "red")
	require.Equal(t, 2, code)
	require.Empty(t, out)
	require.Contains(t, fault, "-colour")

	code, _, fault = status(t, "-pipeline-parallel-size", "2", "-kv-connector", "NixlConnector", "-listen", "127.0.0.1:0")
	require.Equal(t, 2, code)
	require.Contains(t, fault, "--enable-return-routed-experts is incompatible with pipeline parallelism (PP > 1).")
	require.Contains(t, fault, "--enable-return-routed-experts is incompatible with KV connectors (PD disaggregation, KV cache offload).")

	code, _, fault = status(t, "-listen", "127.0.0.1:99999")
	require.Equal(t, 1, code, fault)
	require.Equal(t, 1, strings.Count(fault, "99999"), "told once")
}
