package blockhash

import (
	"crypto/sha256"
	"fmt"
	"hash"
	"slices"
)

// Chain hashes the blocks of one request as its tokens arrive: those of the
// prompt first, then those generated. How the tokens are split over calls makes
// no difference. A Chain is for one goroutine at a time.
//
// The zero Chain has no block length, so it never completes a block: it keeps all
// tokens as pending, and its Reset is an error. Make one with [NewChain].
type Chain struct {
	algorithm   Algorithm
	root        Hash
	blockTokens int

	hashes  []Hash
	pending []uint32
	keys    requestKeys

	// Scratch, kept so that a block costs no allocation.
	blockKeys []ExtraKey
	preimage  []byte
	sha256    hash.Hash // nil under another hash function
}

// NewChain makes the empty chain of a request whose blocks hold blockTokens
// tokens and follow root. It keeps nothing of the request that the caller may
// change.
//
// The error wraps [ErrAlgorithm], [ErrSize] for a root that is neither as long
// as the algorithm's digests nor 32 raw bytes under one of vLLM's,
// [ErrBlockTokens], or [ErrRequest].
func NewChain(a Algorithm, root Hash, blockTokens int, request Request) (*Chain, error) {
	if err := a.check(); err != nil {
		return nil, err
	}
	if err := checkRoot(a, root); err != nil {
		return nil, err
	}
	if blockTokens < 1 {
		return nil, fmt.Errorf("%w: %d, want at least 1", ErrBlockTokens, blockTokens)
	}
	c := &Chain{algorithm: a, root: root, blockTokens: blockTokens}
	if a == SHA256 || a == SHA256CBOR {
		c.sha256 = sha256.New()
	}
	if err := c.Reset(request); err != nil {
		return nil, err
	}
	return c, nil
}

// Reset empties the chain for another request under the same algorithm, root
// and block length. It keeps the memory, so the slices that [Chain.Append] and
// [Chain.Hashes] gave are overwritten from here on. The error wraps
// [ErrRequest], or [ErrBlockTokens] for the zero Chain, and then the chain is as it
// was.
func (c *Chain) Reset(request Request) error {
	if c.blockTokens == 0 {
		return fmt.Errorf("%w: the zero Chain has none, make one with NewChain", ErrBlockTokens)
	}
	if err := request.check(); err != nil {
		return err
	}
	c.keys.reset(request, c.blockTokens)
	c.hashes = c.hashes[:0]
	c.pending = c.pending[:0]
	return nil
}

// maxReserve bounds the room that Reserve makes at once, in hashes and in
// tokens: a number that somebody else chose may be absurd.
const maxReserve = 1 << 20

// Reserve makes room for that many tokens more, after which appending them
// allocates nothing. It stops at a million blocks.
func (c *Chain) Reserve(tokens int) {
	if tokens > 0 && c.blockTokens > 0 {
		c.hashes = slices.Grow(c.hashes, min(tokens/c.blockTokens, maxReserve)+1)
		c.pending = slices.Grow(c.pending, min(tokens, c.blockTokens-len(c.pending), maxReserve))
	}
}

// Append adds tokens and returns the hashes of the blocks they complete, in
// order; none completed, an empty slice. It is a part of the list that
// [Chain.Hashes] gives: to be read only, and good until [Chain.Reset].
func (c *Chain) Append(tokens ...uint32) []Hash {
	if c.blockTokens == 0 {
		c.pending = append(c.pending, tokens...)
		return nil
	}
	before := len(c.hashes)
	if held := len(c.pending); held > 0 {
		take := min(c.blockTokens-held, len(tokens))
		c.pending = append(c.pending, tokens[:take]...)
		tokens = tokens[take:]
		if len(c.pending) < c.blockTokens {
			return nil
		}
		c.seal(c.pending)
		c.pending = c.pending[:0]
	}
	for ; len(tokens) >= c.blockTokens; tokens = tokens[c.blockTokens:] {
		c.seal(tokens[:c.blockTokens])
	}
	c.pending = append(c.pending, tokens...)
	return slices.Clip(c.hashes[before:])
}

// seal hashes one full block.
func (c *Chain) seal(tokens []uint32) {
	block := len(c.hashes)
	c.hashes = append(c.hashes, Hash{})
	parent := &c.root
	if block > 0 {
		parent = &c.hashes[block-1]
	}
	c.blockKeys = c.keys.append(c.blockKeys[:0], block)
	c.preimage = appendPreimage(c.preimage[:0], c.algorithm, parent, tokens, c.blockKeys)
	c.sum(&c.hashes[block])
}

// sum puts the digest of the preimage into h. One SHA-256 state for all blocks
// saves a fourteenth of what sha256.Sum256 takes, which makes a new one.
func (c *Chain) sum(h *Hash) {
	if c.sha256 == nil {
		c.algorithm.sum(h, c.preimage)
		return
	}
	c.sha256.Reset()
	c.sha256.Write(c.preimage)
	c.sha256.Sum(h.digest[:0])
	h.size = sha256.Size
}

// Hashes returns the hashes of all full blocks so far, the first block's first.
// It is to be read only, and good until [Chain.Reset].
func (c *Chain) Hashes() []Hash { return slices.Clip(c.hashes) }

// Pending returns the tokens of the last, incomplete block, which have no hash.
// It is to be read only, and good until the next call that changes the chain.
func (c *Chain) Pending() []uint32 { return slices.Clip(c.pending) }

// Tokens is how many tokens the chain holds: those of its full blocks and the
// pending ones.
func (c *Chain) Tokens() int { return len(c.hashes)*c.blockTokens + len(c.pending) }
