package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/bench/truth"
	"github.com/auxoutput/auxoutput/routing"
)

// running is a server of the command's own making. profile is that of its rows.
type running struct {
	url     string
	profile routing.Profile
	stop    func() error
}

func start(t *testing.T, args ...string) running {
	t.Helper()
	s, err := parse(args, io.Discard)
	require.NoError(t, err)
	p, err := s.plan()
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, s, p, listener) }()
	stopped := false
	r := running{url: "http://" + listener.Addr().String()}
	if p.profile != nil {
		r.profile = *p.profile
	}
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
