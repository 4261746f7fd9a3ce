package connector

import (
	"fmt"
	"slices"

	"github.com/auxoutput/auxoutput/blockhash"
	auxerrors "github.com/auxoutput/auxoutput/errors"
)

// Admission is a request that is about to be admitted to the KV cache.
type Admission struct {
	ID      string
	Outputs int // tokens sampled in earlier lives; 0 for a request that comes for the first time

	// Hashes of the full hash blocks of the known tokens, in prefix order.
	Hashes []blockhash.Hash

	// Hit are the KV blocks of the full-attention group that the request hits, in
	// token order (prefixcache.Cache.AppendHit).
	Hit []int32

	// Loaded are the keys of the hash blocks behind the hit whose KV is loaded from
	// an offload tier, as [Scheduler.AppendLost] named them when the KV left the
	// pool. Whole KV blocks.
	Loaded []blockhash.Hash
}

// Admit starts a life of a request, and gives it the next number. It is called before
// the KV cache admits the request; if that does not work out, [Scheduler.Finish] takes
// it back. Reference mode needs no admissions and ignores them.
//
// A request that is live is ErrDuplicateRequest. KV blocks that are not filed under
// the request's hashes are ErrKVBlock: the KV cache registered them without
// [Scheduler.Extend], or lost them. More blocks than hashes are ErrRequestCounts. A
// request that alone needs more slots than the store has is an
// errors.BlockObjectStoreError that wraps ErrCannotFit: it would never get its rows.
// Nothing has changed then.
func (s *Scheduler) Admit(a Admission) error {
	if s.everything {
		return nil
	}
	if s.known[a.ID] != nil {
		return refuse("admit", a.ID, ErrDuplicateRequest, "it is live")
	}
	ratio := s.ledger.ratio
	if len(a.Loaded)%ratio != 0 || len(a.Hit)*ratio+len(a.Loaded) > len(a.Hashes) {
		return refuse("admit", a.ID, ErrRequestCounts, "%d KV blocks hit and %d keys loaded, of %d hashes with %d in a KV block", len(a.Hit), len(a.Loaded), len(a.Hashes), ratio)
	}
	for i := range a.Loaded {
		if a.Loaded[i].IsZero() {
			return refuse("admit", a.ID, ErrRequestCounts, "loaded key %d is zero", i)
		}
	}
	if err := s.holds("admit", a.ID, a.Hashes, a.Hit); err != nil {
		return err
	}
	// In FailClosed mode a life that comes back reads no stored rows: its earlier life has
	// handed them out.
	if needs := len(a.Hashes) / ratio * ratio; s.slots > 0 && needs > s.slots && (s.gated || a.Outputs == 0) {
		return &auxerrors.BlockObjectStoreError{
			Op: "admit", Reason: auxerrors.ErrCannotFit, Index: -1, Limit: s.slots,
			Detail: fmt.Sprintf("request %q alone needs %d slots", a.ID, needs), Advice: "increase max_bytes",
		}
	}
	life := s.begin(a.ID)
	for _, block := range a.Hit {
		life.keys = append(life.keys, s.ledger.of(block)...)
	}
	life.keys = append(life.keys, a.Loaded...)
	life.hit, life.held, life.filed = len(life.keys), len(a.Hit), len(a.Hit)
	return nil
}

// holds checks that KV blocks are filed under the leading hashes.
func (s *Scheduler) holds(op, id string, hashes []blockhash.Hash, blocks []int32) error {
	ratio := s.ledger.ratio
	if len(blocks) > len(hashes)/ratio {
		return refuse(op, id, ErrRequestCounts, "%d KV blocks for %d hashes", len(blocks), len(hashes))
	}
	for i, block := range blocks {
		if !s.ledger.known(block) || s.ledger.ends[block] != hashes[(i+1)*ratio-1] {
			return refuse(op, id, ErrKVBlock, "block %d is not filed under hash %d", block, (i+1)*ratio-1)
		}
	}
	return nil
}

// AppendHitKeys appends the keys of the rows that KV blocks have which a request
// hits: what [Gate.Admit] is asked for. hashes are the request's, blocks as in
// [Admission]. It fails as Admit does.
func (s *Scheduler) AppendHitKeys(keys, hashes []blockhash.Hash, blocks []int32) ([]blockhash.Hash, error) {
	if s.everything {
		return keys, nil
	}
	if err := s.holds("look up", "", hashes, blocks); err != nil {
		return keys, err
	}
	for _, block := range blocks {
		keys = append(keys, s.ledger.of(block)...)
	}
	return keys, nil
}

// Keys are the keys of the leading hash blocks of a live request, registered or not:
// what [Gate.Reserve] is asked for. hashes are its leading hashes. The slice is valid
// until the request ends, and not to be changed. A request that was not admitted is
// ErrUnknownRequest.
func (s *Scheduler) Keys(id string, hashes []blockhash.Hash) ([]blockhash.Hash, error) {
	if s.everything {
		return hashes, nil
	}
	life := s.known[id]
	if life == nil {
		return nil, refuse("keys", id, ErrUnknownRequest, "it is not admitted")
	}
	return life.upTo(hashes), nil
}

// upTo are the keys of as many hash blocks as there are hashes.
func (l *sent) upTo(hashes []blockhash.Hash) []blockhash.Hash {
	for i := len(l.keys); i < len(hashes); i++ {
		l.keys = append(l.keys, keyOf(hashes[i], l.admission))
	}
	return l.keys[:len(hashes):len(hashes)]
}

// Extend takes over the KV blocks that a request was given and those that were
// registered for it. Call it as soon as the KV cache has done so, before it is asked
// for the hit of another request. It fails as [Scheduler.Build] does, and has changed
// nothing then.
func (s *Scheduler) Extend(r Request) error {
	life := s.known[r.ID]
	switch {
	case s.everything:
		return nil
	case life == nil:
		return refuse("extend", r.ID, ErrUnknownRequest, "it is not admitted")
	}
	if err := s.validate("extend", life, &r); err != nil {
		return err
	}
	s.extend(life, &r)
	return nil
}

// validate checks a request against its life.
func (s *Scheduler) validate(op string, life *sent, r *Request) error {
	count := s.count(r)
	if count < 0 || count > len(r.Hashes) {
		return refuse(op, r.ID, ErrRequestCounts, "%d of %d hashes registered", count, len(r.Hashes))
	}
	if count < life.hashes || !s.everything && count < life.filed*s.ledger.ratio {
		return refuse(op, r.ID, ErrHashesShrank, "%d hashes, there were %d", count, max(life.hashes, life.filed*s.ledger.ratio))
	}
	if s.everything {
		return nil
	}
	if len(r.Blocks) < life.held || len(r.Blocks) < count/s.ledger.ratio {
		return refuse(op, r.ID, ErrKVBlock, "%d KV blocks, there were %d, and %d hashes are registered", len(r.Blocks), life.held, count)
	}
	for _, block := range r.Blocks[life.held:] {
		if !s.ledger.known(block) {
			return refuse(op, r.ID, ErrKVBlock, "block %d of a pool of %d", block, len(s.ledger.ends))
		}
	}
	return nil
}

// extend takes over what is new of a request that is valid, and returns the keys that
// the worker is to know.
func (s *Scheduler) extend(life *sent, r *Request) []blockhash.Hash {
	if s.everything {
		return r.Hashes
	}
	life.extended = true
	for _, block := range r.Blocks[life.held:] {
		if s.ledger.filed(block) {
			s.lose(block)
		}
	}
	life.held = len(r.Blocks)
	keys, ratio := life.upTo(r.Hashes[:r.Registered]), s.ledger.ratio
	for ; (life.filed+1)*ratio <= len(keys); life.filed++ {
		from, to := life.filed*ratio, (life.filed+1)*ratio
		s.ledger.file(r.Blocks[life.filed], r.Hashes[to-1], keys[from:to])
	}
	return keys
}

// lose forgets the keys of a block that is reused.
func (s *Scheduler) lose(block int32) {
	keys := s.ledger.of(block)
	switch {
	case s.offload:
		s.lost = append(s.lost, KVBlock{block, s.ledger.ends[block], slices.Clone(keys)})
	case s.linked:
		s.removed = append(s.removed, keys...)
	}
	s.ledger.clear(block)
}

// Evicted tells that the KV cache took the hashes from blocks in another way than by
// reusing the oldest free one: evict_blocks (prefixcache.Cache.EvictBlocks). Their
// rows leave the store. Blocks that are not filed are ignored.
func (s *Scheduler) Evicted(blocks ...int32) {
	for _, block := range blocks {
		if !s.everything && s.ledger.known(block) && s.ledger.filed(block) {
			s.removed = append(s.removed, s.ledger.of(block)...)
			s.ledger.clear(block)
		}
	}
}

// AppendBlocks appends the KV blocks that are filed with one of the keys: those whose
// hashes the KV cache has to drop because their rows are gone
// ([Worker.DrainEvicted]). A block may be appended more than once.
func (s *Scheduler) AppendBlocks(blocks []int32, keys ...blockhash.Hash) []int32 {
	for i := range keys {
		blocks = s.ledger.appendHolders(blocks, keys[i])
	}
	return blocks
}

// AppendLost appends the KV blocks that were reused since the last call, oldest first,
// if the engine has an offload tier. A tier that has taken their KV keeps the keys with
// it. Keys that the tier did not take, or no longer has, are given to
// [Scheduler.Remove] once the whole list is handled: otherwise rows that nobody can ask
// for could push out rows that somebody can.
func (s *Scheduler) AppendLost(lost []KVBlock) []KVBlock {
	lost = append(lost, s.lost...)
	s.lost = clearAll(s.lost)
	return lost
}

// Remove tells of keys whose KV is nowhere any more. Their rows leave the store with
// the next metadata.
func (s *Scheduler) Remove(keys ...blockhash.Hash) { s.removed = append(s.removed, keys...) }
