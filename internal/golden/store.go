package golden

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/auxoutput/auxoutput/blockhash"
	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/store"
)

// maxRecordedBytes bounds the budget that a recorded trace may ask for, and the rows
// of one of its operations.
const maxRecordedBytes = 1 << 24

type storeFile struct {
	Version int          `json:"version"`
	Traces  []storeTrace `json:"traces"`
}

type storeTrace struct {
	ID          string    `json:"id"`
	Limit       int       `json:"limit"`
	ObjectBytes int       `json:"object_nbytes"`
	MaxBytes    int64     `json:"max_bytes"`
	Ops         []storeOp `json:"ops"`
}

type storeOp struct {
	Op      string         `json:"op"`
	Objects []storeObject  `json:"objects"`
	Retain  []string       `json:"retain"`
	Release []string       `json:"release"`
	Keys    []string       `json:"keys"`
	Result  string         `json:"result"`
	Tags    []int          `json:"tags"`
	LRU     []string       `json:"lru"`
	Refs    map[string]int `json:"refs"`
	Absent  map[string]int `json:"absent"`
	Used    int            `json:"used"`
}

type storeObject struct {
	Key string
	Tag byte
}

// UnmarshalJSON reads [key, tag].
func (o *storeObject) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, &[2]any{&o.Key, &o.Tag})
}

// Store replays operations of the reference's object store (put, get, close).
//
// The reference walks a list forwards where it touches recency, and leaves it to
// its callers to reverse what they release; this library walks backwards. So the
// recorded lists are reversed here, of objects the first mention of each key, behind
// which the others follow.
//
// One deviation is documented: of several payloads for one key in a put the reference
// stores the last, and this library the first, as it does from put to put. A get of
// such an object counts as a deviation: it has to return the first payload, and for
// every other key what was recorded.
//
// Compared after each operation: result, tags of the blocks read, slots used,
// which keys are stored, all counts, and the order of the unreferenced keys. The
// place of a referenced key in the reference's list means nothing.
func Store(data []byte) (*Report, error) {
	var file storeFile
	if err := decode(data, &file); err != nil {
		return nil, err
	}
	report := &Report{}
	for _, trace := range file.Traces {
		if err := replayStore(report, trace); err != nil {
			return nil, fmt.Errorf("trace %q: %w", trace.ID, err)
		}
	}
	return report, nil
}

func replayStore(report *Report, trace storeTrace) error {
	if trace.MaxBytes > maxRecordedBytes {
		return fmt.Errorf("max_bytes %d is more than %d", trace.MaxBytes, maxRecordedBytes)
	}
	s, err := store.New(store.Options{MaxBytes: trace.MaxBytes, BlockBytes: trace.ObjectBytes})
	if err != nil {
		return err
	}
	defer s.Close()
	keys := make(storeKeys)
	var firsts firstPayloads
	closed := false
	for number, op := range trace.Ops {
		if objects := max(len(op.Objects), len(op.Keys)); objects > maxRecordedBytes/trace.ObjectBytes {
			return fmt.Errorf("op %d: %d objects of %d bytes are more than %d", number, objects, trace.ObjectBytes, maxRecordedBytes)
		}
		c := report.Case(trace.ID, number)
		c.Equal("limit", trace.Limit, s.Slots())
		switch op.Op {
		case "put":
			_, err := s.Put(store.Batch{
				Blocks:  keys.blocks(op.Objects, trace.ObjectBytes),
				Retain:  keys.hashes(op.Retain),
				Release: reversed(keys.hashes(op.Release)),
			})
			c.Equal("result", op.Result, storeResult(err))
			firsts.put(op)
		case "get":
			rows, err := s.Get(nil, reversed(keys.hashes(op.Keys)))
			c.Equal("result", op.Result, storeResult(err))
			if err == nil {
				want := firsts.instead(c, reversed(op.Keys), reversed(op.Tags))
				c.Equal("rows", want, tagsOf(rows, trace.ObjectBytes))
			}
		case "close":
			closed = true
			c.Equal("result", op.Result, storeResult(s.Close()))
		default:
			return fmt.Errorf("op %d: unknown operation %q", number, op.Op)
		}
		if !closed {
			compareStore(c, op, s, keys)
		}
		c.Done()
	}
	return nil
}

// compareStore holds the state of the store against the recorded one.
func compareStore(c *Case, op storeOp, s *store.Store, keys storeKeys) {
	snapshot := s.Snapshot()
	evictable := []string{}
	for _, hash := range snapshot.Evictable {
		evictable = append(evictable, keys.name(hash))
	}
	refs, absent := map[string]int{}, map[string]int{}
	stored := slices.Clone(evictable)
	for _, h := range snapshot.Held {
		refs[keys.name(h.Hash)] = h.Refs
		stored = append(stored, keys.name(h.Hash))
	}
	for _, h := range snapshot.Pending {
		absent[keys.name(h.Hash)] = h.Refs
	}
	wantEvictable := []string{}
	for _, key := range op.LRU {
		if op.Refs[key] == 0 {
			wantEvictable = append(wantEvictable, key)
		}
	}
	c.Equal("used", op.Used, s.Stats().Used)
	c.Equal("stored keys", sorted(op.LRU), sorted(stored))
	c.Equal("unreferenced keys, oldest first", wantEvictable, evictable)
	c.Equal("counts of stored keys", orEmpty(op.Refs), refs)
	c.Equal("counts of absent keys", orEmpty(op.Absent), absent)
}

// storeKeys gives each recorded key a hash, and finds the key of a hash.
type storeKeys map[blockhash.Hash]string

func (k storeKeys) hash(key string) blockhash.Hash {
	digest := sha256.Sum256([]byte(key))
	hash, err := blockhash.FromBytes(digest[:])
	if err != nil {
		panic(err) // a SHA-256 digest has the right size
	}
	k[hash] = key
	return hash
}

func (k storeKeys) name(hash blockhash.Hash) string { return k[hash] }

func (k storeKeys) hashes(keys []string) []blockhash.Hash {
	var hashes []blockhash.Hash
	for _, key := range keys {
		hashes = append(hashes, k.hash(key))
	}
	return hashes
}

// blocks are the objects, the last one first, behind them those whose keys have been
// mentioned already.
func (k storeKeys) blocks(objects []storeObject, size int) []store.Block {
	met := map[string]bool{}
	var blocks, again []store.Block
	for _, object := range objects {
		block := store.Block{Hash: k.hash(object.Key), Rows: bytes.Repeat([]byte{object.Tag}, size)}
		if met[object.Key] {
			again = append(again, block)
			continue
		}
		met[object.Key] = true
		blocks = append(blocks, block)
	}
	return append(reversed(blocks), again...)
}

// tagsOf is the tag of each block; -1 if its bytes are not all equal.
func tagsOf(rows []byte, size int) []int {
	tags := []int{}
	for block := range slices.Chunk(rows, size) {
		tag := int(block[0])
		if !bytes.Equal(block, bytes.Repeat(block[:1], size)) {
			tag = -1
		}
		tags = append(tags, tag)
	}
	return tags
}

// storeResult is the reference's word for an error.
func storeResult(err error) string {
	switch {
	case err == nil:
		return "ok"
	case errors.Is(err, auxerrors.ErrAbsent):
		return "missing"
	case errors.Is(err, auxerrors.ErrCannotFit):
		return "cannot_fit"
	case errors.Is(err, auxerrors.ErrClosed):
		return "closed"
	}
	return err.Error()
}

// reversed and sorted return a list of their own that is never nil.
func reversed[T any](list []T) []T {
	list = append([]T{}, list...)
	slices.Reverse(list)
	return list
}

func sorted(keys []string) []string {
	keys = append([]string{}, keys...)
	slices.Sort(keys)
	return keys
}

func orEmpty(counts map[string]int) map[string]int {
	if counts == nil {
		return map[string]int{}
	}
	return counts
}
