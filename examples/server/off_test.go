package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/connector/guard"
)

// configsOff are the configurations in which capture is off.
var configsOff = []string{
	`{"enable_return_routed_experts": false}`,
	`{}`,
	`{"max_bytes": 1}`,
	`{"max_bytes": null}`,
	`{"enable_return_routed_experts": false, "max_bytes": 1073741824}`,
}

func TestWithCaptureOffNoAnswerHasTheField(t *testing.T) {
	on, _ := launch(t)
	for _, config := range configsOff {
		t.Run(config, func(t *testing.T) {
			off, _ := launch(t, "--aux-output-config", config)
			for path, body := range map[string]object{
				"/v1/completions":        {"prompt": count(0, 40), "max_tokens": 9, "seed": 7},
				"/v1/chat/completions":   {"messages": []object{{"role": "user", "content": "hi"}}, "max_tokens": 9, "seed": 7},
				"/inference/v1/generate": {"token_ids": count(0, 40), "sampling_params": object{"max_tokens": 9, "seed": 7}},
			} {
				code, with := on.post(t, path, body)
				require.Equal(t, 200, code, string(with))
				require.Contains(t, string(with), `"routed_experts"`)
				code, without := off.post(t, path, body)
				require.Equal(t, 200, code, string(without))
				require.NotContains(t, string(without), "routed_experts")
				require.JSONEq(t, withoutRows(t, with), string(without), "everything else is the same")
			}
			code, data := off.post(t, "/reset_prefix_cache", object{})
			require.Equal(t, 200, code, string(data))
		})
	}
}

// withoutRows is an answer without its rows.
func withoutRows(t *testing.T, answer []byte) string {
	t.Helper()
	var parsed response
	require.NoError(t, json.Unmarshal(answer, &parsed))
	for i := range parsed.Choices {
		parsed.Choices[i].RoutedExperts = nil
	}
	data, err := json.Marshal(parsed)
	require.NoError(t, err)
	return string(data)
}

func TestWithCaptureOffStreamsCarryTokensAndNoRows(t *testing.T) {
	on, off := start(t), start(t, "--aux-output-config", `{}`)
	for _, perChunk := range []bool{false, true} {
		body := object{
			"token_ids": count(0, 40), "sampling_params": object{"max_tokens": 6, "seed": 3, "routed_experts_prompt_start": 5},
			"stream": true, "routed_experts_per_chunk": perChunk,
		}
		var with, without []uint32
		for _, c := range on.events(t, "/inference/v1/generate", body) {
			with = append(with, c.TokenIDs...)
		}
		chunks := off.events(t, "/inference/v1/generate", body)
		for i, c := range chunks {
			require.Nil(t, c.RoutedExperts)
			require.Equal(t, i == len(chunks)-1, c.FinishReason != nil)
			without = append(without, c.TokenIDs...)
		}
		require.Equal(t, with, without)
		require.Len(t, without, 6)
	}
}

// TestWithCaptureOffTheStartIsCheckedAndMeansNothing is what vLLM does: it checks the
// range before it knows whether there will be rows (PR 56844).
func TestWithCaptureOffTheStartIsCheckedAndMeansNothing(t *testing.T) {
	off, _ := launch(t, "--aux-output-config", `{"enable_return_routed_experts": false}`)
	for start, want := range map[string]int{"0": 200, "13": 200, "14": 200, "null": 200, "15": 400, "-1": 400, "9223372036854775808": 400, `"1"`: 400} {
		code, data := off.post(t, "/v1/completions", object{
			"prompt": count(0, 14), "max_tokens": 3, "routed_experts_prompt_start": json.RawMessage(start),
		})
		require.Equal(t, want, code, "%s: %s", start, data)
		if want == 200 {
			require.NotContains(t, string(data), "routed_experts")
		} else {
			require.Contains(t, string(data), `"param":"routed_experts_prompt_start"`)
		}
	}
}

// TestWithCaptureOffNoGuardRuns has a set-up that breaks nearly every rule.
func TestWithCaptureOffNoGuardRuns(t *testing.T) {
	broken := []string{
		"-pipeline-parallel-size", "0", "-decode-context-parallel-size", "-4", "-prefill-context-parallel-size", "2",
		"-kv-connector", "NixlConnector", "-adaptive-speculation", "--no-enable-prefix-caching",
	}
	for _, config := range configsOff {
		off := start(t, append([]string{"--aux-output-config", config}, broken...)...)
		require.Len(t, off.generate(t, count(0, 20), 3, 0).TokenIDs, 3)
	}
	refused(t, append([]string{"--aux-output-config", `{"enable_return_routed_experts": true}`}, broken...)...)
}

// TestWithCaptureOffNothingIsStarted compares what the kernel says of two processes
// with the same 8 GiB budget.
func TestWithCaptureOffNothingIsStarted(t *testing.T) {
	if _, err := os.Stat("/proc/self/status"); err != nil || strconv.IntSize < 64 {
		t.Skip("LOUD: no /proc, or a small address space, so the memory of the processes is not compared")
	}
	const budget = int64(8 << 30)
	_, on := launch(t, "--aux-output-config", fmt.Sprintf(`{"enable_return_routed_experts": true, "max_bytes": %d}`, budget))
	_, off := launch(t, "--aux-output-config", fmt.Sprintf(`{"enable_return_routed_experts": false, "max_bytes": %d}`, budget))
	_, least := launch(t, "--aux-output-config", `{}`, "-num-gpu-blocks", "2")
	require.Greater(t, mapped(t, on), mapped(t, off)+budget*9/10)
	require.InDelta(t, mapped(t, least), mapped(t, off), 256<<20, "no memory is mapped for rows")

	s, err := parse([]string{"--aux-output-config", `{}`}, io.Discard)
	require.NoError(t, err)
	p, err := s.plan()
	require.NoError(t, err)
	b, err := p.start(s)
	require.NoError(t, err)
	require.IsType(t, plain{}, b, "no engine, so neither store nor connector")
	_, err = plan{}.start(s)
	require.ErrorIs(t, err, guard.ErrNotChecked)
}

// mapped is the size of a process's address space.
func mapped(t *testing.T, pid int) int64 {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	require.NoError(t, err)
	found := regexp.MustCompile(`VmSize:\s+(\d+) kB`).FindSubmatch(data)
	require.NotNil(t, found, string(data))
	kib, err := strconv.ParseInt(string(found[1]), 10, 64)
	require.NoError(t, err)
	return kib << 10
}

// TestBothBackendsRefuseTheSameRequests walks over the edge of a small KV cache.
func TestBothBackendsRefuseTheSameRequests(t *testing.T) {
	args := []string{"-num-gpu-blocks", "5", "-block-size", "8"} // room for 32 tokens
	on, off := start(t, args...), start(t, append(args, "--aux-output-config", `{}`)...)
	served, refusals := 0, 0
	for prompt := 26; prompt <= 36; prompt++ {
		for _, output := range []int{1, 2, 5} {
			body := object{"token_ids": count(0, prompt), "sampling_params": object{"max_tokens": output}}
			with, answer := on.post(t, "/inference/v1/generate", body)
			without, plainly := off.post(t, "/inference/v1/generate", body)
			require.Equal(t, with, without, "%d and %d: %s against %s", prompt, output, bytes.TrimSpace(answer), plainly)
			if with == 200 {
				served++
			} else {
				refusals++
				require.Equal(t, 400, with)
				require.Contains(t, strings.ToLower(string(plainly)), "too large")
			}
		}
	}
	require.Positive(t, served)
	require.Positive(t, refusals)
}
