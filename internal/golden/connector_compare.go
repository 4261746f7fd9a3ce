package golden

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/auxoutput/auxoutput/blockhash"
	"github.com/auxoutput/auxoutput/connector"
	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/store"
)

// batch is a recorded batch for the worker.
func (b *connectorBatch) batch(rowBytes int) connector.Batch {
	batch := connector.Batch{IDs: b.IDs, Starts: b.Starts, Bounds: b.Bounds, Sampled: b.Sampled, Rejected: b.Rejected, Rows: b.Rows}
	if len(b.Bounds) > len(b.IDs) {
		batch.RowCount = b.Bounds[len(b.IDs)]
		if last := b.Bounds[len(b.Bounds)-1]; last > batch.RowCount && last*rowBytes == len(b.Rows) {
			batch.RowCount = last // the captured array is padded like the bounds
		}
	}
	return batch
}

// connectorState is everything that a refused step has to leave alone.
type connectorState struct {
	Worker   connector.Stats
	Snapshot store.Snapshot
}

func (r *connectorReplay) state() connectorState {
	s := connectorState{Worker: r.worker.Stats(), Snapshot: r.store.Snapshot()}
	byHash := func(a, b store.Holding) int { return strings.Compare(a.Hash.String(), b.Hash.String()) }
	slices.SortFunc(s.Snapshot.Held, byHash)
	slices.SortFunc(s.Snapshot.Pending, byHash)
	return s
}

// compareOutput compares the rows that a step handed out, whatever their order.
func (r *connectorReplay) compareOutput(c *Case, event *connectorEvent) {
	got := map[string]connectorRows{}
	for _, out := range r.output.Requests {
		rows := connectorRows{ID: out.ID, Start: out.Start, Rows: slices.Clone(hexBytes(out.Rows))}
		if out.Err != nil {
			rows = connectorRows{ID: out.ID, Missing: errors.Is(out.Err, auxerrors.ErrAbsent)}
		}
		got[out.ID] = rows
	}
	want := map[string]connectorRows{}
	for _, out := range event.Out {
		want[out.ID] = out
	}
	if strings.HasPrefix(r.trace.ID, promptStartAtEnd) && len(want) == 0 && len(got) > 0 {
		// No row is wanted of the prompt: an empty answer instead of none.
		c.Deviates()
		for id, rows := range got {
			c.Equal("rows of "+id, 0, len(rows.Rows))
			c.Equal("start of "+id, r.trace.Requests[id].PromptStart, rows.Start)
		}
		return
	}
	c.Equal("outputs", len(want), len(got))
	for id, rows := range want {
		c.Equal("output of "+id, fmt.Sprint(rows), fmt.Sprint(got[id]))
	}
}

// compareState compares the store and the tail pool after a step.
func (r *connectorReplay) compareState(c *Case, event *connectorEvent) {
	c.Equal("free blocks of the tail pool", event.Free, r.worker.Stats().PoolFree)
	prefix := fmt.Sprintf("%d:", r.worker.Stats().Generation)
	if event.Store == nil {
		return
	}
	name := func(hash blockhash.Hash) string { return fmt.Sprintf("%s%d", prefix, r.table.index[hash]) }
	wantStored, wantEvictable, wantRefs := []string{}, []string{}, map[string]int{}
	for _, key := range event.Store.LRU {
		if !strings.HasPrefix(key, prefix) {
			continue // of an older generation, purged here
		}
		wantStored = append(wantStored, key)
		if event.Store.Refs[key] == 0 {
			wantEvictable = append(wantEvictable, key)
		}
	}
	for key, n := range event.Store.Refs {
		if strings.HasPrefix(key, prefix) {
			wantRefs[key] = n
		}
	}
	snapshot := r.store.Snapshot()
	stored, evictable, refs := []string{}, []string{}, map[string]int{}
	for _, hash := range snapshot.Evictable {
		evictable = append(evictable, name(hash))
	}
	stored = append(stored, evictable...)
	for _, h := range snapshot.Held {
		stored = append(stored, name(h.Hash))
		refs[name(h.Hash)] = h.Refs
	}
	for _, h := range snapshot.Pending {
		refs[name(h.Hash)] = h.Refs
	}
	c.Equal("stored keys", sorted(wantStored), sorted(stored))
	c.Equal("unreferenced keys, oldest first", wantEvictable, evictable)
	c.Equal("counts", wantRefs, refs)
}

// compareRead checks the rows that the reference fails to read: the first six of
// the request, of which four wait for their hash.
func (r *connectorReplay) compareRead(c *Case) {
	for id, request := range r.trace.Requests {
		out := r.output.Find(id)
		if out == nil || len(request.Tokens) < 6 {
			c.Fail("output of "+id, "rows", "none")
			continue
		}
		c.Equal("start", 0, out.Start)
		c.Equal("rows", hexBytes(r.rule(0, request.Tokens, 0, 6)), hexBytes(out.Rows))
	}
}

// compareRule holds rows that were taken against the rule that they were made by.
func (r *connectorReplay) compareRule(c *Case, id string, rows []byte) {
	out := r.output.Find(id)
	if out == nil {
		return
	}
	count := len(rows) / r.profile.RowBytes()
	tokens := r.trace.Requests[id].Tokens
	if out.Start+count > len(tokens) {
		c.Fail("rows of "+id, fmt.Sprintf("at most %d", len(tokens)), fmt.Sprintf("up to %d", out.Start+count))
		return
	}
	want := r.rule(uint32(r.worker.Stats().Generation), tokens, out.Start, out.Start+count)
	c.Equal("rows of "+id, hexBytes(want), hexBytes(slices.Clone(rows)))
}

// rule makes rows of the positions from start to end: SHA-256 of the generation and
// of all tokens up to there, as 4 bytes each, little-endian. Of the digest the first
// bytes, or pairs of them as numbers below 512.
func (r *connectorReplay) rule(generation uint32, tokens []uint32, start, end int) []byte {
	preimage := binary.LittleEndian.AppendUint32(nil, generation)
	var rows []byte
	for position, token := range tokens[:end] {
		preimage = binary.LittleEndian.AppendUint32(preimage, token)
		if position < start {
			continue
		}
		digest := sha256.Sum256(preimage)
		if r.profile.ItemBytes() == 2 {
			for i := 1; i < len(digest); i += 2 {
				digest[i] &= 1
			}
		}
		rows = append(rows, digest[:r.profile.RowBytes()]...)
	}
	return rows
}
