// Package rollout replays conversations through the prefix-cache model and the
// store, with real tokens, real block hashes and real rows, and checks every row
// that comes back. It is the main job of the bench command.
//
// Requests are served in order of arrival. A request looks up its prompt in the
// KV cache, retains the rows of the blocks it hit, computes the rest and
// publishes each block as it fills, generates its answer token by token, and then
// reads the rows of all its positions but the last. It stays live until a number
// of later requests have been served, as it would in a batch; then it frees its
// KV blocks and releases its rows in the same step.
package rollout

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/auxoutput/auxoutput/bench/trace"
	"github.com/auxoutput/auxoutput/bench/truth"
	"github.com/auxoutput/auxoutput/blockhash"
	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/prefixcache"
	"github.com/auxoutput/auxoutput/routing"
	"github.com/auxoutput/auxoutput/store"
)

// Settings say what the conversations are served with.
type Settings struct {
	BlockTokens int             // tokens of a KV block, which is one hash block
	KVBlocks    int             // blocks of the KV pool, the null block included
	Live        int             // requests that hold their blocks at a time
	Profile     routing.Profile // shape of the rows
	Slots       int             // slots of the store
}

// Result is what came of it.
type Result struct {
	Requests     int   `json:"requests"`
	PromptTokens int   `json:"prompt_tokens"`
	HitTokens    int   `json:"hit_tokens"`
	Hits         int   `json:"requests_with_a_hit"`
	Lost         int   `json:"requests_that_lost_rows"` // reads that found a block absent
	Refused      int   `json:"refused_puts"`            // batches that found no room
	Unserved     int   `json:"unserved"`                // requests larger than the KV cache
	RowsChecked  int64 `json:"rows_checked"`
	WrongRows    int64 `json:"wrong_rows"` // rows returned that are not those of their tokens

	Slots         int   `json:"slots"`
	MaxBytes      int64 `json:"max_bytes"`
	ResidentBytes int64 `json:"resident_bytes"` // rows and book-keeping of the slots ever used
	Evicted       int64 `json:"evicted"`
}

// HitRatio is the share of prompt tokens found in the KV cache.
func (r Result) HitRatio() float64 {
	if r.PromptTokens == 0 {
		return 0
	}
	return float64(r.HitTokens) / float64(r.PromptTokens)
}

// Safe reports whether every request got all its rows.
func (r Result) Safe() bool { return r.Lost == 0 && r.Refused == 0 }

// Replay serves the turns. An error is one of the set-up, or of a component that
// did what it never should; lost and wrong rows are in the result.
func Replay(turns []trace.Turn, settings Settings) (Result, error) {
	e, err := newEngine(settings)
	if err != nil {
		return Result{}, err
	}
	for _, turn := range turns {
		if err := e.serve(turn); err != nil {
			return Result{}, errors.Join(err, e.close())
		}
	}
	for len(e.live) > 0 {
		if err := e.retire(); err != nil {
			return Result{}, errors.Join(err, e.close())
		}
	}
	e.account()
	return e.result, e.close()
}

// engine serves one request at a time and keeps some of them live.
type engine struct {
	settings   Settings
	blockBytes int
	root       blockhash.Hash
	cache      *prefixcache.Cache
	store      *store.Store
	live       []*request
	rows       []byte // of the current request, as they should be
	read       []byte // as they came back
	result     Result
}

// request is a request that holds blocks.
type request struct {
	kv    prefixcache.Request
	chain *blockhash.Chain
	lease *store.Lease
}

const algorithm = blockhash.SHA256CBOR

func newEngine(settings Settings) (*engine, error) {
	if settings.Live < 1 {
		return nil, &auxerrors.ConfigError{Field: "live requests", Value: settings.Live, Want: "at least 1", Reason: auxerrors.ErrTooSmall}
	}
	blockBytes, err := settings.Profile.BlockBytes(settings.BlockTokens)
	if err != nil {
		return nil, err
	}
	root, err := blockhash.DefaultRoot(algorithm)
	if err != nil {
		return nil, err
	}
	cache, err := prefixcache.New(prefixcache.Config{
		Blocks: settings.KVBlocks,
		Groups: []prefixcache.Group{{Kind: prefixcache.FullAttention, BlockTokens: settings.BlockTokens}},
	})
	if err != nil {
		return nil, err
	}
	budget, err := store.Budget(settings.Slots, 1, blockBytes)
	if err != nil {
		return nil, err
	}
	s, err := store.New(store.Options{MaxBytes: budget, BlockBytes: blockBytes})
	if err != nil {
		return nil, err
	}
	return &engine{
		settings: settings, blockBytes: blockBytes, root: root, cache: cache, store: s,
		result: Result{Slots: settings.Slots, MaxBytes: budget},
	}, nil
}

func (e *engine) close() error { return e.store.Close() }

// serve takes a request from its admission to its answer.
func (e *engine) serve(turn trace.Turn) error {
	e.result.Requests++
	e.result.PromptTokens += len(turn.Prompt)
	e.rows = e.truthOf(turn)

	chain, err := blockhash.NewChain(algorithm, e.root, e.settings.BlockTokens, blockhash.Request{})
	if err != nil {
		return err
	}
	chain.Append(turn.Prompt...)
	r := &request{chain: chain, lease: e.store.Lease()}
	r.kv.Prompt, r.kv.Tokens, r.kv.Hashes = len(turn.Prompt), len(turn.Prompt), chain.Hashes()

	hit, ok, err := e.admit(r)
	if err != nil {
		return err
	}
	if !ok {
		e.result.Unserved++
		return r.lease.Close()
	}
	e.live = append(e.live, r)
	e.result.HitTokens += hit
	if hit > 0 {
		e.result.Hits++
	}
	if err := r.lease.Retain(r.kv.HitHashes()); err != nil {
		return err
	}
	whole := e.publish(r, hit, len(turn.Prompt))
	for i, token := range turn.Output[:len(turn.Output)-1] {
		r.chain.Append(token)
		r.kv.Tokens, r.kv.Hashes = r.kv.Tokens+1, r.chain.Hashes()
		ok, err := e.grow(r)
		if err != nil {
			return err
		}
		if !ok {
			e.result.Unserved++
			return nil
		}
		computed := len(turn.Prompt) + i + 1
		whole = e.publish(r, computed-1, computed) && whole
	}
	if whole {
		if err := e.check(r); err != nil {
			return err
		}
	}
	for len(e.live) >= e.settings.Live {
		if err := e.retire(); err != nil {
			return err
		}
	}
	return nil
}

// truthOf is the rows of all positions of a turn but the last, in order.
func (e *engine) truthOf(turn trace.Turn) []byte {
	rows := truth.New(e.settings.Profile, 0)
	all := rows.Append(e.rows[:0], turn.Prompt...)
	return rows.Append(all, turn.Output[:len(turn.Output)-1]...)
}

// admit gives a request its KV blocks, for which older ones retire if it must be.
func (e *engine) admit(r *request) (hit int, ok bool, err error) {
	for {
		cached, err := e.cache.Lookup(&r.kv, prefixcache.NoLimit)
		if err != nil {
			return 0, false, err
		}
		hit, ok, err = e.cache.Admit(&r.kv, prefixcache.NoLimit, r.kv.Tokens-cached)
		if ok || err != nil || len(e.live) == 0 {
			return hit, ok, err
		}
		if err := e.retire(); err != nil {
			return 0, false, err
		}
	}
}

// grow gives a request room for its next token, for which older ones retire if
// it must be.
func (e *engine) grow(r *request) (ok bool, err error) {
	for {
		ok, err = e.cache.Allocate(&r.kv, 1, 0)
		if ok || err != nil || e.live[0] == r {
			return ok, err
		}
		if err := e.retire(); err != nil {
			return false, err
		}
	}
}

// publish puts the blocks that the positions [from, to) complete. It reports
// whether the store took them.
func (e *engine) publish(r *request, from, to int) bool {
	first, end := from/e.settings.BlockTokens, to/e.settings.BlockTokens
	if first == end {
		return true
	}
	blocks := make([]store.Block, 0, end-first)
	for i := first; i < end; i++ {
		blocks = append(blocks, store.Block{
			Hash: r.chain.Hashes()[i],
			Rows: e.rows[i*e.blockBytes : (i+1)*e.blockBytes],
		})
	}
	if _, err := r.lease.Publish(blocks); err != nil {
		e.result.Refused++
		return false
	}
	return true
}

// check reads the full blocks of a request back and compares each row. The rows
// of the incomplete last block are still the engine's own.
func (e *engine) check(r *request) error {
	rows, err := r.lease.Get(e.read[:0], r.chain.Hashes())
	if errors.Is(err, auxerrors.ErrAbsent) {
		e.result.Lost++
		return nil
	}
	if err != nil {
		return err
	}
	e.read = rows
	if want := len(r.chain.Hashes()) * e.blockBytes; len(rows) != want {
		return fmt.Errorf("rollout: a read returned %d bytes, want %d", len(rows), want)
	}
	rowBytes := e.settings.Profile.RowBytes()
	for at := 0; at < len(rows); at += rowBytes {
		e.result.RowsChecked++
		if !bytes.Equal(rows[at:at+rowBytes], e.rows[at:at+rowBytes]) {
			e.result.WrongRows++
		}
	}
	return nil
}

// retire ends the oldest live request on both sides.
func (e *engine) retire() error {
	r := e.live[0]
	e.live = e.live[1:]
	return errors.Join(e.cache.Free(&r.kv), r.lease.Close())
}

// account reads what the store has to say at the end.
func (e *engine) account() {
	stats := e.store.Stats()
	used := min(stats.Stored, uint64(stats.Slots)) // slots are used up before one is reused
	perSlot := int64(stats.BlockBytes) + stats.MetadataBytes/int64(stats.Slots)
	e.result.ResidentBytes = int64(used) * perSlot
	e.result.Evicted = int64(stats.Evicted)
}
