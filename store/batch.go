package store

import (
	"bytes"
	"fmt"
	"math/bits"

	"github.com/cespare/xxhash/v2"

	"github.com/auxoutput/auxoutput/blockhash"
	auxerrors "github.com/auxoutput/auxoutput/errors"
)

// Block is the rows of one hash block of tokens.
type Block struct {
	Hash blockhash.Hash
	Rows []byte // exactly BlockBytes long; Put copies it and keeps no reference to it
}

// Batch is what one [Store.Put] does as a whole. All lists are in prefix order,
// head first, and each may be empty.
type Batch struct {
	// Generation is the generation the batch belongs to. A batch of another one
	// than the store's is refused.
	Generation uint64

	// Blocks are published. If a hash occurs more than once, its first mention
	// counts, place and rows, as the first publication does from batch to batch.
	// Later rows that differ are a conflict, which is known with Verify only.
	// vLLM's store takes the rows of the last mention.
	Blocks []Block

	// Partial leaves out the blocks at the end of the list for which there is no
	// room, instead of refusing the batch. They are absent afterwards, so that a
	// read of them fails; all else of the batch stands.
	Partial bool

	// Retain raises the count of each hash by one per mention, whether its block
	// is stored or not.
	Retain []blockhash.Hash

	// Release lowers the count of each hash by one per mention. Each has to be
	// retained often enough, the batch's own retains included.
	Release []blockhash.Hash

	// Evicted, if not nil, is a list to which Put appends the hashes of the blocks
	// that gave way, each once: those counted in [PutResult] as Evicted, oldest
	// first, and then the others counted as Dropped or LeftOut. Who keeps something
	// else under the same hashes can drop it too.
	Evicted *[]blockhash.Hash
}

// PutResult says what became of the distinct blocks of a batch. Stored and Present
// together are those that are stored now; with LeftOut and Dropped they are all.
type PutResult struct {
	Stored    int // blocks that are stored now and were not before
	Present   int // blocks that were stored before, keep the bytes they had, and still are
	Conflicts int // blocks with rows other than those stored before or mentioned first; known with Verify only
	LeftOut   int // blocks for which there was no room in a Partial batch: not stored
	Dropped   int // blocks released in their own batch that gave way to the rest of it: not stored now
	Evicted   int // blocks stored before that gave way, whether the batch has them or not
}

// staged is a batch prepared for the store: one item for each distinct block,
// and room for what Put finds out on the way. It is reused from put to put.
type staged struct {
	items       []item
	cells       []int32 // item number + 1 by hash, as in index
	retainTags  []tag
	releaseTags []tag

	retains   []counter // where the count of each retain is
	releases  []counter // likewise, in the order in which they are counted
	terminals []counter // counts that reached zero, in that order
	victims   []int32   // slots to evict
	absent    int       // items that are not stored yet

	queued queued // while it waits for a slot
}

// item is a distinct block of a batch.
type item struct {
	first   int32 // place of its first mention in the batch, whose rows count
	tag     tag
	slot    int32 // where it is or will be stored, 0 as long as that is nowhere
	refs    int32 // its count, while it is not stored
	stored  bool  // it was stored before
	dropped bool  // it gives way to the rest of the batch
	leftOut bool  // ... because there is no room for it
	differs bool  // a later mention has other rows; known with Verify only
	sum     uint64
}

// checkBatch checks what can be checked of a batch without looking at the store.
func (s *Store) checkBatch(b *Batch) *auxerrors.BlockObjectStoreError {
	for i := range b.Blocks {
		block := &b.Blocks[i]
		if block.Hash.IsZero() {
			return s.hashError("put", auxerrors.ErrInvalidHash, block.Hash, i)
		}
		if len(block.Rows) != s.blockBytes {
			err := s.hashError("put", auxerrors.ErrPayloadSize, block.Hash, i)
			err.Detail = fmt.Sprintf("%d bytes, want %d", len(block.Rows), s.blockBytes)
			return err
		}
	}
	for _, list := range [2]struct {
		op     string
		hashes []blockhash.Hash
	}{{"retain", b.Retain}, {"release", b.Release}} {
		for i := range list.hashes {
			if list.hashes[i].IsZero() {
				return s.hashError(list.op, auxerrors.ErrInvalidHash, list.hashes[i], i)
			}
		}
	}
	return nil
}

// stage checks a batch and finds its distinct blocks.
func (s *Store) stage(p *staged, b *Batch) *auxerrors.BlockObjectStoreError {
	if err := s.checkBatch(b); err != nil {
		return err
	}
	s.stageTags(&p.retainTags, b.Retain)
	s.stageTags(&p.releaseTags, b.Release)
	p.stageItems(s, b.Blocks)
	if s.verify {
		for i := range p.items {
			p.items[i].sum = xxhash.Sum64(b.Blocks[p.items[i].first].Rows)
		}
	}
	return nil
}

func (s *Store) stageTags(tags *[]tag, hashes []blockhash.Hash) {
	*tags = (*tags)[:0]
	for i := range hashes {
		*tags = append(*tags, s.tag(&hashes[i]))
	}
}

func (p *staged) stageItems(s *Store, blocks []Block) {
	p.items = p.items[:0]
	p.resetCells(len(blocks))
	for i := range blocks {
		t := s.tag(&blocks[i].Hash)
		at := p.cellOf(t, &blocks[i].Hash, blocks)
		if p.cells[at] != 0 {
			it := &p.items[p.cells[at]-1]
			it.differs = it.differs || s.verify && !bytes.Equal(blocks[it.first].Rows, blocks[i].Rows)
			continue
		}
		p.items = append(p.items, item{first: int32(i), tag: t})
		p.cells[at] = int32(len(p.items))
	}
}

// resetCells empties the table and makes it at least twice as large as the
// number of blocks: a power of two.
func (p *staged) resetCells(blocks int) {
	size := 1 << bits.Len(uint(2*blocks))
	if cap(p.cells) < size {
		p.cells = make([]int32, size)
		return
	}
	p.cells = p.cells[:size]
	clear(p.cells)
}

// cellOf is the cell of a hash, or the empty one where it belongs.
func (p *staged) cellOf(t tag, hash *blockhash.Hash, blocks []Block) int {
	mask := len(p.cells) - 1
	for at := int(t) & mask; ; at = (at + 1) & mask {
		number := p.cells[at]
		if number == 0 {
			return at
		}
		it := &p.items[number-1]
		if it.tag == t && blocks[it.first].Hash == *hash {
			return at
		}
	}
}

// itemOf is the number of the item with this hash, -1 if there is none.
func (p *staged) itemOf(t tag, hash *blockhash.Hash, blocks []Block) int32 {
	return p.cells[p.cellOf(t, hash, blocks)] - 1
}

// hashError is an error about one hash of a list.
func (s *Store) hashError(op string, reason error, hash blockhash.Hash, at int) *auxerrors.BlockObjectStoreError {
	return &auxerrors.BlockObjectStoreError{Op: op, Reason: reason, Hash: hash.Bytes(), Index: at, Limit: s.slots.total}
}
