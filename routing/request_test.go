package routing_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/routing"
)

type request struct {
	PromptStart routing.PromptStart `json:"routed_experts_prompt_start,omitempty"`
}

func TestAPromptStartIsReadFromJSONAndResolved(t *testing.T) {
	for _, tc := range []struct {
		name, body string
		start      int
		reason     error // nil if it is fine
	}{
		{"left out", `{}`, 0, nil},
		{"null", `{"routed_experts_prompt_start":null}`, 0, nil},
		{"the whole prompt", `{"routed_experts_prompt_start":0}`, 0, nil},
		{"minus nothing", `{"routed_experts_prompt_start":-0}`, 0, nil},
		{"the last prompt token", `{"routed_experts_prompt_start": 13}`, 13, nil},
		{"generated tokens only", `{"routed_experts_prompt_start":14}`, 14, nil},
		{"beyond the prompt", `{"routed_experts_prompt_start":15}`, 0, auxerrors.ErrOutOfRange},
		{"below 0", `{"routed_experts_prompt_start":-1}`, 0, auxerrors.ErrOutOfRange},
		{"1<<31", `{"routed_experts_prompt_start":2147483648}`, 0, auxerrors.ErrOutOfRange},
		{"1<<32, which is 0 in 32 bits", `{"routed_experts_prompt_start":4294967296}`, 0, auxerrors.ErrOutOfRange},
		{"1<<63", `{"routed_experts_prompt_start":9223372036854775808}`, 0, auxerrors.ErrOutOfRange},
		{"1<<64, which is 0 in 64 bits", `{"routed_experts_prompt_start":18446744073709551616}`, 0, auxerrors.ErrOutOfRange},
		{"-1<<63", `{"routed_experts_prompt_start":-9223372036854775808}`, 0, auxerrors.ErrOutOfRange},
		{"a hundred digits", `{"routed_experts_prompt_start":` + strings.Repeat("9", 100) + `}`, 0, auxerrors.ErrOutOfRange},
		{"a fraction", `{"routed_experts_prompt_start":1.5}`, 0, auxerrors.ErrMismatch},
		{"a fraction of zero", `{"routed_experts_prompt_start":1.0}`, 0, auxerrors.ErrMismatch},
		{"an exponent", `{"routed_experts_prompt_start":1e1}`, 0, auxerrors.ErrMismatch},
		{"a string", `{"routed_experts_prompt_start":"1"}`, 0, auxerrors.ErrMismatch},
		{"true", `{"routed_experts_prompt_start":true}`, 0, auxerrors.ErrMismatch},
		{"a list", `{"routed_experts_prompt_start":[1]}`, 0, auxerrors.ErrMismatch},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var r request
			err := json.Unmarshal([]byte(tc.body), &r)
			start := 0
			if err == nil {
				start, err = r.PromptStart.Resolve(14)
			}
			require.Equal(t, tc.start, start)
			require.ErrorIs(t, err, tc.reason)
			if tc.reason == nil {
				return
			}
			var refused *routing.RequestError
			require.ErrorAs(t, err, &refused)
			require.Equal(t, 400, refused.StatusCode())
			require.Contains(t, refused.Error(), "routed_experts_prompt_start = ")
			require.Less(t, len(refused.Error()), 200)
		})
	}
}

func TestAPromptStartIsWrittenAsANumber(t *testing.T) {
	for start, want := range map[routing.PromptStart]string{"": `{}`, "0": `{"routed_experts_prompt_start":0}`, "14": `{"routed_experts_prompt_start":14}`} {
		data, err := json.Marshal(request{start})
		require.NoError(t, err)
		require.Equal(t, want, string(data))
	}
	data, err := json.Marshal(routing.PromptStart(""))
	require.NoError(t, err)
	require.Equal(t, "0", string(data))
	_, err = json.Marshal(request{"14, \"n\": 2"})
	require.Error(t, err)
	_, err = routing.PromptStart("fourteen").Resolve(14)
	require.ErrorIs(t, err, auxerrors.ErrMismatch)
	_, err = routing.PromptStart("0").Resolve(-1)
	require.ErrorIs(t, err, auxerrors.ErrOutOfRange)
}

func ExamplePromptStart() {
	var body struct {
		PromptStart routing.PromptStart `json:"routed_experts_prompt_start"`
	}
	_ = json.Unmarshal([]byte(`{"routed_experts_prompt_start": 15}`), &body)
	_, err := body.PromptStart.Resolve(14)
	var status interface{ StatusCode() int }
	if errors.As(err, &status) {
		fmt.Println(status.StatusCode(), err)
	}
	// Output: 400 auxoutput: routed_experts_prompt_start = 15: out of range: want 0 <= start <= 14, the number of prompt tokens
}
