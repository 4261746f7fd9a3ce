package main

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

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
