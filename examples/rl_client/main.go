// Command rl_client shows how an RL trainer collects the routing rows of a
// conversation: in each turn it asks only for rows it does not have yet, joins
// them, and at the end holds them against one full fetch.
//
//	go run ./examples/server &
//	go run ./examples/rl_client -url http://127.0.0.1:8000
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"time"

	"github.com/auxoutput/auxoutput/routing"
	"github.com/auxoutput/auxoutput/routing/model"
)

func main() {
	err := run(context.Background(), os.Args[1:], os.Stdout)
	var usage usageError
	switch {
	case errors.As(err, &usage):
		fmt.Fprintln(os.Stderr, "rl_client:", err)
		os.Exit(2)
	case err != nil && !errors.Is(err, flag.ErrHelp):
		log.Fatal("rl_client: ", err)
	}
}

// usageError is a command line that the user has to correct.
type usageError struct{ error }

func run(ctx context.Context, args []string, out io.Writer) error {
	f := flag.NewFlagSet("rl_client", flag.ContinueOnError)
	url := f.String("url", "http://127.0.0.1:8000", "server")
	name := f.String("model", "Qwen3-30B-A3B", "model that the server runs")
	turns := f.Int("turns", 5, "turns of the conversation")
	allLayers := f.Bool("all-layers", false, "the server's rows have all hidden layers, as vLLM's do: docs/rl.md#how-many-layers-a-row-has")
	f.SetOutput(io.Discard)
	if err := f.Parse(args); errors.Is(err, flag.ErrHelp) {
		f.SetOutput(out)
		f.Usage()
		return err
	} else if err != nil {
		return usageError{err}
	}
	if f.NArg() > 0 || *turns < 1 {
		return usageError{fmt.Errorf("%d arguments and %d turns: want no argument and at least one turn", f.NArg(), *turns)}
	}
	m, err := model.Find(*name)
	if err != nil {
		return usageError{err}
	}
	profile, err := m.Profile(*allLayers)
	if err != nil {
		return usageError{err}
	}
	c := client{url: *url, profile: profile, http: &http.Client{Timeout: time.Minute}}
	return c.converse(ctx, *turns, out)
}

// client talks token in, token out.
type client struct {
	url     string
	profile routing.Profile
	http    *http.Client
}

// converse plays a conversation and checks its rows.
func (c client) converse(ctx context.Context, turns int, out io.Writer) error {
	var tokens []uint32
	var collected []routing.Turn
	bytesReceived := 0
	for turn := range turns {
		for i := range 40 { // what the environment says
			tokens = append(tokens, uint32(1000*turn+i))
		}
		// N known tokens have N-1 rows: the last one sampled never ran. Its row
		// comes with the next turn, in which it is part of the prompt.
		have := 0
		if n := len(collected); n > 0 {
			have = collected[n-1].Rows.End()
		}
		output, rows, err := c.generate(ctx, tokens, 25, have)
		if err != nil {
			return fmt.Errorf("turn %d: %w", turn, err)
		}
		tokens = append(tokens, output...)
		collected = append(collected, routing.Turn{Rows: rows})
		bytesReceived += len(rows.Data)
		fmt.Fprintf(out, "turn %d: %d tokens, %d new rows from %d on\n", turn, len(tokens), rows.Len(), rows.Start)
	}
	joined, err := routing.Join(collected...)
	if err != nil {
		return err
	}
	if err := joined.CheckTokens(len(tokens), 0); err != nil {
		return err
	}
	// One full fetch: the whole conversation as a prompt, and one token more. The
	// prompt's rows are there but the last, whose token ran only now.
	_, full, err := c.generate(ctx, tokens, 1, 0)
	if err != nil {
		return fmt.Errorf("full fetch: %w", err)
	}
	if !bytes.Equal(full.Data[:len(joined.Data)], joined.Data) {
		return errors.New("the rows of the turns are not those of the full fetch")
	}
	_, err = fmt.Fprintf(out, "%d rows joined from %d bytes, equal to one full fetch\n", joined.Len(), bytesReceived)
	return err
}

// generate asks for output tokens, and for the rows from position start on.
func (c client) generate(ctx context.Context, tokens []uint32, output, start int) ([]uint32, routing.Rows, error) {
	body, err := json.Marshal(map[string]any{
		"token_ids": tokens,
		"sampling_params": map[string]any{
			"max_tokens": output, "routed_experts_prompt_start": start,
		},
	})
	if err != nil {
		return nil, routing.Rows{}, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url+"/inference/v1/generate", bytes.NewReader(body))
	if err != nil {
		return nil, routing.Rows{}, err
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, routing.Rows{}, err
	}
	defer response.Body.Close() // read to its end, or not wanted
	data, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, routing.Rows{}, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, routing.Rows{}, fmt.Errorf("%s: %s", response.Status, data)
	}
	var answer struct {
		Choices []struct {
			TokenIDs      []uint32       `json:"token_ids"`
			RoutedExperts *routing.Field `json:"routed_experts"`
		}
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return nil, routing.Rows{}, err
	}
	if len(answer.Choices) != 1 {
		return nil, routing.Rows{}, fmt.Errorf("the answer has %d choices, want 1", len(answer.Choices))
	}
	// Rows that are not there must not be taken for those of a dense model.
	if answer.Choices[0].RoutedExperts == nil {
		return nil, routing.Rows{}, errors.New("the answer has no rows: was the server started with --enable-return-routed-experts?")
	}
	choice := answer.Choices[0]
	rows, err := choice.RoutedExperts.Rows(c.profile, start)
	if err != nil {
		return nil, routing.Rows{}, err
	}
	// A decoder rejects, it does not repair: a row too many or too few is an error.
	return choice.TokenIDs, rows, rows.CheckTokens(len(tokens)+len(choice.TokenIDs), 0)
}
