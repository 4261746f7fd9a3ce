package golden

import (
	"encoding/json"
	"fmt"

	"github.com/auxoutput/auxoutput/blockhash"
)

type connectorFile struct {
	Traces []connectorTrace `json:"traces"`
}

type connectorTrace struct {
	ID      string `json:"id"`
	Kind    string `json:"kind"`
	Profile struct {
		Layers int    `json:"layers"`
		TopK   int    `json:"top_k"`
		DType  string `json:"dtype"`
		Block  int    `json:"block"`
	} `json:"profile"`
	Slots      int                         `json:"slots"`
	Sequences  int                         `json:"max_num_seqs"`
	StepTokens int                         `json:"max_num_batched_tokens"`
	InFlight   int                         `json:"max_concurrent_batches"`
	KVBlock    int                         `json:"kv_block"`
	KVBlocks   int                         `json:"kv_blocks"`
	Async      bool                        `json:"async"`
	Hashes     []string                    `json:"hashes"`
	Requests   map[string]connectorRequest `json:"requests"`
	Events     []connectorEvent            `json:"events"`
}

type connectorRequest struct {
	Tokens      []uint32 `json:"tokens"`
	Prompt      int      `json:"prompt"`
	PromptStart int      `json:"prompt_start"`
	Hashes      []int    `json:"hashes"`
	Failed      string   `json:"failed"`
}

type connectorEvent struct {
	Ev     string          `json:"ev"`
	Req    json.RawMessage `json:"req"` // an id, or the state of the requests after a step
	Hashes int             `json:"hashes"`

	Sched []string        `json:"sched"`
	Live  []connectorLive `json:"live"`
	Meta  *connectorMeta  `json:"meta"`
	Err   json.RawMessage `json:"err"` // a kind, or a phase and a kind

	K     int              `json:"k"`
	Batch *connectorBatch  `json:"batch"`
	Out   []connectorRows  `json:"out"`
	Store *connectorStore  `json:"store"`
	Free  int              `json:"free"`
	_     map[string][]any // the reference's cursors are not compared

	Tokens   int     `json:"num_tokens"`
	Finished bool    `json:"finished"`
	Given    *[2]int `json:"given"`
	Result   string  `json:"result"`
	Rows     int     `json:"rows"`
}

// connectorLive is [id, tokens, sampled tokens, hashes].
type connectorLive struct {
	ID              string
	Tokens, Outputs int
	Hashes          int
}

func (l *connectorLive) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, &[4]any{&l.ID, &l.Tokens, &l.Outputs, &l.Hashes})
}

type connectorMeta struct {
	Generation uint64            `json:"gen"`
	Requests   []connectorEmit   `json:"req"`
	Hashes     []connectorHashes `json:"hashes"`
	Finished   []string          `json:"fin"`
}

// connectorEmit is [id, emit start].
type connectorEmit struct {
	ID    string
	Start int
}

func (e *connectorEmit) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, &[2]any{&e.ID, &e.Start})
}

// connectorHashes is [id, [hash...]].
type connectorHashes struct {
	ID     string
	Hashes []int
}

func (h *connectorHashes) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, &[2]any{&h.ID, &h.Hashes})
}

type connectorBatch struct {
	IDs      []string `json:"req"`
	Starts   []int    `json:"start"`
	Bounds   []int    `json:"qsl"`
	Sampled  []int    `json:"sampled"`
	Rejected []int    `json:"rejected"`
	Rows     hexBytes `json:"rows"`
}

// connectorRows is [id, token start, rows] or [id, "missing"].
type connectorRows struct {
	ID      string
	Start   int
	Rows    hexBytes
	Missing bool
}

func (r *connectorRows) UnmarshalJSON(data []byte) error {
	var fields []json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return err
	}
	if len(fields) == 2 {
		var word string
		if err := json.Unmarshal(data, &[2]any{&r.ID, &word}); err != nil {
			return err
		}
		if r.Missing = word == "missing"; !r.Missing {
			return fmt.Errorf("output %q", word)
		}
		return nil
	}
	return json.Unmarshal(data, &[3]any{&r.ID, &r.Start, &r.Rows})
}

type connectorStore struct {
	LRU  []string       `json:"lru"`
	Refs map[string]int `json:"refs"`
}

// Connector replays sequences of the reference's scheduler half and worker half,
// over the tail buffer and the store.
//
// Everything runs in Reference mode and in the recorded order, in which the
// metadata of a step takes effect after the output of the step before. Compared:
// the metadata built, outputs (their order is no contract), what the scheduler half
// takes of them, errors with their phase, the tail pool, and the store: keys,
// counts, and the order of the unreferenced keys, of the current generation. The
// reference keeps blocks of older ones until they age out.
//
// A trace that shows a hole of the reference is replayed a second time in the
// default mode, as far as what the scheduler would have told is known: then every
// request gets its rows.
func Connector(data []byte) (*Report, error) {
	var file connectorFile
	if err := decode(data, &file); err != nil {
		return nil, err
	}
	report := &Report{}
	for _, trace := range file.Traces {
		if err := replayConnector(report, trace); err != nil {
			return nil, fmt.Errorf("trace %q: %w", trace.ID, err)
		}
		if !trace.isHole() {
			continue
		}
		if err := replayDefault(report, trace); err != nil {
			return nil, fmt.Errorf("trace %q: %w", trace.ID, err)
		}
	}
	return report, nil
}

// errKind is the phase and the kind of a recorded error, empty if there is none.
func (e *connectorEvent) errKind() (phase, kind string, err error) {
	if e.Err == nil {
		return "", "", nil
	}
	if json.Unmarshal(e.Err, &kind) == nil {
		return "", kind, nil
	}
	var both struct{ Phase, Kind string }
	err = json.Unmarshal(e.Err, &both)
	return both.Phase, both.Kind, err
}

// id is the request of an event.
func (e *connectorEvent) id() (id string, err error) {
	err = json.Unmarshal(e.Req, &id)
	return id, err
}

// hashTable are the hashes of a trace by index, and the way back.
type hashTable struct {
	hashes []blockhash.Hash
	index  map[blockhash.Hash]int
}

func newHashTable(texts []string) (hashTable, error) {
	t := hashTable{index: make(map[blockhash.Hash]int, len(texts))}
	for i, text := range texts {
		hash, err := blockhash.Parse(text)
		if err != nil {
			return t, err
		}
		t.hashes = append(t.hashes, hash)
		t.index[hash] = i
	}
	return t, nil
}

// of are the hashes of a list of indexes.
func (t hashTable) of(indexes []int) ([]blockhash.Hash, error) {
	hashes := make([]blockhash.Hash, 0, len(indexes))
	for _, i := range indexes {
		if i < 0 || i >= len(t.hashes) {
			return nil, fmt.Errorf("hash %d of %d", i, len(t.hashes))
		}
		hashes = append(hashes, t.hashes[i])
	}
	return hashes, nil
}

// indexesOf is the way back.
func (t hashTable) indexesOf(hashes []blockhash.Hash) []int {
	indexes := make([]int, 0, len(hashes))
	for _, hash := range hashes {
		indexes = append(indexes, t.index[hash])
	}
	return indexes
}
