package golden

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/auxoutput/auxoutput/blockhash"
	"github.com/auxoutput/auxoutput/prefixcache"
)

// MaxTraceBlocks is the largest pool that a trace of a prefix cache may ask for.
const MaxTraceBlocks = 1 << 16

// cacheFile is a file of prefix cache traces.
type cacheFile struct {
	Algo   string
	Seed   *string
	Traces []cacheTrace
}

type cacheTrace struct {
	ID        string
	NumBlocks int `json:"num_blocks"`
	Groups    []struct {
		Kind      string
		BlockSize int `json:"block_size"`
		Window    int
	}
	SchedulerBlockSize int `json:"scheduler_block_size"`
	HashBlockSize      int `json:"hash_block_size"`
	Eagle              bool
	Requests           map[string]struct {
		Tokens []uint32
		LoRA   string
		Salt   string
	}
	Ops []cacheOp
}

// cacheOp is an operation with what was recorded after it. A field is nil if the
// recording does not have it.
type cacheOp struct {
	Op       string
	Req      string
	Schedule int
	Token    uint32
	IDs      []int32
	Hit      *int
	OK       *bool
	Blocks   *[][]int32
	Free     *[]int32
	Keys     *int
	Events   *[]json.RawMessage
}

// PrefixCache replays a file of prefix cache traces: one case per operation, in
// which the hit, whether there was room, the block tables, the free list, the
// number of keys and the events are compared.
//
// Damaged JSON and operations that no cache can do are an error that says where.
// A trace may ask for at most [MaxTraceBlocks] blocks.
func PrefixCache(data []byte) (*Report, error) {
	var file cacheFile
	if err := decode(data, &file); err != nil {
		return nil, fmt.Errorf("prefix cache traces: %w", err)
	}
	if len(file.Traces) == 0 {
		return nil, errors.New("prefix cache traces: none in this file")
	}
	algorithm, err := blockhash.ParseAlgorithm(file.Algo)
	if err != nil {
		return nil, fmt.Errorf("prefix cache traces: algo: %w", err)
	}
	if file.Seed == nil {
		return nil, errors.New("prefix cache traces: no seed")
	}
	root, err := blockhash.SeedRoot(algorithm, *file.Seed)
	if err != nil {
		return nil, fmt.Errorf("prefix cache traces: seed: %w", err)
	}
	report := new(Report)
	for i := range file.Traces {
		trace := &file.Traces[i]
		replay, err := newCacheReplay(trace, algorithm, root)
		if err != nil {
			return nil, fmt.Errorf("trace %d (%q): %w", i, trace.ID, err)
		}
		for n := range trace.Ops {
			c := report.Case(trace.ID, n)
			if err := replay.step(c, &trace.Ops[n]); err != nil {
				return nil, fmt.Errorf("trace %d (%q) op %d: %w", i, trace.ID, n, err)
			}
			c.Done()
		}
	}
	return report, nil
}

// cacheReplay is a trace in progress.
type cacheReplay struct {
	trace    *cacheTrace
	cache    *prefixcache.Cache
	requests map[string]*cacheRequest
	root     blockhash.Hash
	algo     blockhash.Algorithm
	hash     int
	free     []int32 // used again, and never nil
}

type cacheRequest struct {
	prefixcache.Request
	chain *blockhash.Chain
}

func newCacheReplay(trace *cacheTrace, algo blockhash.Algorithm, root blockhash.Hash) (*cacheReplay, error) {
	if trace.NumBlocks > MaxTraceBlocks {
		return nil, fmt.Errorf("num_blocks = %d, want at most %d", trace.NumBlocks, MaxTraceBlocks)
	}
	cfg := prefixcache.Config{
		Blocks:          trace.NumBlocks,
		HashTokens:      trace.HashBlockSize,
		SchedulerTokens: trace.SchedulerBlockSize,
		Eagle:           trace.Eagle,
		Events:          true,
	}
	for i, g := range trace.Groups {
		group := prefixcache.Group{BlockTokens: g.BlockSize, Window: g.Window}
		switch g.Kind {
		case prefixcache.FullAttention.String():
			group.Kind = prefixcache.FullAttention
		case prefixcache.SlidingWindow.String():
			group.Kind = prefixcache.SlidingWindow
		default:
			return nil, fmt.Errorf("groups[%d]: unknown kind %q", i, g.Kind)
		}
		cfg.Groups = append(cfg.Groups, group)
	}
	cache, err := prefixcache.New(cfg)
	if err != nil {
		return nil, err
	}
	return &cacheReplay{
		trace: trace, cache: cache, requests: map[string]*cacheRequest{},
		root: root, algo: algo, hash: cache.Config().HashTokens, free: []int32{},
	}, nil
}

// request finds a request of the trace, and makes it when it is first named.
func (p *cacheReplay) request(name string) (*cacheRequest, error) {
	if r := p.requests[name]; r != nil {
		return r, nil
	}
	recorded, ok := p.trace.Requests[name]
	if !ok {
		return nil, fmt.Errorf("no request %q", name)
	}
	chain, err := blockhash.NewChain(p.algo, p.root, p.hash, blockhash.Request{LoRA: recorded.LoRA, Salt: recorded.Salt})
	if err != nil {
		return nil, fmt.Errorf("request %q: %w", name, err)
	}
	r := &cacheRequest{chain: chain}
	r.Prompt = len(recorded.Tokens)
	r.append(recorded.Tokens...)
	p.requests[name] = r
	return r, nil
}

func (r *cacheRequest) append(tokens ...uint32) {
	r.chain.Append(tokens...)
	r.Tokens += len(tokens)
	r.Hashes = r.chain.Hashes()
}

// step does one operation and compares what came of it.
func (p *cacheReplay) step(c *Case, op *cacheOp) error {
	var err error
	switch op.Op {
	case "evict":
		err = p.cache.EvictBlocks(op.IDs...)
	case "reset":
		err = equalIfRecorded(c, "ok", op.OK, p.cache.Reset())
	default:
		err = p.stepRequest(c, op)
	}
	if err != nil {
		return err
	}
	p.free = p.cache.AppendFreeList(p.free[:0])
	return errors.Join(
		equalIfRecorded(c, "free", op.Free, p.free),
		equalIfRecorded(c, "keys", op.Keys, p.cache.Keys()),
		equalEvents(c, op.Events, p.cache.DrainEvents(nil)),
	)
}

// equalEvents compares events in text form.
func equalEvents(c *Case, recorded *[]json.RawMessage, events []prefixcache.Event) error {
	if recorded == nil {
		return errors.New(`no "events" recorded`)
	}
	want, got := []string{}, []string{}
	for i, raw := range *recorded {
		text, err := recordedEvent(raw)
		if err != nil {
			return fmt.Errorf("events[%d]: %w", i, err)
		}
		want = append(want, text)
	}
	for _, e := range events {
		got = append(got, eventText(e))
	}
	c.Equal("events", want, got)
	return nil
}

// stepRequest does an operation on one request.
func (p *cacheReplay) stepRequest(c *Case, op *cacheOp) error {
	r, err := p.request(op.Req)
	if err != nil {
		return err
	}
	ok := true
	switch op.Op {
	case "admit":
		var hit int
		hit, ok, err = p.cache.Admit(&r.Request, prefixcache.NoLimit, op.Schedule)
		if err == nil {
			err = equalIfRecorded(c, "hit", op.Hit, hit)
		}
	case "continue":
		ok, err = p.cache.Allocate(&r.Request, op.Schedule, 0)
	case "decode":
		r.append(op.Token)
		ok, err = p.cache.Allocate(&r.Request, 1, 0)
	case "finish":
		return p.cache.Free(&r.Request)
	case "preempt":
		return p.cache.Preempt(&r.Request)
	default:
		return fmt.Errorf("unknown operation %q", op.Op)
	}
	if err == nil {
		err = equalIfRecorded(c, "ok", op.OK, ok)
	}
	if err != nil || !ok || !*op.OK {
		return err // a request without room has no tables on record
	}
	tables := make([][]int32, len(p.trace.Groups))
	for g := range tables {
		tables[g] = slices.Clone(r.Table(g))
	}
	return equalIfRecorded(c, "blocks", op.Blocks, tables)
}

// equalIfRecorded compares a field that the kind of operation must have.
func equalIfRecorded[T any](c *Case, field string, want *T, got T) error {
	if want == nil {
		return fmt.Errorf("no %q recorded", field)
	}
	c.Equal(field, *want, got)
	return nil
}

// recordedEvent brings a recorded event into the form of eventText.
func recordedEvent(raw json.RawMessage) (string, error) {
	var parts []json.RawMessage
	if err := json.Unmarshal(raw, &parts); err != nil {
		return "", err
	}
	var tag string
	if len(parts) == 0 || json.Unmarshal(parts[0], &tag) != nil {
		return "", errors.New("no tag")
	}
	var group, tokens, blockTokens int
	var parent *string
	var hashes []string
	var fields []any
	switch tag {
	case "S":
		fields = []any{&tag, &group, &parent, &hashes, &tokens, &blockTokens}
	case "R":
		fields = []any{&tag, &group, &hashes}
	case "C":
		fields = []any{&tag}
	}
	if len(fields) != len(parts) {
		return "", fmt.Errorf("event %q of %d parts", tag, len(parts))
	}
	for i, field := range fields {
		if err := json.Unmarshal(parts[i], field); err != nil {
			return "", fmt.Errorf("part %d: %w", i, err)
		}
	}
	return formatEvent(tag, group, parent, hashes, tokens, blockTokens), nil
}

// eventText is an event as the traces have it: hashes cut to 64 bits.
func eventText(e prefixcache.Event) string {
	var hashes []string
	for _, h := range e.Hashes {
		hashes = append(hashes, strconv.FormatUint(h.Low64(), 10))
	}
	switch e.Kind {
	case prefixcache.Removed:
		return formatEvent("R", e.Group, nil, hashes, 0, 0)
	case prefixcache.Cleared:
		return formatEvent("C", 0, nil, nil, 0, 0)
	}
	var parent *string
	if !e.Parent.IsZero() {
		text := strconv.FormatUint(e.Parent.Low64(), 10)
		parent = &text
	}
	return formatEvent("S", e.Group, parent, hashes, e.Tokens, e.BlockTokens)
}

func formatEvent(tag string, group int, parent *string, hashes []string, tokens, blockTokens int) string {
	after := "start"
	if parent != nil {
		after = *parent
	}
	list := strings.Join(hashes, " ")
	switch tag {
	case "S":
		return fmt.Sprintf("stored group %d after %s: [%s], %d tokens, block %d", group, after, list, tokens, blockTokens)
	case "R":
		return fmt.Sprintf("removed group %d: [%s]", group, list)
	}
	return "cleared"
}
