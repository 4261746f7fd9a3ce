package golden

import (
	"errors"
	"fmt"
	"strings"

	"github.com/auxoutput/auxoutput/blockhash"
	"github.com/auxoutput/auxoutput/connector"
	auxerrors "github.com/auxoutput/auxoutput/errors"
)

// registrations work out which leading hashes of each request the KV cache has
// filed, and in which KV blocks, which the recording does not say. The recorded engine
// registers whole KV blocks, as soon as their known tokens are scheduled and again when
// the tokens of a step have settled. Here a block of its own is never used twice: the
// connector is told of no reuse, and need not be.
type registrations struct {
	perKVBlock int // hash blocks of a KV block
	block      int // tokens of a hash block
	scheduled  []map[string]int
	starts     []map[string]int
	counts     map[string]int
	tables     map[string][]int32 // by live request
	filed      map[blockhash.Hash]int32
	last       int32 // block handed out
}

// mostKVBlocks is more than a recorded trace fills.
const mostKVBlocks = 1 << 14

func newRegistrations(trace connectorTrace) (registrations, error) {
	r := registrations{
		block: trace.Profile.Block, counts: map[string]int{},
		tables: map[string][]int32{}, filed: map[blockhash.Hash]int32{},
	}
	if trace.KVBlock < trace.Profile.Block || trace.KVBlock%trace.Profile.Block != 0 {
		return r, fmt.Errorf("a KV block of %d tokens is not a multiple of %d", trace.KVBlock, trace.Profile.Block)
	}
	r.perKVBlock = trace.KVBlock / trace.Profile.Block
	for _, event := range trace.Events {
		if event.Ev != "step" {
			continue
		}
		computed, starts := map[string]int{}, map[string]int{}
		if b := event.Batch; b != nil && len(b.Bounds) > len(b.IDs) && len(b.Starts) == len(b.IDs) {
			for i, id := range b.IDs {
				computed[id] = b.Starts[i] + b.Bounds[i+1] - b.Bounds[i]
				starts[id] = b.Starts[i]
			}
		}
		r.scheduled, r.starts = append(r.scheduled, computed), append(r.starts, starts)
	}
	return r, nil
}

// reach registers what lies before a token.
func (r *registrations) reach(id string, tokens, hashes int) int {
	whole := min(tokens/r.block, hashes) / r.perKVBlock * r.perKVBlock
	r.counts[id] = max(r.counts[id], whole)
	return r.counts[id]
}

// table is the KV blocks of a request that is live, at least so many.
func (r *registrations) table(id string, blocks int) []int32 {
	for len(r.tables[id]) < blocks {
		r.last++
		r.tables[id] = append(r.tables[id], r.last)
	}
	return r.tables[id]
}

// extend tells the scheduler half what the KV cache has registered for a request.
func (r *connectorReplay) extend(request connector.Request) error {
	for at := range request.Registered / r.kv.perKVBlock {
		r.kv.filed[request.Hashes[(at+1)*r.kv.perKVBlock-1]] = request.Blocks[at]
	}
	return r.scheduler.Extend(request)
}

// admit admits the requests whose first step an event builds, those first whose hits are
// filed: a request may hit blocks that another one fills in the same step.
func (r *connectorReplay) admit(event *connectorEvent) error {
	live := map[string]connectorLive{}
	for _, l := range event.Live {
		live[l.ID] = l
	}
	for waiting := event.Sched; len(waiting) > 0; {
		var still []string
		for _, id := range waiting {
			hashes, err := r.hashesOf(id, live[id].Hashes)
			if err != nil {
				return err
			}
			if _, ok := r.kv.tables[id]; !ok {
				hit, ok := r.hitOf(id, hashes)
				if !ok {
					still = append(still, id)
					continue
				}
				if err := r.scheduler.Admit(connector.Admission{ID: id, Hashes: hashes, Hit: hit}); err != nil {
					return err
				}
				r.kv.tables[id] = hit
			}
			if err := r.extend(r.request(live[id], hashes)); err != nil {
				return err
			}
		}
		if len(still) == len(waiting) {
			return fmt.Errorf("request %q hits blocks that nobody has filled", still[0])
		}
		waiting = still
	}
	return nil
}

// hitOf are the KV blocks that a request hits: its first step begins behind them.
func (r *connectorReplay) hitOf(id string, hashes []blockhash.Hash) (hit []int32, ok bool) {
	build := len(r.metas)
	if build >= len(r.kv.starts) {
		return []int32{}, true
	}
	hit = []int32{}
	for end := r.kv.perKVBlock; end*r.kv.block <= r.kv.starts[build][id]; end += r.kv.perKVBlock {
		if end > len(hashes) {
			return nil, false
		}
		block, ok := r.kv.filed[hashes[end-1]]
		if !ok {
			return nil, false
		}
		hit = append(hit, block)
	}
	return hit, true
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
		if err := r.admit(event); err != nil {
			return err
		}
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
		request := r.request(connectorLive{ID: id}, hashes)
		if err := r.extend(request); err != nil && r.kv.tables[id] != nil {
			return err
		}
		c.Equal("error", "ok", connectorKind(r.scheduler.Finish(request)))
		delete(r.kv.counts, id)
		delete(r.kv.tables, id)
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
		fault = r.worker.Process(step, event.Batch.batch(r.profile.RowBytes()), &r.output)
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
