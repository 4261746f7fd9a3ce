package connector

import "github.com/auxoutput/auxoutput/blockhash"

// ledger remembers for each KV block of the full-attention group which rows belong
// to the KV in it: the keys of its hash blocks, as long as the KV cache files the
// block. A block has the keys of whoever filled it, whichever requests hit it later.
//
// Two blocks have the same keys only if both were loaded from the same block of an
// offload tier.
type ledger struct {
	ratio  int              // hash blocks of a KV block
	ends   []blockhash.Hash // by KV block: the hash it is filed under, which ends it; zero if it is not filed
	keys   []blockhash.Hash // by KV block: ratio keys
	same   []int32          // by KV block: another one with the same keys, 0 at the end
	blocks map[blockhash.Hash]int32
}

// KVBlock is a KV block that the pool has lost: the hash it was filed under and the
// keys of its rows, in prefix order.
type KVBlock struct {
	ID   int32
	End  blockhash.Hash
	Keys []blockhash.Hash
}

func newLedger(kvBlocks, ratio int) ledger {
	return ledger{
		ratio:  ratio,
		ends:   make([]blockhash.Hash, kvBlocks),
		keys:   make([]blockhash.Hash, kvBlocks*ratio),
		same:   make([]int32, kvBlocks),
		blocks: make(map[blockhash.Hash]int32),
	}
}

// known reports whether an id is that of a block that can be filled: block 0 is the
// null block.
func (l *ledger) known(block int32) bool { return block > 0 && int(block) < len(l.ends) }

// filed reports whether a block has keys.
func (l *ledger) filed(block int32) bool { return !l.ends[block].IsZero() }

// of are the keys of a block.
func (l *ledger) of(block int32) []blockhash.Hash {
	at := int(block) * l.ratio
	return l.keys[at : at+l.ratio : at+l.ratio]
}

// file notes the keys of a block that has none.
func (l *ledger) file(block int32, end blockhash.Hash, keys []blockhash.Hash) {
	l.ends[block] = end
	copy(l.of(block), keys)
	l.same[block] = l.blocks[keys[0]]
	for i := range keys {
		l.blocks[keys[i]] = block
	}
}

// clear forgets the keys of a block.
func (l *ledger) clear(block int32) {
	keys := l.of(block)
	next := l.same[block]
	if head := l.blocks[keys[0]]; head == block {
		for i := range keys {
			if next == 0 {
				delete(l.blocks, keys[i])
			} else {
				l.blocks[keys[i]] = next
			}
		}
	} else {
		for l.same[head] != block {
			head = l.same[head]
		}
		l.same[head] = next
	}
	clear(keys)
	l.ends[block], l.same[block] = blockhash.Hash{}, 0
}

// appendHolders appends the blocks that have a key.
func (l *ledger) appendHolders(blocks []int32, key blockhash.Hash) []int32 {
	for block := l.blocks[key]; block != 0; block = l.same[block] {
		blocks = append(blocks, block)
	}
	return blocks
}

// reset forgets everything.
func (l *ledger) reset() {
	clear(l.ends)
	clear(l.keys)
	clear(l.same)
	clear(l.blocks)
}
