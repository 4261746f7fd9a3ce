package prefixcache

import (
	"fmt"

	"github.com/auxoutput/auxoutput/blockhash"
)

// Request is one sequence as the cache sees it. The caller owns it, fills in the
// exported fields and lets them grow as tokens are sampled; the cache reads them
// at every call and keeps its own state beside them. It must not be copied.
//
// A Request can be used again after [Cache.Free], for another sequence: then it
// brings its memory along.
type Request struct {
	Prompt int // prompt tokens, at least 1; fixed while admitted or preempted
	Tokens int // known tokens: the prompt and everything sampled; never shrinks

	// Hashes of the hash blocks that the known tokens fill, in order. There may be
	// fewer of them for a while: what has no hash is registered once it has one.
	Hashes []blockhash.Hash

	SkipLookup bool // hit nothing, as for prompt logprobs; blocks are registered all the same

	cache       *Cache // that holds the blocks; nil if none does
	tables      []table
	hit         int
	computed    int
	preemptions int
	seen        seen
}

// table is the list of a request's blocks in one group.
type table struct {
	blocks []int32
	done   int // leading blocks that need not be looked at for registration again
}

// seen is what a request looked like when an operation last succeeded.
type seen struct {
	prompt, tokens, hashes int
}

// Admitted reports whether the request holds blocks.
func (r *Request) Admitted() bool { return r.cache != nil }

// Hit is the number of tokens that the last admission found cached.
func (r *Request) Hit() int { return r.hit }

// Computed is the number of tokens that are computed once the scheduled steps
// are through: the hit and everything scheduled, less what was rejected.
func (r *Request) Computed() int { return r.computed }

// HitHashes are the hashes of the tokens that the last admission found cached.
// The slice is part of Hashes.
func (r *Request) HitHashes() []blockhash.Hash {
	if r.cache == nil {
		return nil
	}
	return r.leading(r.hit / r.cache.cfg.HashTokens)
}

// leading are the first n hashes, or what is left of them if the caller has
// shortened the list.
func (r *Request) leading(n int) []blockhash.Hash {
	n = min(n, len(r.Hashes))
	return r.Hashes[:n:n]
}

// Registered are the leading hashes that lie in blocks which this request hit in
// a group, or registered there. Hashes of its other tokens are known, but the
// group never filed a block of this request under them. In a sliding window
// group the list includes the blocks that were left out because no hit can use
// them. Keys that were evicted since are not subtracted: see [Cache.Contains].
// The slice is part of Hashes.
func (r *Request) Registered(group int) []blockhash.Hash {
	if r.cache == nil || group < 0 || group >= len(r.tables) {
		return nil
	}
	return r.leading(r.tables[group].done * r.cache.groups[group].hashes)
}

// Table is the request's block table in a group, in token order; 0 is the null
// block. It is not to be changed, and valid until the next call that concerns the
// request.
func (r *Request) Table(group int) []int32 {
	if r.cache == nil || group < 0 || group >= len(r.tables) {
		return nil
	}
	return r.tables[group].blocks
}

// validate checks the exported fields against each other and against what they
// were.
func (r *Request) validate(op string, hashTokens int) error {
	fail := func(reason error, format string, args ...any) error {
		return &RequestError{Op: op, Reason: reason, Detail: fmt.Sprintf(format, args...)}
	}
	switch {
	case r.Prompt < 1 || r.Tokens < r.Prompt || r.Tokens > MaxTokens:
		return fail(ErrTokens, "%d prompt tokens, %d known; want 1 <= prompt <= known <= %d", r.Prompt, r.Tokens, MaxTokens)
	case r.seen.prompt != 0 && r.Prompt != r.seen.prompt:
		return fail(ErrTokens, "%d prompt tokens, but there were %d", r.Prompt, r.seen.prompt)
	case r.Tokens < r.seen.tokens:
		return fail(ErrTokens, "%d tokens known, but there were %d", r.Tokens, r.seen.tokens)
	case len(r.Hashes) < r.seen.hashes:
		return fail(ErrHashes, "%d hashes, but there were %d", len(r.Hashes), r.seen.hashes)
	case len(r.Hashes) > r.Tokens/hashTokens:
		return fail(ErrHashes, "%d hashes of %d tokens each for %d tokens", len(r.Hashes), hashTokens, r.Tokens)
	}
	for i := r.seen.hashes; i < len(r.Hashes); i++ {
		if r.Hashes[i].IsZero() {
			return fail(ErrHashes, "hash %d is zero", i)
		}
	}
	return nil
}

// accept remembers the exported fields as they are.
func (r *Request) accept() {
	r.seen = seen{prompt: r.Prompt, tokens: r.Tokens, hashes: len(r.Hashes)}
}
