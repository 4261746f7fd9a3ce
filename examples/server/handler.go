package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/auxoutput/auxoutput/routing"
)

// handler answers requests with what the backend generates.
type handler struct {
	backend backend
	model   string
	profile *routing.Profile // of the rows; nil if none are returned
	limits  limits
}

// form is what sets the endpoints apart: how tokens look in an answer, and whether
// streamed chunks carry rows.
type form struct {
	object, chunk string
	whole         func(c *choice, tokens []uint32) // the choice of a plain answer
	part          func(c *choice, tokens []uint32) // the choice of a chunk
	rowsInChunks  bool
}

var (
	completion = form{
		object: "text_completion", chunk: "text_completion",
		whole: func(c *choice, tokens []uint32) { c.Text = text(detokenize(tokens)) },
		part:  func(c *choice, tokens []uint32) { c.Text = text(detokenize(tokens)) },
	}
	chat = form{
		object: "chat.completion", chunk: "chat.completion.chunk",
		whole: func(c *choice, tokens []uint32) { c.Message = &message{"assistant", detokenize(tokens)} },
		part:  func(c *choice, tokens []uint32) { c.Delta = &message{"assistant", detokenize(tokens)} },
	}
	generate = form{
		whole:        func(c *choice, tokens []uint32) { c.TokenIDs = tokens },
		part:         func(c *choice, tokens []uint32) { c.TokenIDs = tokens },
		rowsInChunks: true,
	}
)

func newHandler(b backend, profile *routing.Profile, s settings) http.Handler {
	h := &handler{backend: b, model: s.model, profile: profile, limits: s.limits}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/completions", h.completions)
	mux.HandleFunc("POST /v1/chat/completions", h.chat)
	mux.HandleFunc("POST /inference/v1/generate", h.generate)
	mux.HandleFunc("POST /reset_prefix_cache", h.reset)
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	return mux
}

func (h *handler) completions(w http.ResponseWriter, r *http.Request) {
	var q completionRequest
	if h.read(w, r, &q) && h.serves(w, q.Model) {
		h.answer(w, r, completion, q.Prompt, q.sampling, q.Stream, false)
	}
}

func (h *handler) chat(w http.ResponseWriter, r *http.Request) {
	var q chatRequest
	if !h.read(w, r, &q) || !h.serves(w, q.Model) {
		return
	}
	// The template of the simulated model: every message in its turn.
	var prompt strings.Builder
	for _, m := range q.Messages {
		fmt.Fprintf(&prompt, "<|%s|> %s ", m.Role, m.Content)
	}
	prompt.WriteString("<|assistant|>")
	tokens := tokenize(prompt.String())
	if len(q.Messages) == 0 {
		tokens = nil
	}
	h.answer(w, r, chat, tokens, q.sampling, q.Stream, false)
}

func (h *handler) generate(w http.ResponseWriter, r *http.Request) {
	var q generateRequest
	if h.read(w, r, &q) && h.serves(w, q.Model) {
		h.answer(w, r, generate, q.TokenIDs, q.Sampling, q.Stream, q.RowsPerChunk)
	}
}

func (h *handler) reset(w http.ResponseWriter, _ *http.Request) {
	if err := h.backend.reset(); err != nil {
		fail(w, err)
	}
}

// read decodes the body of a request, and answers it if that does not work.
func (h *handler) read(w http.ResponseWriter, r *http.Request, into any) bool {
	body := http.MaxBytesReader(w, r.Body, h.limits.bodyBytes)
	err := json.NewDecoder(body).Decode(into)
	var param *routing.RequestError
	var large *http.MaxBytesError
	switch {
	case err == nil:
		return true
	case errors.As(err, &large), errors.As(err, &param):
		fail(w, err)
	default:
		fail(w, bad("the body: %v", err))
	}
	return false
}

// serves reports whether the model of a request is the one that is served, which is
// also the one meant if the request names none, and answers it if not.
func (h *handler) serves(w http.ResponseWriter, model string) bool {
	if model != "" && model != h.model {
		fail(w, unknownModel(model))
		return false
	}
	return true
}

// answer runs a request and writes what comes of it.
func (h *handler) answer(w http.ResponseWriter, r *http.Request, f form, tokens []uint32, s sampling, stream, perChunk bool) {
	j, err := h.limits.job(tokens, s)
	if err != nil {
		fail(w, err)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), h.limits.timeout)
	defer cancel()
	if stream {
		h.stream(ctx, w, f, j, perChunk)
		return
	}
	var output []uint32
	var rows []byte
	if err := h.backend.generate(ctx, j, func(d delivery) error {
		output = append(output, d.tokens...)
		rows = append(rows, d.rows...)
		return nil
	}); err != nil {
		fail(w, err)
		return
	}
	c := choice{FinishReason: text("length")}
	if c.RoutedExperts, err = h.field(j.start, rows, len(tokens)+len(output)); err != nil {
		fail(w, err)
		return
	}
	f.whole(&c, output)
	w.Header().Set("Content-Type", "application/json")
	// The client may be gone: then there is nobody to tell.
	_ = json.NewEncoder(w).Encode(response{
		ID: "gen", Object: f.object, Model: h.model, Choices: []choice{c},
		Usage: &usage{len(tokens), len(output), len(tokens) + len(output)},
	})
}

// field is the rows of a whole answer of so many tokens; nil while capture is off.
func (h *handler) field(start int, data []byte, tokens int) (*routing.Field, error) {
	if h.profile == nil {
		return nil, nil
	}
	rows, err := routing.NewRows(*h.profile, start, data)
	if err != nil {
		return nil, err
	}
	// The last token never ran, so the answer must have one row less than tokens.
	if err := rows.CheckTokens(tokens, 0); err != nil {
		return nil, err
	}
	return routing.NpyField(rows), nil
}
