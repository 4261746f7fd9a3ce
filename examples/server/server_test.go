package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/routing"
)

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
