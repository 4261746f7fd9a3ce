package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/bench/engine"
	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/routing"
)

// failing is a backend whose jobs yield some tokens and then fail.
type failing struct {
	plain
	after int
	err   error
}

func (f failing) generate(ctx context.Context, j job, each func(delivery) error) error {
	for range f.after {
		if err := each(delivery{tokens: []uint32{1}}); err != nil {
			return err
		}
	}
	return f.err
}

func (f failing) reset() error { return f.err }

// handlerOn is a handler in front of a backend, with rows of one byte.
func handlerOn(t *testing.T, b backend) *handler {
	t.Helper()
	profile, err := routing.NewProfile(1, 1, 8)
	require.NoError(t, err)
	return &handler{
		backend: b, model: "m", profile: &profile,
		limits: limits{bodyBytes: 1 << 10, tokens: 64, timeout: time.Minute},
	}
}

// lost is what a request gets whose rows are gone, with the store's own words.
func lost(reason error) error {
	return &auxerrors.BlockObjectStoreError{
		Op: "get", Reason: reason, Hash: []byte{0x1e, 0xf0}, Index: 2, Used: 9, Limit: 10, Advice: "increase max_bytes",
	}
}

func TestEveryErrorOfTheEngineHasItsStatusAndItsType(t *testing.T) {
	tooLarge := &auxerrors.BlockObjectStoreError{
		Op: "reserve", Reason: auxerrors.ErrCannotFit, Index: -1, Limit: 4, Detail: "the request needs 5 slots", Advice: "increase max_bytes",
	}
	for name, tc := range map[string]struct {
		err    error
		status int
		kind   string
	}{
		"larger than the store":             {tooLarge, 400, "BadRequestError"},
		"larger than the store, bare":       {auxerrors.ErrCannotFit, 400, "BadRequestError"},
		"larger than the store, by the way": {fmt.Errorf("request 7: %w", tooLarge), 400, "BadRequestError"},
		"larger than the KV cache":          {fmt.Errorf("%w: 99 tokens", engine.ErrNoRoom), 400, "BadRequestError"},
		"rows evicted":                      {lost(auxerrors.ErrEvicted), 500, "BlockObjectStoreError"},
		"rows never stored":                 {fmt.Errorf("request 7: %w", lost(auxerrors.ErrNeverStored)), 500, "BlockObjectStoreError"},
		"rows removed":                      {lost(auxerrors.ErrRemoved), 500, "BlockObjectStoreError"},
		"rows absent, bare":                 {auxerrors.ErrAbsent, 500, "BlockObjectStoreError"},
		"rows corrupt":                      {lost(auxerrors.ErrCorrupt), 500, "BlockObjectStoreError"},
		"rows of older weights":             {lost(auxerrors.ErrGeneration), 500, "BlockObjectStoreError"},
		"a put that failed":                 {errors.Join(auxerrors.ErrPublication, lost(auxerrors.ErrMemory)), 500, "BlockObjectStoreError"},
		"a stopped engine":                  {errStopped, 503, "ServiceUnavailableError"},
		"an aborted request":                {engine.ErrAborted, 503, "ServiceUnavailableError"},
		"a request out of time":             {context.DeadlineExceeded, 504, "GatewayTimeoutError"},
		"wrong rows":                        {errors.New("1 rows are not those of their tokens"), 500, "InternalServerError"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, stream := range []bool{false, true} {
				h := handlerOn(t, failing{err: tc.err})
				answer := httptest.NewRecorder()
				body := fmt.Sprintf(`{"token_ids":[1,2,3],"stream":%t}`, stream)
				h.generate(answer, httptest.NewRequest("POST", "/", strings.NewReader(body)))
				requireFailure(t, answer, tc.status, tc.kind, tc.err.Error())
			}
			answer := httptest.NewRecorder()
			handlerOn(t, failing{err: tc.err}).reset(answer, httptest.NewRequest("POST", "/", nil))
			requireFailure(t, answer, tc.status, tc.kind, tc.err.Error())
		})
	}
}

// requireFailure is an answer that has nothing but an error in it.
func requireFailure(t *testing.T, answer *httptest.ResponseRecorder, status int, kind, message string) {
	t.Helper()
	require.Equal(t, status, answer.Code)
	require.Equal(t, "application/json", answer.Header().Get("Content-Type"))
	var body map[string]failure
	require.NoError(t, json.Unmarshal(answer.Body.Bytes(), &body))
	require.Equal(t, map[string]failure{"error": {Message: message, Type: kind, Code: status}}, body)
}

func TestAnAnswerThatFailsHalfWayHasNoPartOfIt(t *testing.T) {
	h := handlerOn(t, failing{after: 3, err: lost(auxerrors.ErrEvicted)})
	answer := httptest.NewRecorder()
	h.generate(answer, httptest.NewRequest("POST", "/", strings.NewReader(`{"token_ids":[1,2,3]}`)))
	requireFailure(t, answer, 500, "BlockObjectStoreError", lost(auxerrors.ErrEvicted).Error())
}

func TestAStreamThatBreaksOffSaysWhyAndHasNoEnd(t *testing.T) {
	h := handlerOn(t, failing{after: 2, err: lost(auxerrors.ErrEvicted)})
	answer := httptest.NewRecorder()
	h.generate(answer, httptest.NewRequest("POST", "/", strings.NewReader(`{"token_ids":[1,2,3],"stream":true}`)))
	require.Equal(t, 200, answer.Code)
	events := strings.Split(strings.TrimSpace(answer.Body.String()), "\n\n")
	require.Len(t, events, 3, "two chunks and the error")
	require.NotContains(t, answer.Body.String(), "[DONE]")
	require.NotContains(t, answer.Body.String(), "routed_experts")
	var last map[string]failure
	require.NoError(t, json.Unmarshal([]byte(strings.TrimPrefix(events[2], "data: ")), &last))
	require.Equal(t, "BlockObjectStoreError", last["error"].Type)
	require.Equal(t, lost(auxerrors.ErrEvicted).Error(), last["error"].Message)
}

// short is a backend that hands out fewer rows than there are, or more.
type short struct {
	plain
	rows int
}

func (s short) generate(_ context.Context, j job, each func(delivery) error) error {
	return each(delivery{tokens: make([]uint32, j.output), rows: make([]byte, s.rows), done: true})
}

func TestAnAnswerWithAnotherNumberOfRowsIsNotSent(t *testing.T) {
	for rows := range 10 {
		for _, stream := range []bool{false, true} {
			answer := httptest.NewRecorder()
			body := fmt.Sprintf(`{"token_ids":[1,2,3],"sampling_params":{"max_tokens":3},"stream":%t}`, stream)
			handlerOn(t, short{rows: rows}).generate(answer, httptest.NewRequest("POST", "/", strings.NewReader(body)))
			if rows == 3+3-1 {
				require.Equal(t, 200, answer.Code)
				require.Contains(t, answer.Body.String(), `"routed_experts":"`)
			} else {
				require.Equal(t, 500, answer.Code, "%d rows, stream %t", rows, stream)
				require.NotContains(t, answer.Body.String(), "routed_experts")
			}
		}
	}
}
