package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http"
	"strings"

	"github.com/auxoutput/auxoutput/bench/engine"
	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/routing"
)

// handler answers requests with what the backend generates.
type handler struct {
	backend *backend
	model   string
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
		whole: func(c *choice, tokens []uint32) { text := detokenize(tokens); c.Text = &text },
		part:  func(c *choice, tokens []uint32) { text := detokenize(tokens); c.Text = &text },
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

func newHandler(b *backend, s settings) http.Handler {
	h := &handler{backend: b, model: s.model, limits: s.limits}
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
	if h.read(w, r, &q) {
		h.answer(w, r, completion, q.Prompt, q.sampling, q.Stream, false)
	}
}

func (h *handler) chat(w http.ResponseWriter, r *http.Request) {
	var q chatRequest
	if !h.read(w, r, &q) {
		return
	}
	// The template of the simulated model: every message in its turn.
	var text strings.Builder
	for _, m := range q.Messages {
		fmt.Fprintf(&text, "<|%s|> %s ", m.Role, m.Content)
	}
	text.WriteString("<|assistant|>")
	tokens := tokenize(text.String())
	if len(q.Messages) == 0 {
		tokens = nil
	}
	h.answer(w, r, chat, tokens, q.sampling, q.Stream, false)
}

func (h *handler) generate(w http.ResponseWriter, r *http.Request) {
	var q generateRequest
	if h.read(w, r, &q) {
		h.answer(w, r, generate, q.TokenIDs, q.Sampling, q.Stream, q.RowsPerChunk)
	}
}

func (h *handler) reset(w http.ResponseWriter, _ *http.Request) {
	if err := h.backend.reset(); err != nil {
		h.fail(w, err)
	}
}

// read decodes the body of a request, and answers it if that does not work.
func (h *handler) read(w http.ResponseWriter, r *http.Request, into any) bool {
	body := http.MaxBytesReader(w, r.Body, h.limits.bodyBytes)
	err := json.NewDecoder(body).Decode(into)
	var status interface{ StatusCode() int }
	var large *http.MaxBytesError
	switch {
	case err == nil:
		return true
	case errors.As(err, &large), errors.As(err, &status):
		h.fail(w, err)
	default:
		h.fail(w, bad("the body: %v", err))
	}
	return false
}

// answer runs a request and writes what comes of it.
func (h *handler) answer(w http.ResponseWriter, r *http.Request, f form, tokens []uint32, s sampling, stream, perChunk bool) {
	job, err := h.limits.job(tokens, s)
	if err != nil {
		h.fail(w, err)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), h.limits.timeout)
	defer cancel()
	if stream {
		h.stream(ctx, w, f, job, perChunk)
		return
	}
	var output []uint32
	var rows []byte
	if err := h.backend.generate(ctx, job, func(d engine.Delivery) error {
		output = append(output, d.Tokens...)
		rows = append(rows, d.Rows...)
		return nil
	}); err != nil {
		h.fail(w, err)
		return
	}
	all, err := h.backend.rows(job.PromptStart, rows)
	if err != nil {
		h.fail(w, err)
		return
	}
	// The last token never ran, so the answer must have one row less than tokens.
	if err := all.CheckTokens(len(tokens)+len(output), 0); err != nil {
		h.fail(w, err)
		return
	}
	c := choice{FinishReason: reason("length"), RoutedExperts: routing.NpyField(all)}
	f.whole(&c, output)
	w.Header().Set("Content-Type", "application/json")
	// The client may be gone: then there is nobody to tell.
	_ = json.NewEncoder(w).Encode(response{
		ID: "gen", Object: f.object, Model: h.model, Choices: []choice{c},
		Usage: &usage{len(tokens), len(output), len(tokens) + len(output)},
	})
}

// stream writes a chunk for every delivery, as server-sent events.
func (h *handler) stream(ctx context.Context, w http.ResponseWriter, f form, job engine.Job, perChunk bool) {
	plan, err := routing.NewStream(job.PromptStart, perChunk)
	if err != nil {
		h.fail(w, err)
		return
	}
	control := http.NewResponseController(w)
	begun := false
	known := len(job.Prompt)
	var held []byte // rows from sent on
	sent := job.PromptStart
	err = h.backend.generate(ctx, job, func(d engine.Delivery) error {
		known += len(d.Tokens)
		held = append(held, d.Rows...)
		c := choice{}
		if d.Done {
			c.FinishReason = reason("length")
		}
		f.part(&c, d.Tokens)
		span, present, err := plan.Chunk(known-1, d.Done)
		if err != nil {
			return err
		}
		if present && f.rowsInChunks {
			size := span.Len() * h.backend.config.Profile.RowBytes()
			if span.Start != sent || size > len(held) {
				return fmt.Errorf("rows %v, but there are %d bytes from %d on", span, len(held), sent)
			}
			rows, err := h.backend.rows(span.Start, held[:size])
			if err != nil {
				return err
			}
			if c.RoutedExperts = routing.NpyField(rows); perChunk {
				c.RoutedExperts = routing.ObjectField(rows) // states where it starts
			}
			defer func() { held, sent = held[size:], span.End }()
		}
		if !begun {
			begun = true
			w.Header().Set("Content-Type", "text/event-stream")
		}
		data, err := json.Marshal(response{ID: "gen", Object: f.chunk, Model: h.model, Choices: []choice{c}})
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "data: %s\n\n", data); err != nil {
			return err
		}
		return control.Flush()
	})
	switch {
	case err == nil:
		fmt.Fprint(w, "data: [DONE]\n\n")
	case begun:
		// Too late for a status: the stream ends without its [DONE].
		log.Printf("a stream broke off: %v", err)
		fmt.Fprintf(w, "data: %s\n\n", errorBody(err))
	default:
		h.fail(w, err)
	}
}

// fail writes an error with the status that fits it. A request whose rows are gone
// fails alone; it can be sent again.
func (h *handler) fail(w http.ResponseWriter, err error) {
	code := http.StatusInternalServerError
	var status interface{ StatusCode() int }
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &status):
		code = status.StatusCode()
	case errors.As(err, &large):
		code = http.StatusRequestEntityTooLarge
	case errors.Is(err, engine.ErrNoRoom), errors.Is(err, auxerrors.ErrCannotFit):
		code = http.StatusBadRequest
	case errors.Is(err, auxerrors.ErrAbsent), errors.Is(err, errStopped), errors.Is(err, engine.ErrAborted):
		code = http.StatusServiceUnavailable
	case errors.Is(err, context.DeadlineExceeded):
		code = http.StatusGatewayTimeout
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	fmt.Fprintf(w, "%s\n", errorBody(err))
}

func errorBody(err error) []byte {
	var body struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	body.Error.Message = err.Error()
	data, _ := json.Marshal(body) // text always encodes
	return data
}

func reason(text string) *string { return &text }
