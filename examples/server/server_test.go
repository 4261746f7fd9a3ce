package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/bench/truth"
	"github.com/auxoutput/auxoutput/connector/guard"
	"github.com/auxoutput/auxoutput/routing"
)

// running is a server of the command's own making.
type running struct {
	url     string
	profile routing.Profile
	stop    func() error
}

func start(t *testing.T, args ...string) running {
	t.Helper()
	s, err := parse(args)
	require.NoError(t, err)
	config, err := s.engineConfig()
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, s, listener) }()
	stopped := false
	r := running{url: "http://" + listener.Addr().String(), profile: config.Profile}
	r.stop = func() error {
		stopped = true
		cancel()
		return <-ended
	}
	t.Cleanup(func() {
		if !stopped {
			require.NoError(t, r.stop(), "the engine ended with something left behind")
		}
	})
	return r
}

// post sends a request and returns status and body.
func (r running) post(t *testing.T, path string, body any) (int, []byte) {
	t.Helper()
	data, err := json.Marshal(body)
	require.NoError(t, err)
	response, err := http.Post(r.url+path, "application/json", bytes.NewReader(data))
	require.NoError(t, err)
	defer response.Body.Close()
	data, err = io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, data
}

type object = map[string]any

// generate runs a token-in, token-out request and returns its one choice.
func (r running) generate(t *testing.T, tokens []uint32, output, start int) choice {
	t.Helper()
	status, data := r.post(t, "/inference/v1/generate", object{
		"token_ids":       tokens,
		"sampling_params": object{"max_tokens": output, "routed_experts_prompt_start": start},
	})
	require.Equal(t, http.StatusOK, status, string(data))
	return choiceOf(t, data)
}

func choiceOf(t *testing.T, data []byte) choice {
	t.Helper()
	var answer response
	require.NoError(t, json.Unmarshal(data, &answer))
	require.Len(t, answer.Choices, 1)
	return answer.Choices[0]
}

// rowsOf are the rows that the model has for tokens, in generation 0, from a
// position on: all but the last one's.
func (r running) rowsOf(tokens []uint32, start int) []byte {
	rows := truth.New(r.profile, 0)
	rows.Skip(tokens[:start])
	return rows.Append(nil, tokens[start:len(tokens)-1]...)
}

func (r running) requireRows(t *testing.T, field *routing.Field, tokens []uint32, start int) {
	t.Helper()
	require.NotNil(t, field)
	rows, err := field.Rows(r.profile, start)
	require.NoError(t, err)
	require.NoError(t, rows.CheckTokens(len(tokens), 0))
	require.True(t, bytes.Equal(r.rowsOf(tokens, start), rows.Data), "rows differ")
}

func count(from, n int) []uint32 {
	tokens := make([]uint32, n)
	for i := range tokens {
		tokens[i] = uint32(from + i)
	}
	return tokens
}

func TestColdAndWarmRequestsReturnTheModelsRows(t *testing.T) {
	for _, mode := range []string{"fail-closed", "row-gated", "linked"} {
		t.Run(mode, func(t *testing.T) {
			r := start(t, "-mode", mode)
			prompt := count(0, 100)
			for range 3 { // cold, then out of the KV cache
				c := r.generate(t, prompt, 10, 0)
				require.Len(t, c.TokenIDs, 10)
				require.Equal(t, "length", *c.FinishReason)
				r.requireRows(t, c.RoutedExperts, append(prompt[:100:100], c.TokenIDs...), 0)
			}
		})
	}
}

func TestTheRowsOfTurnsJoinToThoseOfOneFetch(t *testing.T) {
	r := start(t, "-model", "Kimi-K2")
	var tokens []uint32
	var turns []routing.Turn
	have := 0
	for turn := range 4 {
		tokens = append(tokens, count(100*turn, 30)...)
		c := r.generate(t, tokens, 13, have)
		tokens = append(tokens, c.TokenIDs...)
		rows, err := c.RoutedExperts.Rows(r.profile, have)
		require.NoError(t, err)
		turns = append(turns, routing.Turn{Rows: rows})
		have = rows.End()
	}
	joined, err := routing.Join(turns...)
	require.NoError(t, err)
	require.True(t, bytes.Equal(r.rowsOf(tokens, 0), joined.Data))
}

func TestTheStartOfTheRowsIsCheckedAgainstThePrompt(t *testing.T) {
	r := start(t)
	prompt := count(0, 14)
	for _, tc := range []struct {
		start  string
		status int
		from   int
	}{
		{"0", 200, 0}, {"13", 200, 13}, {"14", 200, 14}, {"null", 200, 0},
		{"15", 400, 0}, {"-1", 400, 0}, {"9223372036854775808", 400, 0}, {"1.5", 400, 0}, {`"1"`, 400, 0},
	} {
		t.Run(tc.start, func(t *testing.T) {
			for _, path := range []string{"/v1/completions", "/inference/v1/generate"} {
				sampling := object{"max_tokens": 3, "routed_experts_prompt_start": json.RawMessage(tc.start)}
				body := object{"token_ids": prompt, "sampling_params": sampling}
				if path == "/v1/completions" {
					body = sampling
					body["prompt"] = prompt
				}
				status, data := r.post(t, path, body)
				require.Equal(t, tc.status, status, string(data))
				if status == 400 {
					require.Contains(t, string(data), "routed_experts_prompt_start")
					continue
				}
				c := choiceOf(t, data)
				output := c.TokenIDs
				if c.Text != nil {
					output = tokenize(*c.Text)
				}
				r.requireRows(t, c.RoutedExperts, append(prompt[:14:14], output...), tc.from)
			}
		})
	}
}

func TestChatTakesTheSameTextForTheSameTokens(t *testing.T) {
	r := start(t)
	messages := []object{{"role": "user", "content": "how are you"}}
	status, data := r.post(t, "/v1/chat/completions", object{"messages": messages, "max_tokens": 5})
	require.Equal(t, 200, status, string(data))
	c := choiceOf(t, data)
	require.Equal(t, "assistant", c.Message.Role)
	tokens := append(tokenize("<|user|> how are you <|assistant|>"), tokenize(c.Message.Content)...)
	require.Len(t, tokens, 5+5)
	r.requireRows(t, c.RoutedExperts, tokens, 0)

	status, data = r.post(t, "/v1/chat/completions", object{"messages": []object{}})
	require.Equal(t, 400, status, string(data))
}

// events reads a stream of server-sent events up to its end.
func (r running) events(t *testing.T, path string, body any) []choice {
	t.Helper()
	data, err := json.Marshal(body)
	require.NoError(t, err)
	response, err := http.Post(r.url+path, "application/json", bytes.NewReader(data))
	require.NoError(t, err)
	defer response.Body.Close()
	require.Equal(t, http.StatusOK, response.StatusCode)
	require.Equal(t, "text/event-stream", response.Header.Get("Content-Type"))
	var choices []choice
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 64<<20)
	done := false
	for lines.Scan() {
		text, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			require.Empty(t, lines.Text())
			continue
		}
		require.False(t, done, "something follows the end")
		if done = text == "[DONE]"; !done {
			choices = append(choices, choiceOf(t, []byte(text)))
		}
	}
	require.NoError(t, lines.Err())
	require.True(t, done)
	return choices
}

func TestAStreamCarriesItsRowsOnTheFinalChunk(t *testing.T) {
	r := start(t)
	prompt := count(0, 40)
	var output []uint32
	chunks := r.events(t, "/inference/v1/generate", object{"token_ids": prompt, "sampling_params": object{"max_tokens": 6}, "stream": true})
	for i, c := range chunks {
		output = append(output, c.TokenIDs...)
		if i < len(chunks)-1 {
			require.Nil(t, c.RoutedExperts)
			require.Nil(t, c.FinishReason)
		}
	}
	r.requireRows(t, chunks[len(chunks)-1].RoutedExperts, append(prompt, output...), 0)

	for _, path := range []string{"/v1/completions", "/v1/chat/completions"} {
		body := object{"prompt": "a b c", "messages": []object{{"role": "user", "content": "hi"}}, "max_tokens": 4, "stream": true}
		for _, c := range r.events(t, path, body) {
			require.Nil(t, c.RoutedExperts, "the stream choices of %s do not carry rows", path)
		}
	}
}

func TestAStreamCanCarryTheRowsOfEachChunk(t *testing.T) {
	r := start(t)
	prompt := count(0, 40)
	tokens := prompt[:40:40]
	at := 5
	for _, c := range r.events(t, "/inference/v1/generate", object{
		"token_ids": prompt, "stream": true, "routed_experts_per_chunk": true,
		"sampling_params": object{"max_tokens": 6, "routed_experts_prompt_start": 5},
	}) {
		tokens = append(tokens, c.TokenIDs...)
		require.NotNil(t, c.RoutedExperts)
		require.Equal(t, at, c.RoutedExperts.Start)
		r.requireRows(t, c.RoutedExperts, tokens, at)
		at = len(tokens) - 1
	}
	require.Equal(t, 40+6-1, at)
}

func TestPrefillOfOneServerAndDecodeOfAnotherMakeOneAnswer(t *testing.T) {
	prefill, decode := start(t), start(t)
	prompt := count(7, 50)
	// The prefill side computes the prompt and one token; the decode side, which
	// got the KV blocks by other means, answers with the rows from the prompt's
	// end on.
	p, err := prefill.generate(t, prompt, 1, 0).RoutedExperts.Rows(prefill.profile, 0)
	require.NoError(t, err)
	c := decode.generate(t, prompt, 9, len(prompt))
	d, err := c.RoutedExperts.Rows(decode.profile, len(prompt))
	require.NoError(t, err)
	merged, err := routing.MergePrefillDecode(p, d, len(prompt))
	require.NoError(t, err)
	require.True(t, bytes.Equal(prefill.rowsOf(append(prompt, c.TokenIDs...), 0), merged.Data))
}

func TestRequestsThatMakeNoSenseAreRefused(t *testing.T) {
	r := start(t, "-max-body-bytes", "2000", "-max-model-len", "200", "-num-gpu-blocks", "8")
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

func TestAClientThatGoesAwayLeavesNothingBehind(t *testing.T) {
	r := start(t, "-max-model-len", "30000")
	for range 5 {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
		body := `{"token_ids":[1,2,3],"sampling_params":{"max_tokens":20000},"stream":true}`
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url+"/inference/v1/generate", strings.NewReader(body))
		require.NoError(t, err)
		if response, err := http.DefaultClient.Do(request); err == nil {
			_, err = io.Copy(io.Discard, response.Body)
			response.Body.Close()
			require.Error(t, err)
		}
		cancel()
	}
	require.Len(t, r.generate(t, count(0, 10), 2, 0).TokenIDs, 2)
	require.NoError(t, r.stop(), "the engine checks that it is idle")
}

func TestAServerThatStopsFinishesWhatItHas(t *testing.T) {
	r := start(t)
	answered := make(chan int, 1)
	go func() {
		body := `{"token_ids":[1,2,3],"sampling_params":{"max_tokens":3000}}`
		response, err := http.Post(r.url+"/inference/v1/generate", "application/json", strings.NewReader(body))
		if err != nil {
			answered <- 0
			return
		}
		defer response.Body.Close()
		answered <- response.StatusCode
	}()
	time.Sleep(20 * time.Millisecond)
	require.NoError(t, r.stop())
	require.Equal(t, http.StatusOK, <-answered)
	_, err := http.Get(r.url + "/health")
	require.Error(t, err)
}

func TestAResetStartsNewRows(t *testing.T) {
	r := start(t)
	prompt := count(0, 40)
	before := r.generate(t, prompt, 2, 0)
	status, data := r.post(t, "/reset_prefix_cache", object{})
	require.Equal(t, 200, status, string(data))
	after := r.generate(t, prompt, 2, 0)
	require.Equal(t, before.TokenIDs, after.TokenIDs)
	require.NotEqual(t, before.RoutedExperts.Array, after.RoutedExperts.Array, "rows of the older weights were returned")
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
		"adaptive verifying": {[]string{"-adaptive-speculation"}, guard.AdaptiveSpeculation},
	} {
		t.Run(name, func(t *testing.T) {
			require.ErrorIs(t, run(t.Context(), append(tc.args, "-listen", "127.0.0.1:0")), tc.rule)
		})
	}
	both := run(t.Context(), []string{"-pipeline-parallel-size", "2", "-enable-prefix-caching=false", "-listen", "127.0.0.1:0"})
	require.ErrorIs(t, both, guard.PipelineParallel)
	require.ErrorIs(t, both, guard.PrefixCaching)
	for _, args := range [][]string{
		{"-model", "gpt-2"}, {"-mode", "hopeful"}, {"-aux-output-config", `{"colour":1}`}, {"-block-size", "0"},
		{"-max-body-bytes", "0"}, {"extra"}, {"-num-gpu-blocks", "0"},
	} {
		require.Error(t, run(t.Context(), append([]string{"-listen", "127.0.0.1:0"}, args...)), "%v", args)
	}
}

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
