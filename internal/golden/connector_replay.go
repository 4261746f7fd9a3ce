package golden

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"

	"github.com/auxoutput/auxoutput/blockhash"
	"github.com/auxoutput/auxoutput/connector"
	"github.com/auxoutput/auxoutput/connector/guard"
	"github.com/auxoutput/auxoutput/routing"
	"github.com/auxoutput/auxoutput/store"
)

// connectorReplay is the two halves of a connector and what a trace needs beside.
type connectorReplay struct {
	trace     connectorTrace
	profile   routing.Profile
	table     hashTable
	store     *store.Store
	worker    *connector.Worker
	scheduler *connector.Scheduler

	metas   []*connector.Metadata // built and to be used by the step of the same number
	running map[string]bool       // requests that metadata made by hand has started
	output  connector.Output      // of the latest step
	known   bool                  // that step had metadata
	ended   bool                  // an error ended the trace
	kv      *registrations        // what the KV cache has filed; nil in Reference mode
}

func replayConnector(report *Report, trace connectorTrace) error {
	r, err := newConnectorReplay(trace, connector.Reference)
	if err != nil {
		return err
	}
	defer r.close()
	for number := range trace.Events {
		event := &trace.Events[number]
		if r.ended {
			return fmt.Errorf("event %d follows an error", number)
		}
		c := report.Case(trace.ID, number)
		if err := r.replay(c, event); err != nil {
			return fmt.Errorf("event %d: %w", number, err)
		}
		c.Done()
	}
	return nil
}

func newConnectorReplay(trace connectorTrace, mode connector.Mode) (*connectorReplay, error) {
	r := &connectorReplay{trace: trace, running: map[string]bool{}}
	var err error
	if r.table, err = newHashTable(trace.Hashes); err != nil {
		return nil, err
	}
	perKVBlock := 1
	if trace.Profile.Block > 0 {
		perKVBlock = max(1, min(trace.KVBlock/trace.Profile.Block, 1<<10))
	}
	checked, err := guard.Check(guard.SingleRank())
	if err != nil {
		return nil, err
	}
	r.scheduler, err = connector.NewScheduler(connector.SchedulerOptions{Checked: checked, Mode: mode, KVBlocks: mostKVBlocks, HashesPerBlock: perKVBlock})
	if err != nil {
		return nil, err
	}
	if trace.Kind == "sched" {
		r.profile, err = routing.NewProfile(1, 1, 1) // outputs are counted in bytes
		return r, err
	}
	if r.profile, err = recordedProfile(trace.Profile.Layers, trace.Profile.TopK, trace.Profile.DType); err != nil {
		return nil, err
	}
	for field, n := range map[string]int{"block": trace.Profile.Block, "slots": trace.Slots, "max_num_seqs": trace.Sequences, "max_num_batched_tokens": trace.StepTokens, "max_concurrent_batches": trace.InFlight} {
		if n < 1 || n > 1<<10 {
			return nil, fmt.Errorf("%s is %d", field, n)
		}
	}
	if r.profile.RowBytes() > sha256.Size {
		return nil, fmt.Errorf("rows of %d bytes are longer than the digest they are made of", r.profile.RowBytes())
	}
	pool, err := connector.PoolBlocks(trace.Profile.Block, trace.Sequences, trace.StepTokens, trace.InFlight)
	if err != nil {
		return nil, err
	}
	if pool > maxRecordedRows/trace.Profile.Block {
		return nil, fmt.Errorf("a pool of %d blocks of %d rows is more than %d rows", pool, trace.Profile.Block, maxRecordedRows)
	}
	blockBytes, err := r.profile.BlockBytes(trace.Profile.Block)
	if err != nil {
		return nil, err
	}
	if int64(trace.Slots)*int64(blockBytes) > maxRecordedBytes {
		return nil, fmt.Errorf("%d slots of %d bytes are more than %d", trace.Slots, blockBytes, maxRecordedBytes)
	}
	if r.store, err = store.New(store.Options{MaxBytes: int64(trace.Slots) * int64(blockBytes), BlockBytes: blockBytes}); err != nil {
		return nil, err
	}
	r.worker, err = connector.NewWorker(r.store, connector.Options{
		Checked: checked, Mode: mode, Profile: r.profile, BlockTokens: trace.Profile.Block,
		MaxSequences: trace.Sequences, MaxStepTokens: trace.StepTokens, MaxInFlight: trace.InFlight,
		Check: connector.CheckOff, // recorded rows are digests
	})
	if err != nil {
		return nil, errors.Join(err, r.store.Close())
	}
	return r, nil
}

func (r *connectorReplay) close() {
	if r.store != nil {
		r.store.Close() // its memory is all there is to give back
	}
}

func (r *connectorReplay) replay(c *Case, event *connectorEvent) error {
	switch event.Ev {
	case "finished":
		id, err := event.id()
		if err != nil {
			return err
		}
		hashes, err := r.hashesOf(id, event.Hashes)
		if err != nil {
			return err
		}
		c.Equal("error", "ok", connectorKind(r.scheduler.Finish(connector.Request{ID: id, Hashes: hashes})))
	case "reset":
		r.scheduler.Reset()
	case "build":
		return r.build(c, event)
	case "step":
		return r.step(c, event)
	case "take":
		return r.take(c, event)
	default:
		return fmt.Errorf("unknown event %q", event.Ev)
	}
	return nil
}

// hashesOf are the first n hashes of a request.
func (r *connectorReplay) hashesOf(id string, n int) ([]blockhash.Hash, error) {
	request, ok := r.trace.Requests[id]
	if !ok || n < 0 || n > len(request.Hashes) {
		return nil, fmt.Errorf("request %q has no %d hashes", id, n)
	}
	return r.table.of(request.Hashes[:n])
}

// requests are the live ones, those that are scheduled first and in that order.
func (r *connectorReplay) requests(event *connectorEvent) (scheduled, others []connector.Request, err error) {
	places := map[string]int{}
	for i, id := range event.Sched {
		places[id] = i
	}
	scheduled = make([]connector.Request, len(event.Sched))
	for _, live := range event.Live {
		hashes, err := r.hashesOf(live.ID, live.Hashes)
		if err != nil {
			return nil, nil, err
		}
		request := r.request(live, hashes)
		if at, ok := places[live.ID]; ok {
			scheduled[at] = request
		} else {
			others = append(others, request)
		}
	}
	return scheduled, others, nil
}

// request is a live request as the scheduler half sees it.
func (r *connectorReplay) request(live connectorLive, hashes []blockhash.Hash) connector.Request {
	request := connector.Request{
		ID: live.ID, Tokens: live.Tokens, Outputs: live.Outputs,
		PromptStart: r.trace.Requests[live.ID].PromptStart,
		Hashes:      hashes, Registered: r.registeredOf(live.ID, len(hashes)),
	}
	if r.kv != nil && r.kv.tables[live.ID] != nil {
		request.Blocks = r.kv.table(live.ID, request.Registered/r.kv.perKVBlock)
	}
	return request
}

func (r *connectorReplay) build(c *Case, event *connectorEvent) error {
	scheduled, others, err := r.requests(event)
	if err != nil {
		return err
	}
	_, kind, err := event.errKind()
	if err != nil {
		return err
	}
	meta := new(connector.Metadata)
	got := r.scheduler.Build(meta, scheduled, others)
	if kind != "" {
		r.ended = true
		c.Equal("error", kind, connectorKind(got))
		return nil
	}
	if c.Equal("error", "ok", connectorKind(got)) && event.Meta != nil {
		c.Equal("metadata", *event.Meta, r.recorded(meta))
	}
	r.metas = append(r.metas, meta)
	return nil
}

// recorded is metadata in the form of the recording: hashes of scheduled requests,
// then of others, then of finished ones, as far as there are any.
func (r *connectorReplay) recorded(meta *connector.Metadata) connectorMeta {
	m := connectorMeta{Generation: meta.Generation, Requests: []connectorEmit{}, Hashes: []connectorHashes{}, Finished: []string{}}
	hashes := func(id string, list []blockhash.Hash) {
		if len(list) > 0 {
			m.Hashes = append(m.Hashes, connectorHashes{id, r.table.indexesOf(list)})
		}
	}
	for _, s := range meta.Scheduled {
		m.Requests = append(m.Requests, connectorEmit{s.ID, s.EmitStart})
		hashes(s.ID, s.Keys)
	}
	for _, u := range meta.Updates {
		hashes(u.ID, u.Keys)
	}
	for _, f := range meta.Finished {
		m.Finished = append(m.Finished, f.ID)
		hashes(f.ID, f.Keys)
	}
	return m
}

// byHand makes metadata of a recorded one. A request that is scheduled and does
// not run yet starts.
func (r *connectorReplay) byHand(from *connectorMeta) (*connector.Metadata, error) {
	if from == nil {
		return nil, nil
	}
	meta := &connector.Metadata{Generation: from.Generation}
	if len(r.metas) > 0 {
		if last := r.metas[len(r.metas)-1]; last != nil && from.Generation > last.Generation {
			clear(r.running)
		}
	}
	hashes := map[string][]blockhash.Hash{}
	for _, h := range from.Hashes {
		list, err := r.table.of(h.Hashes)
		if err != nil {
			return nil, err
		}
		hashes[h.ID] = list
	}
	named := map[string]bool{}
	for _, e := range from.Requests {
		meta.Scheduled = append(meta.Scheduled, connector.Scheduled{ID: e.ID, New: !r.running[e.ID], EmitStart: e.Start, Keys: hashes[e.ID]})
		r.running[e.ID], named[e.ID] = true, true
	}
	for _, id := range from.Finished {
		update := connector.Update{ID: id}
		if !named[id] {
			update.Keys = hashes[id]
		}
		meta.Finished = append(meta.Finished, update)
		named[id] = true
		delete(r.running, id)
	}
	for _, h := range from.Hashes {
		if !named[h.ID] {
			meta.Updates = append(meta.Updates, connector.Update{ID: h.ID, Keys: hashes[h.ID]})
		}
	}
	return meta, nil
}

// metaOf is the metadata of a step.
func (r *connectorReplay) metaOf(event *connectorEvent) (*connector.Metadata, error) {
	if r.trace.Kind == "worker" {
		meta, err := r.byHand(event.Meta)
		r.metas = append(r.metas, meta)
		return meta, err
	}
	if event.K < 0 || event.K >= len(r.metas) {
		return nil, nil
	}
	return r.metas[event.K], nil
}

func (r *connectorReplay) step(c *Case, event *connectorEvent) error {
	meta, err := r.metaOf(event)
	if err != nil {
		return err
	}
	phase, kind, err := event.errKind()
	if err != nil {
		return err
	}
	r.known = meta != nil
	before := r.state()
	step, fault := r.worker.Begin(meta)
	gotPhase := "apply"
	if fault == nil && event.Batch != nil {
		gotPhase, before = "commit", r.state()
		fault = r.worker.Process(step, event.Batch.batch(r.profile.RowBytes()), &r.output)
	} else {
		r.output.Reset()
	}
	switch {
	case kind == "range" && r.trace.ID == waitingBlockRead:
		// The reference looks for a full block without a hash in the tail.
		c.Deviates()
		r.ended = true
		c.Equal("error", "ok", connectorKind(fault))
		r.compareRead(c)
		return nil
	case kind != "":
		r.ended = true
		c.Equal("phase", phase, gotPhase)
		c.Equal("error", kind, connectorKind(fault))
		c.Equal("state after a refusal", before, r.state())
		if kind == "cannot_fit" {
			c.Deviates() // sticky and fatal in the reference, rolled back here
		}
		return nil
	}
	if !c.Equal("error", "ok", connectorKind(fault)) {
		r.ended = true
		return nil
	}
	r.compareOutput(c, event)
	r.compareState(c, event)
	return nil
}

func (r *connectorReplay) take(c *Case, event *connectorEvent) error {
	id, err := event.id()
	if err != nil {
		return err
	}
	if r.trace.Kind == "sched" {
		r.output.Reset()
		r.output.RowBytes = 1
		if event.Given != nil {
			if event.Given[1] < 0 || event.Given[1] > maxRecordedRows {
				return fmt.Errorf("%d rows are given", event.Given[1])
			}
			given := connector.RequestOutput{ID: id, Start: event.Given[0], Rows: make([]byte, event.Given[1])}
			r.output.Requests = append(r.output.Requests, given)
		}
	}
	rows, ok, fault := r.output.Take(id, event.Tokens, event.Finished)
	got := connectorKind(fault)
	if fault == nil && !ok {
		got = "none"
	}
	if r.emptyInsteadOf(event) {
		c.Deviates()
		c.Equal("result", "ok", got)
		c.Equal("rows", 0, len(rows))
		return nil
	}
	c.Equal("result", event.Result, got)
	if c.Equal("rows", event.Rows*r.profile.RowBytes(), len(rows)) && r.trace.Kind == "full" {
		r.compareRule(c, id, rows)
	}
	return nil
}

// waitingBlockRead is the trace in which the reference cannot read a full block
// whose hash it does not know.
const waitingBlockRead = "26e-pending-read"

// emptyInsteadOf reports whether a take has no row where the recorded versions of
// the reference refuse and later ones return an empty result.
func (r *connectorReplay) emptyInsteadOf(event *connectorEvent) bool {
	if event.Result == "ok" {
		return false
	}
	if strings.HasPrefix(r.trace.ID, promptStartAtEnd) {
		return event.Result == "output_missing"
	}
	return event.Given != nil && event.Tokens-1 == event.Given[0]
}

// promptStartAtEnd begins the ids of the traces in which no row of the prompt is
// wanted.
const promptStartAtEnd = "39-"
