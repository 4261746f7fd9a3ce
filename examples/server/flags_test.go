package main

import (
	"fmt"
	"io"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTheTwoFlagsOfCaptureComeToOneConfiguration has every combination, in both orders.
func TestTheTwoFlagsOfCaptureComeToOneConfiguration(t *testing.T) {
	const on, off, absent = `{"enable_return_routed_experts": true, "max_bytes": 99}`, `{"enable_return_routed_experts": false, "max_bytes": 99}`, `{"max_bytes": 99}`
	for _, tc := range []struct {
		config, flag string
		capture      bool
		refused      bool
	}{
		{config: "", flag: "", capture: true}, // what this server is for; vLLM's default is off
		{config: "", flag: "--enable-return-routed-experts", capture: true},
		{config: "", flag: "--enable-return-routed-experts=true", capture: true},
		{config: "", flag: "--enable-return-routed-experts=false"},
		{config: "", flag: "--no-enable-return-routed-experts"},
		{config: on, flag: "", capture: true},
		{config: off, flag: ""},
		{config: absent, flag: ""},
		{config: `{}`, flag: ""},
		{config: on, flag: "--enable-return-routed-experts", capture: true},
		{config: off, flag: "--enable-return-routed-experts", capture: true}, // vLLM's flag wins
		{config: absent, flag: "--enable-return-routed-experts", capture: true},
		{config: on, flag: "--no-enable-return-routed-experts", refused: true},
		{config: off, flag: "--no-enable-return-routed-experts"},
		{config: absent, flag: "--no-enable-return-routed-experts"},
	} {
		var args [][]string
		if tc.config != "" {
			args = append(args, []string{"--aux-output-config", tc.config})
		}
		if tc.flag != "" {
			args = append(args, []string{tc.flag})
		}
		for range 2 {
			t.Run(fmt.Sprint(args), func(t *testing.T) {
				s, err := parse(slices.Concat(args...), io.Discard)
				require.NoError(t, err)
				config, err := s.aux()
				if tc.refused {
					require.ErrorContains(t, err, "--no-enable-return-routed-experts contradicts --aux-output-config")
					require.Equal(t, 2, exitStatus(err))
					return
				}
				require.NoError(t, err)
				require.Equal(t, tc.capture, config.EnableReturnRoutedExperts)
				if tc.config != "" && tc.config != `{}` {
					require.Equal(t, int64(99), config.MaxBytes, "the flag leaves the budget alone")
				}
			})
			slices.Reverse(args)
		}
	}
}

func TestTheFlagStartsCaptureUnderAConfigurationThatSaysNothing(t *testing.T) {
	r := start(t, "--aux-output-config", `{"max_bytes": 25165824}`, "--enable-return-routed-experts")
	require.NotNil(t, r.generate(t, count(0, 20), 3, 0).RoutedExperts)
}

func TestARequestWithoutAModelGetsTheOneThatIsServed(t *testing.T) {
	for _, args := range [][]string{nil, {"-model", "Kimi-K2"}, {"--aux-output-config", "{}"}} {
		r := start(t, args...)
		served := "Qwen3-30B-A3B"
		if len(args) > 0 && args[0] == "-model" {
			served = args[1]
		}
		for path, body := range map[string]object{
			"/v1/completions":        {"prompt": "a b c", "max_tokens": 2},
			"/v1/chat/completions":   {"messages": []object{{"role": "user", "content": "hi"}}, "max_tokens": 2},
			"/inference/v1/generate": {"token_ids": count(0, 5), "sampling_params": object{"max_tokens": 2}},
		} {
			for _, name := range []any{nil, "", served} {
				body["model"] = name
				code, data := r.post(t, path, body)
				require.Equal(t, 200, code, "%v: %s", name, data)
				require.Contains(t, string(data), fmt.Sprintf(`"model":%q`, served))
			}
			delete(body, "model")
			code, data := r.post(t, path, body)
			require.Equal(t, 200, code, string(data))

			body["model"] = "gpt-2"
			code, data = r.post(t, path, body)
			require.Equal(t, 404, code, string(data))
			require.JSONEq(t, `{"error":{"message":"The model `+"`gpt-2`"+` does not exist.","type":"NotFoundError","param":"model","code":404}}`, string(data))

			body["model"] = 7
			code, data = r.post(t, path, body)
			require.Equal(t, 400, code, string(data))
		}
	}
}
