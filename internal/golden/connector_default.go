package golden

import (
	"errors"
	"fmt"
	"strings"

	auxerrors "github.com/auxoutput/auxoutput/errors"

	"github.com/auxoutput/auxoutput/connector"
)

// registrations work out which leading hashes of each request the KV cache has
// filed, which the recording does not say. The recorded engine registers whole KV
// blocks, as soon as their known tokens are scheduled and again when the tokens of
// a step have settled.
type registrations struct {
	perKVBlock int // hash blocks of a KV block
	block      int // tokens of a hash block
	scheduled  []map[string]int
	counts     map[string]int
}

func newRegistrations(trace connectorTrace) (registrations, error) {
	r := registrations{block: trace.Profile.Block, counts: map[string]int{}}
	if trace.KVBlock < trace.Profile.Block || trace.KVBlock%trace.Profile.Block != 0 {
		return r, fmt.Errorf("a KV block of %d tokens is not a multiple of %d", trace.KVBlock, trace.Profile.Block)
	}
	r.perKVBlock = trace.KVBlock / trace.Profile.Block
	for _, event := range trace.Events {
		if event.Ev != "step" {
			continue
		}
		computed := map[string]int{}
		if b := event.Batch; b != nil && len(b.Bounds) > len(b.IDs) && len(b.Starts) == len(b.IDs) {
			for i, id := range b.IDs {
				computed[id] = b.Starts[i] + b.Bounds[i+1] - b.Bounds[i]
			}
		}
		r.scheduled = append(r.scheduled, computed)
	}
	return r, nil
}

// reach registers what lies before a token.
func (r *registrations) reach(id string, tokens, hashes int) int {
	whole := min(tokens/r.block, hashes) / r.perKVBlock * r.perKVBlock
	r.counts[id] = max(r.counts[id], whole)
	return r.counts[id]
}

// registered is how many leading hashes of a request count: all known ones for a
// scheduler half that does not care.
func (r *connectorReplay) registeredOf(id string, hashes int) int {
	if r.kv == nil {
		return hashes
	}
	computed := 0
	if build := len(r.metas); build < len(r.kv.scheduled) {
		computed = r.kv.scheduled[build][id]
	}
	return r.kv.reach(id, computed, hashes)
}

// isHole reports whether a trace shows a hole that the default mode closes: a full
// trace that ends badly although the store has a slot for each hash block.
func (t *connectorTrace) isHole() bool { return t.Kind == "full" && strings.HasPrefix(t.ID, "H") }

// replayDefault replays a hole in the default mode. The scheduler's decisions are
// the recorded ones; up to the end of the trace they would be the same.
func replayDefault(report *Report, trace connectorTrace) error {
	r, err := newConnectorReplay(trace, connector.FailClosed)
	if err != nil {
		return err
	}
	defer r.close()
	kv, err := newRegistrations(trace)
	if err != nil {
		return err
	}
	r.kv = &kv
	for number := range trace.Events {
		event := &trace.Events[number]
		c := report.Case(trace.ID+" ("+connector.FailClosed.String()+")", number)
		if err := r.serve(c, event); err != nil {
			return fmt.Errorf("event %d in the default mode: %w", number, err)
		}
		c.Done()
	}
	return nil
}

// serve replays an event of a hole: nothing fails, and all rows obey the rule.
func (r *connectorReplay) serve(c *Case, event *connectorEvent) error {
	switch event.Ev {
	case "build":
		scheduled, others, err := r.requests(event)
		if err != nil {
			return err
		}
		meta := new(connector.Metadata)
		c.Equal("error", "ok", connectorKind(r.scheduler.Build(meta, scheduled, others)))
		r.metas = append(r.metas, meta)
		return nil
	case "step":
		return r.serveStep(c, event)
	case "take":
		id, err := event.id()
		if err != nil {
			return err
		}
		r.kv.reach(id, event.Tokens-1, len(r.trace.Requests[id].Hashes))
	case "finished":
		id, err := event.id()
		if err != nil {
			return err
		}
		hashes, err := r.hashesOf(id, event.Hashes)
		if err != nil {
			return err
		}
		c.Equal("error", "ok", connectorKind(r.scheduler.Finish(id, hashes, r.kv.reach(id, 0, len(hashes)))))
		delete(r.kv.counts, id)
		return nil
	}
	return r.replay(c, event)
}

func (r *connectorReplay) serveStep(c *Case, event *connectorEvent) error {
	meta, err := r.metaOf(event)
	if err != nil {
		return err
	}
	step, fault := r.worker.Begin(meta)
	if fault == nil && event.Batch != nil {
		fault = r.worker.Process(step, event.Batch.batch(), &r.output)
	}
	if !c.Equal("error", "ok", connectorKind(fault)) || event.Batch == nil {
		return nil
	}
	for _, out := range r.output.Requests {
		if out.Err != nil {
			c.Fail("output of "+out.ID, "rows", errorText(out.Err))
			continue
		}
		r.compareRule(c, out.ID, out.Rows)
	}
	if event.Err == nil {
		c.Equal("outputs", len(event.Out), len(r.output.Requests))
	}
	return nil
}

// errorText says whether a request failed for lack of rows.
func errorText(err error) string {
	if errors.Is(err, auxerrors.ErrAbsent) {
		return "missing: " + err.Error()
	}
	return err.Error()
}
