package main

import (
	"encoding/json"
	"fmt"

	"github.com/auxoutput/auxoutput/routing"
)

// prompt is text or a list of token ids.
type prompt []uint32

// UnmarshalJSON takes both forms.
func (p *prompt) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		*p = tokenize(text)
		return nil
	}
	var tokens []uint32
	if err := json.Unmarshal(data, &tokens); err != nil {
		return fmt.Errorf("prompt: want text or a list of token ids: %w", err)
	}
	*p = tokens
	return nil
}

// sampling are the parameters that concern this server; all others are ignored.
type sampling struct {
	MaxTokens   *int                `json:"max_tokens"`
	Seed        uint64              `json:"seed"`
	PromptStart routing.PromptStart `json:"routed_experts_prompt_start"`
	N           *int                `json:"n"`
}

type completionRequest struct {
	sampling
	Model  string `json:"model"`
	Prompt prompt `json:"prompt"`
	Stream bool   `json:"stream"`
}

type chatRequest struct {
	sampling
	Model    string    `json:"model"`
	Messages []message `json:"messages"`
	Stream   bool      `json:"stream"`
}

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// generateRequest is token in, token out.
type generateRequest struct {
	Model    string   `json:"model"`
	TokenIDs []uint32 `json:"token_ids"`
	Sampling sampling `json:"sampling_params"`
	Stream   bool     `json:"stream"`

	// RowsPerChunk sends the rows of a streamed answer with the tokens they
	// belong to, in spans that follow each other, instead of all at the end.
	RowsPerChunk bool `json:"routed_experts_per_chunk"`
}

type response struct {
	ID      string   `json:"id"`
	Object  string   `json:"object,omitempty"`
	Model   string   `json:"model,omitempty"`
	Choices []choice `json:"choices"`
	Usage   *usage   `json:"usage,omitempty"`
}

type choice struct {
	Index         int            `json:"index"`
	Text          *string        `json:"text,omitempty"`
	Message       *message       `json:"message,omitempty"`
	Delta         *message       `json:"delta,omitempty"`
	TokenIDs      []uint32       `json:"token_ids,omitempty"`
	FinishReason  *string        `json:"finish_reason"`
	RoutedExperts *routing.Field `json:"routed_experts,omitempty"`
}

type usage struct {
	PromptTokens     int `json:"prompt_tokens"`
	CompletionTokens int `json:"completion_tokens"`
	TotalTokens      int `json:"total_tokens"`
}

// job checks a request against the limits. It does so alike with capture on and off;
// off, where the rows start is checked and means nothing.
func (l limits) job(tokens []uint32, s sampling) (job, error) {
	output := 16
	if s.MaxTokens != nil {
		output = *s.MaxTokens
	}
	switch {
	case len(tokens) == 0:
		return job{}, bad("the prompt is empty")
	case s.N != nil && *s.N != 1:
		return job{}, bad("n = %d: one choice a request", *s.N)
	case output < 1 || output > l.tokens:
		return job{}, bad("max_tokens = %d: want 1 to %d", output, l.tokens)
	case len(tokens) > l.tokens-output:
		return job{}, bad("%d prompt tokens and %d to generate: want at most %d", len(tokens), output, l.tokens)
	}
	for i, token := range tokens {
		if token >= vocabulary {
			return job{}, bad("token %d is %d: want below %d", i, token, vocabulary)
		}
	}
	start, err := s.PromptStart.Resolve(len(tokens))
	if err != nil {
		return job{}, err
	}
	return job{prompt: tokens, output: output, seed: s.Seed, start: start}, nil
}
