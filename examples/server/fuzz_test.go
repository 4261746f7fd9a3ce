package main

import (
	"encoding/json"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzRequests decodes what may be the body of a request: it becomes a job within
// the limits, or an error that says what the client has to mend.
func FuzzRequests(f *testing.F) {
	for _, body := range []string{
		`{"prompt":"once upon a time","max_tokens":4}`, `{"prompt":[1,2,3],"max_tokens":1,"routed_experts_prompt_start":2}`,
		`{"token_ids":[1,2,3],"sampling_params":{"max_tokens":2,"seed":18446744073709551615}}`, `{"messages":[{"role":"user","content":"hi"}]}`,
		`{"prompt":[4294967296]}`, `{"prompt":[32768]}`, `{"prompt":null}`, `{"prompt":[1],"max_tokens":9223372036854775807}`, `{"prompt":[1],"max_tokens":-1}`,
		`{"prompt":[1],"n":2}`, `{"prompt":[1],"routed_experts_prompt_start":-1}`, `{"prompt":[1],"routed_experts_prompt_start":1e99}`, `[`,
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		l := limits{tokens: 64, bodyBytes: 1 << 10}
		h := &handler{limits: l}
		check := func(into any, tokens func() ([]uint32, sampling)) {
			answer := httptest.NewRecorder()
			request := httptest.NewRequest("POST", "/", strings.NewReader(string(body)))
			if !h.read(answer, request, into) {
				require.GreaterOrEqual(t, answer.Code, 400)
				require.Less(t, answer.Code, 500, "the client is to blame")
				require.True(t, json.Valid(answer.Body.Bytes()))
				return
			}
			prompt, wanted := tokens()
			job, err := l.job(prompt, wanted)
			if err != nil {
				require.Equal(t, 400, failureOf(err).Code, "%v", err)
				return
			}
			require.NotEmpty(t, job.prompt)
			require.Positive(t, job.output)
			require.LessOrEqual(t, len(job.prompt)+job.output, l.tokens)
			require.True(t, job.start >= 0 && job.start <= len(job.prompt))
			require.Less(t, slices.Max(job.prompt), uint32(vocabulary))
			require.Equal(t, job.prompt, tokenize(detokenize(job.prompt)))
		}
		var plain completionRequest
		check(&plain, func() ([]uint32, sampling) { return plain.Prompt, plain.sampling })
		var raw generateRequest
		check(&raw, func() ([]uint32, sampling) { return raw.TokenIDs, raw.Sampling })
		var talk chatRequest
		check(&talk, func() ([]uint32, sampling) {
			var all []uint32
			for _, m := range talk.Messages {
				all = append(all, tokenize(m.Content)...)
			}
			return all, talk.sampling
		})
	})
}
