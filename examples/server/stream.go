package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"

	"github.com/auxoutput/auxoutput/routing"
)

// rowStream puts the rows of a streamed answer into its chunks.
type rowStream struct {
	profile  routing.Profile
	plan     *routing.Stream
	perChunk bool
	known    int    // tokens so far
	held     []byte // rows from sent on
	sent     int
}

// add takes a delivery in and returns the rows of its chunk, nil if it has none.
func (r *rowStream) add(d delivery) (*routing.Field, error) {
	r.known += len(d.tokens)
	r.held = append(r.held, d.rows...)
	span, present, err := r.plan.Chunk(r.known-1, d.done)
	if err != nil || !present {
		return nil, err
	}
	size := span.Len() * r.profile.RowBytes()
	if span.Start != r.sent || size > len(r.held) {
		return nil, fmt.Errorf("rows %v, but there are %d bytes from %d on", span, len(r.held), r.sent)
	}
	rows, err := routing.NewRows(r.profile, span.Start, r.held[:size])
	if err != nil {
		return nil, err
	}
	r.held, r.sent = r.held[size:], span.End
	if d.done && len(r.held) > 0 {
		return nil, fmt.Errorf("%d bytes of rows are left behind row %d, the last", len(r.held), r.sent)
	}
	if r.perChunk {
		return routing.ObjectField(rows), nil // states where it starts
	}
	return routing.NpyField(rows), nil
}

// stream writes a chunk for every delivery, as server-sent events.
func (h *handler) stream(ctx context.Context, w http.ResponseWriter, f form, j job, perChunk bool) {
	var rows *rowStream
	if h.profile != nil && f.rowsInChunks {
		plan, err := routing.NewStream(j.start, perChunk)
		if err != nil {
			fail(w, err)
			return
		}
		rows = &rowStream{profile: *h.profile, plan: plan, perChunk: perChunk, known: len(j.prompt), sent: j.start}
	}
	control := http.NewResponseController(w)
	begun := false
	err := h.backend.generate(ctx, j, func(d delivery) (err error) {
		c := choice{}
		if d.done {
			c.FinishReason = text("length")
		}
		f.part(&c, d.tokens)
		if rows != nil {
			if c.RoutedExperts, err = rows.add(d); err != nil {
				return err
			}
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
		fmt.Fprintf(w, "data: %s\n\n", failureOf(err).body())
	default:
		fail(w, err)
	}
}
