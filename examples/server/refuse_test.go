package main

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/connector/guard"
	auxerrors "github.com/auxoutput/auxoutput/errors"
)

func TestRequestsThatMakeNoSenseAreRefused(t *testing.T) {
	for _, capture := range []string{"-enable-return-routed-experts", "-no-enable-return-routed-experts"} {
		t.Run(capture, func(t *testing.T) {
			refusesNonsense(t, start(t, capture, "-max-body-bytes", "2000", "-max-model-len", "200", "-num-gpu-blocks", "8"))
		})
	}
}

// refusesNonsense is the same with rows and without.
func refusesNonsense(t *testing.T, r running) {
	for name, tc := range map[string]struct {
		body   string
		status int
	}{
		"no JSON":             {"{", 400},
		"no prompt":           {"{}", 400},
		"an empty prompt":     {`{"prompt":[]}`, 400},
		"an odd prompt":       {`{"prompt":{"a":1}}`, 400},
		"a negative token":    {`{"prompt":[-1]}`, 400},
		"a token too large":   {`{"prompt":[32768]}`, 400},
		"no output":           {`{"prompt":[1],"max_tokens":0}`, 400},
		"negative output":     {`{"prompt":[1],"max_tokens":-5}`, 400},
		"endless output":      {`{"prompt":[1],"max_tokens":9999999999}`, 400},
		"two choices":         {`{"prompt":[1],"n":2}`, 400},
		"a body too large":    {`{"prompt":"` + strings.Repeat("x ", 2000) + `"}`, 413},
		"beyond the KV cache": {`{"prompt":[` + strings.Repeat("1,", 150) + `1],"max_tokens":2}`, 400},
	} {
		t.Run(name, func(t *testing.T) {
			response, err := http.Post(r.url+"/v1/completions", "application/json", strings.NewReader(tc.body))
			require.NoError(t, err)
			defer response.Body.Close()
			data, err := io.ReadAll(response.Body)
			require.NoError(t, err)
			require.Equal(t, tc.status, response.StatusCode, string(data))
			require.Contains(t, string(data), `"error"`)
		})
	}
	require.Len(t, r.generate(t, count(0, 10), 2, 0).TokenIDs, 2, "the next request works")
	response, err := http.Get(r.url + "/v1/completions")
	require.NoError(t, err)
	response.Body.Close()
	require.Equal(t, http.StatusMethodNotAllowed, response.StatusCode)
}

func TestAnEngineThatCouldNotReturnRowsIsNotStarted(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		rule error
	}{
		"no prefix caching":  {[]string{"-enable-prefix-caching=false"}, guard.PrefixCaching},
		"pipeline stages":    {[]string{"-pipeline-parallel-size", "2"}, guard.PipelineParallel},
		"a P/D connector":    {[]string{"-kv-connector", "NixlConnector"}, guard.KVConnector},
		"context parallel":   {[]string{"-decode-context-parallel-size", "2"}, guard.ContextParallel},
		"as vLLM's flag":     {[]string{"--no-enable-prefix-caching"}, guard.PrefixCaching},
		"stages not stated":  {[]string{"-pipeline-parallel-size", "0"}, guard.ErrNotStated},
		"a decode instance":  {[]string{"-kv-connector", "MooncakeConnector", "-kv-role", "kv_consumer"}, guard.KVConnector},
		"adaptive verifying": {[]string{"-adaptive-speculation"}, guard.AdaptiveSpeculation},
	} {
		t.Run(name, func(t *testing.T) {
			require.ErrorIs(t, refused(t, tc.args...), tc.rule)
		})
	}
	both := refused(t, "-pipeline-parallel-size", "2", "-enable-prefix-caching=false")
	require.ErrorIs(t, both, guard.PipelineParallel)
	require.ErrorIs(t, both, guard.PrefixCaching)
}

// refused is the error of a command line that starts nothing, whose status is 2.
func refused(t *testing.T, args ...string) error {
	t.Helper()
	err := run(t.Context(), append(args, "-listen", "127.0.0.1:0"), io.Discard)
	require.Error(t, err, "%v", args)
	require.Equal(t, 2, exitStatus(err), "%v: %v", args, err)
	return err
}

func TestACommandLineThatMakesNoSenseIsAUsageError(t *testing.T) {
	for _, args := range [][]string{
		{"-model", "gpt-2"}, {"-mode", "hopeful"}, {"-block-size", "0"}, {"-block-size", "999999999"}, {"-num-gpu-blocks", "0"},
		{"-num-gpu-blocks", "many"}, {"-max-body-bytes", "0"}, {"-max-model-len", "1"}, {"-timeout", "0s"}, {"extra"}, {"-unknown"},
		{"-max-num-seqs", "0"}, {"-enable-return-routed-experts=perhaps"}, {"-num-gpu-blocks", "2147483647"},
		{"-aux-output-config", `{"colour":1}`}, {"-aux-output-config", ""}, {"-aux-output-config", "{"},
		{"-aux-output-config", `{"enable_return_routed_experts":true,"max_bytes":1}`},
		{"-aux-output-config", `{"enable_return_routed_experts":true,"max_bytes":9223372036854775807}`},
	} {
		require.NotContains(t, refused(t, args...).Error(), "panic", "%v", args)
	}
	// What the flags mean is checked with capture off as well.
	for _, args := range [][]string{{"-model", "gpt-2"}, {"-mode", "hopeful"}, {"-num-gpu-blocks", "1"}, {"-block-size", "-1"}} {
		refused(t, append(args, "-no-enable-return-routed-experts")...)
	}
}

func TestHelpIsNoErrorAndGoesToStandardOutput(t *testing.T) {
	var out strings.Builder
	err := run(t.Context(), []string{"-h"}, &out)
	require.Equal(t, 0, exitStatus(err))
	for _, name := range []string{"-model", "-aux-output-config", "-enable-return-routed-experts", "-no-enable-return-routed-experts", "-kv-role"} {
		require.Contains(t, out.String(), "  "+name)
	}
}

func TestAnAddressThatIsTakenIsNoUsageError(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	err = run(t.Context(), []string{"-listen", listener.Addr().String()}, io.Discard)
	require.Error(t, err)
	require.Equal(t, 1, exitStatus(err))
}

// TestARequestThatAloneExceedsTheStoreIsRefused has a store of three blocks.
func TestARequestThatAloneExceedsTheStoreIsRefused(t *testing.T) {
	for _, mode := range []string{"fail-closed", "row-gated", "linked"} {
		t.Run(mode, func(t *testing.T) {
			r := start(t, "-mode", mode, "--aux-output-config", `{"enable_return_routed_experts": true, "max_bytes": 20000}`)
			for range 2 {
				code, data := r.post(t, "/v1/completions", object{"prompt": count(0, 100), "max_tokens": 2})
				require.Equal(t, 400, code, string(data))
				require.Contains(t, string(data), auxerrors.ErrCannotFit.Error())
				require.Contains(t, string(data), "increase max_bytes")
				require.Len(t, r.generate(t, count(0, 30), 2, 0).TokenIDs, 2, "the next request works")
			}
		})
	}
}
