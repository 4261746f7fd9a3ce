package capacity

import (
	"fmt"
	"slices"

	auxerrors "github.com/auxoutput/auxoutput/errors"
)

// Beside replays a trace against a KV cache and any number of stores beside it.
//
// The KV cache is an exact LRU that follows the package's rule; the stores do not
// influence it. A request whose KV hit is h > 0 leading blocks is lost to a store
// if any of the h is absent there when the request arrives. After that the
// request's blocks are touched in the store, absent ones being published, in the
// store's order over the whole request; but hit blocks that were absent on
// arrival stay absent when the regime is [FailClosed], and hit blocks are passed
// over altogether with IgnoreHits.
//
// Of a request with more blocks than the store has slots, only as many as there
// are slots are touched, from the head: the tail is cut off. Under [TailFirst]
// the cut changes little, since the tail would be pushed out by the head anyway.
// Under [HeadFirst], or with IgnoreHits, it is what keeps the head: the published
// measurements of those two come out exactly with this reading and with no other
// that was tried.
type Beside struct {
	kv     *recency
	stores []besideStore
	hits   int

	round    uint32   // counts the walks that look for repeated blocks
	mentions []uint32 // by block: the last round that met it
	distinct []uint32 // a request without its repeated blocks
}

type besideStore struct {
	Store
	rows *recency
	lost int
	skip []bool // by place in the request: hit block to be left alone
}

// NewBeside makes a replay. Every size is at least 1 and at most
// [MaxSize]; another one is a [auxerrors.ConfigError].
func NewBeside(kvBlocks int, stores ...Store) (*Beside, error) {
	if err := checkSize("kv blocks", kvBlocks); err != nil {
		return nil, err
	}
	b := &Beside{kv: newRecency(kvBlocks)}
	for _, store := range stores {
		if err := checkSize("slots", store.Slots); err != nil {
			return nil, err
		}
		b.stores = append(b.stores, besideStore{Store: store, rows: newRecency(store.Slots)})
	}
	return b, nil
}

// MaxSize is the largest number of blocks, slots or tokens of a block that is
// taken: the product of two fits an int64.
const MaxSize = 1 << 30

func checkSize(field string, size int) error {
	switch {
	case size < 1:
		return &auxerrors.ConfigError{Field: field, Value: size, Want: "at least 1", Reason: auxerrors.ErrTooSmall}
	case size > MaxSize:
		return &auxerrors.ConfigError{Field: field, Value: size, Want: fmt.Sprintf("at most %d", MaxSize), Reason: auxerrors.ErrTooLarge}
	}
	return nil
}

// Add replays one request; its block numbers are as for [Pass.Add]. A block that
// the request names again counts where it is named first.
func (b *Beside) Add(blocks []uint32) error {
	if err := checkDense(blocks, len(b.mentions)); err != nil {
		return err
	}
	if len(blocks) == 0 {
		return nil
	}
	b.grow(int(slices.Max(blocks)) + 1)
	blocks = b.unrepeated(blocks)
	hit := 0
	for hit < len(blocks) && b.kv.has(blocks[hit]) {
		hit++
	}
	if hit > 0 {
		b.hits++
	}
	for i := range b.stores {
		b.stores[i].replay(blocks, hit)
	}
	for _, block := range slices.Backward(blocks) {
		b.kv.touch(block)
	}
	return nil
}

func (b *Beside) grow(known int) {
	if known <= len(b.mentions) {
		return
	}
	b.mentions = append(b.mentions, make([]uint32, known-len(b.mentions))...)
	b.kv.grow(known)
	for i := range b.stores {
		b.stores[i].rows.grow(known)
	}
}

// unrepeated returns the blocks without later mentions of the same one, which a
// chain of hashes never has and a damaged trace may.
func (b *Beside) unrepeated(blocks []uint32) []uint32 {
	b.round++
	repeats := 0
	for _, block := range blocks {
		if b.mentions[block] == b.round {
			repeats++
		}
		b.mentions[block] = b.round
	}
	if repeats == 0 {
		return blocks
	}
	b.round++
	b.distinct = b.distinct[:0]
	for _, block := range blocks {
		if b.mentions[block] != b.round {
			b.distinct = append(b.distinct, block)
		}
		b.mentions[block] = b.round
	}
	return b.distinct
}

// replay lets the store see a request whose first hit blocks the KV cache has.
func (s *besideStore) replay(blocks []uint32, hit int) {
	s.skip = s.skip[:0]
	lost := false
	for _, block := range blocks[:hit] {
		missing := !s.rows.has(block)
		lost = lost || missing
		s.skip = append(s.skip, s.IgnoreHits || missing && s.Regime == FailClosed)
	}
	if lost {
		s.lost++
	}
	blocks = blocks[:min(len(blocks), s.Slots)]
	if s.Order == HeadFirst {
		for i, block := range blocks {
			s.touch(i, block)
		}
		return
	}
	for i, block := range slices.Backward(blocks) {
		s.touch(i, block)
	}
}

func (s *besideStore) touch(i int, block uint32) {
	if i >= len(s.skip) || !s.skip[i] {
		s.rows.touch(block)
	}
}

// Outcomes tells what became of the requests so far, one entry for each store in
// the order given.
func (b *Beside) Outcomes() []Outcome {
	outcomes := make([]Outcome, len(b.stores))
	for i, s := range b.stores {
		outcomes[i] = Outcome{Store: s.Store, Hits: b.hits, Lost: s.lost}
	}
	return outcomes
}
