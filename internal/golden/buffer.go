package golden

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/auxoutput/auxoutput/connector"
	"github.com/auxoutput/auxoutput/routing"
)

// maxRecordedRows bounds the rows that a recorded trace may ask memory for.
const maxRecordedRows = 1 << 16

type bufferFile struct {
	Traces []bufferTrace `json:"traces"`
}

type bufferTrace struct {
	ID         string `json:"id"`
	Layers     int    `json:"layers"`
	TopK       int    `json:"top_k"`
	DType      string `json:"dtype"`
	Block      int    `json:"block"`
	Sequences  int    `json:"max_num_seqs"`
	StepTokens int    `json:"max_num_batched_tokens"`
	InFlight   int    `json:"max_concurrent_batches"`
	PoolBlocks int    `json:"pool_blocks"`

	Ops []bufferOp `json:"ops"`
}

type bufferOp struct {
	Op        string            `json:"op"`
	Req       string            `json:"req"`
	Start     int               `json:"start"`
	End       int               `json:"end"`
	N         int               `json:"n"`
	Rows      hexBytes          `json:"rows"`
	Block     string            `json:"block"`
	Copied    bool              `json:"copied"`
	Completed []bufferBlock     `json:"completed"`
	Result    string            `json:"result"`
	Free      int               `json:"free"`
	Owned     int               `json:"owned"`
	Tails     map[string][2]int `json:"tails"`
}

// bufferBlock is [name, start, rows, owned].
type bufferBlock struct {
	Name  string
	Start int
	Rows  hexBytes
	Owned bool
}

func (b *bufferBlock) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, &[4]any{&b.Name, &b.Start, &b.Rows, &b.Owned})
}

// String is the form that is recorded.
func (b hexBytes) String() string { return hex.EncodeToString(b) }

// Buffer replays operations of the reference's buffer of tails and waiting blocks
// (capture, read, retain, release, discard, reset).
//
// Compared after each operation: result, blocks that became full and whether they
// have their own memory, rows, and how the pool is used.
func Buffer(data []byte) (*Report, error) {
	var file bufferFile
	if err := decode(data, &file); err != nil {
		return nil, err
	}
	report := &Report{}
	for _, trace := range file.Traces {
		if err := replayBuffer(report, trace); err != nil {
			return nil, fmt.Errorf("trace %q: %w", trace.ID, err)
		}
	}
	return report, nil
}

// bufferReplay is a pool with the tails and blocks that the recording names.
type bufferReplay struct {
	pool   *connector.TailPool
	tails  map[string]*connector.Tail
	blocks map[string]connector.TailBlock
	inputs [][]byte
}

func replayBuffer(report *Report, trace bufferTrace) error {
	profile, err := recordedProfile(trace.Layers, trace.TopK, trace.DType)
	if err != nil {
		return err
	}
	blocks, err := connector.PoolBlocks(trace.Block, trace.Sequences, trace.StepTokens, trace.InFlight)
	if err != nil {
		return err
	}
	if blocks > maxRecordedRows/trace.Block {
		return fmt.Errorf("a pool of %d blocks of %d rows is more than %d rows", blocks, trace.Block, maxRecordedRows)
	}
	if blocks*trace.Block > maxRecordedBytes/profile.RowBytes() {
		return fmt.Errorf("a pool of %d rows of %d bytes is more than %d", blocks*trace.Block, profile.RowBytes(), maxRecordedBytes)
	}
	pool, err := connector.NewTailPool(blocks, trace.Block, profile.RowBytes())
	if err != nil {
		return err
	}
	r := bufferReplay{pool: pool}
	r.reset()
	for number, op := range trace.Ops {
		c := report.Case(trace.ID, number)
		c.Equal("pool blocks", trace.PoolBlocks, pool.Blocks())
		if err := r.replay(c, op); err != nil {
			return fmt.Errorf("op %d: %w", number, err)
		}
		if op.Op != "peek" && op.Op != "clobber" {
			r.compare(c, op)
		}
		c.Done()
	}
	return nil
}

func (r *bufferReplay) reset() {
	r.pool.Reset()
	r.tails, r.blocks = map[string]*connector.Tail{}, map[string]connector.TailBlock{}
}

func (r *bufferReplay) tail(id string) *connector.Tail {
	if r.tails[id] == nil {
		r.tails[id] = new(connector.Tail)
	}
	return r.tails[id]
}

func (r *bufferReplay) replay(c *Case, op bufferOp) error {
	switch op.Op {
	case "capture":
		r.inputs = append(r.inputs, op.Rows)
		blocks, err := r.pool.Capture(r.tail(op.Req), op.Start, op.N, op.Rows, nil)
		c.Equal("result", op.Result, connectorKind(err))
		if err == nil {
			r.compareCompleted(c, op.Completed, blocks)
		}
	case "read":
		rows, err := r.pool.Read(r.tail(op.Req), nil, op.Start, op.End)
		c.Equal("result", op.Result, connectorKind(err))
		if err == nil {
			c.Equal("rows", op.Rows, hexBytes(rows))
		}
	case "retain":
		was := r.blocks[op.Block]
		kept, err := r.pool.Keep(was)
		c.Equal("result", op.Result, connectorKind(err))
		if err == nil {
			c.Equal("copied", op.Copied, !was.Owned())
			c.Equal("rows", op.Rows, hexBytes(kept.Rows))
			r.blocks[op.Block] = kept
		}
	case "peek":
		c.Equal("rows", op.Rows, hexBytes(r.blocks[op.Block].Rows))
	case "clobber":
		for _, rows := range r.inputs {
			for i := range rows {
				rows[i] = ^rows[i]
			}
		}
	case "release":
		r.pool.Release(r.blocks[op.Block])
	case "discard":
		r.pool.Discard(r.tail(op.Req))
	case "reset":
		r.reset()
	default:
		return fmt.Errorf("unknown operation %q", op.Op)
	}
	return nil
}

func (r *bufferReplay) compareCompleted(c *Case, want []bufferBlock, got []connector.TailBlock) {
	if !c.Equal("blocks completed", len(want), len(got)) {
		return
	}
	for i, b := range got {
		c.Equal("block", want[i], bufferBlock{want[i].Name, b.Start, b.Rows, b.Owned()})
		r.blocks[want[i].Name] = b
	}
}

func (r *bufferReplay) compare(c *Case, op bufferOp) {
	tails := map[string][2]int{}
	for id, tail := range r.tails {
		if start, end := r.pool.Bounds(tail); end > start {
			tails[id] = [2]int{start, end - start}
		}
	}
	c.Equal("free blocks", op.Free, r.pool.Free())
	c.Equal("blocks with memory of their own", op.Owned, r.pool.Blocks()-r.pool.Free()-r.pool.Tails())
	c.Equal("tails", op.Tails, tails)
}

// recordedProfile is the profile of rows of a recorded shape and type.
func recordedProfile(layers, topK int, dtype string) (routing.Profile, error) {
	experts := map[string]int{"uint8": routing.MaxNarrowExperts, "uint16": 512}[dtype]
	if experts == 0 {
		return routing.Profile{}, fmt.Errorf("unknown dtype %q", dtype)
	}
	return routing.NewProfile(layers, topK, experts)
}

// connectorKinds are the reference's words for what is refused.
var connectorKinds = []struct {
	err  error
	kind string
}{
	{connector.ErrGenerationBackwards, "generation_backwards"},
	{connector.ErrRunAndFinish, "run_and_finish"},
	{connector.ErrEmitAhead, "emit_ahead"},
	{connector.ErrUnknownRequest, "unknown_request"},
	{connector.ErrTokenCount, "token_count"},
	{connector.ErrRejectedCount, "rejected_count"},
	{connector.ErrCaptureGap, "capture_gap"},
	{connector.ErrCaptureBackwards, "capture_backwards"},
	{connector.ErrNotContiguous, "not_contiguous"},
	{connector.ErrSkippedBlock, "skipped_block"},
	{connector.ErrNegativeStart, "negative_start"},
	{connector.ErrProfile, "profile"},
	{connector.ErrExhausted, "exhausted"},
	{connector.ErrRange, "range"},
	{connector.ErrHashesShrank, "hashes_shrank"},
	{connector.ErrOutputMissing, "output_missing"},
	{connector.ErrInvalidRange, "invalid_range"},
	{connector.ErrNoAcceptedRange, "no_accepted_range"},
}

// connectorKind is the reference's word for an error.
func connectorKind(err error) string {
	for _, k := range connectorKinds {
		if errors.Is(err, k.err) {
			return k.kind
		}
	}
	return storeResult(err)
}
