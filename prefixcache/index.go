package prefixcache

import (
	"hash/maphash"
	"math/bits"

	"github.com/auxoutput/auxoutput/blockhash"
)

// key is what a block is filed under: vLLM's digest followed by the group.
type key struct {
	hash  blockhash.Hash
	group uint8
}

// entry files one block under one key. Entry 0 is none.
type entry struct {
	key   key
	sum   uint32 // of the key, to find its bucket and to compare cheaply
	block int32
	chain int32 // the next key in the bucket; set in the oldest entry of a key only
	newer int32 // the entries of one key form a ring, in order of insertion
	older int32
	more  int32 // the next key of the same block; or the next unused entry
}

// index finds the blocks of a key and the keys of a block, both in the order in
// which they were filed. It is a hash table of fixed size whose entries are
// linked by number: it holds no pointers, blocks that are registered together lie
// together, and adding or removing one takes constant time. The hash is seeded,
// for the keys come from prompts that others choose.
type index struct {
	seed    maphash.Seed
	buckets []int32 // first entry of each chain; a power of two, twice the blocks or more
	first   []int32 // by block: its first key's entry
	entries []entry
	unused  int32
	keys    int // distinct ones
}

func newIndex(blocks int) index {
	return index{
		seed:    maphash.MakeSeed(),
		buckets: make([]int32, 2<<bits.Len(uint(blocks-1))),
		first:   make([]int32, blocks),
		entries: make([]entry, 1, blocks),
	}
}

func (x *index) sum(k key) uint32 { return uint32(maphash.Comparable(x.seed, k)) }

// link is where the chain of a bucket refers to the oldest entry of a key, or
// its end if the key is not there.
func (x *index) link(k key, sum uint32) *int32 {
	at := &x.buckets[int(sum)&(len(x.buckets)-1)]
	for *at != 0 {
		e := &x.entries[*at]
		if e.sum == sum && e.key == k {
			break
		}
		at = &e.chain
	}
	return at
}

// find returns the block that was filed first under a key; the null block means
// that there is none.
func (x *index) find(k key) int32 { return x.entries[*x.link(k, x.sum(k))].block }

// appendBlocks appends the blocks that are filed under a key, oldest first.
func (x *index) appendBlocks(k key, ids []int32) []int32 {
	oldest := *x.link(k, x.sum(k))
	for e := oldest; e != 0; {
		ids = append(ids, x.entries[e].block)
		if e = x.entries[e].newer; e == oldest {
			break
		}
	}
	return ids
}

// hashed reports whether a block has any key.
func (x *index) hashed(b int32) bool { return x.first[b] != 0 }

// has reports whether a block is filed under a key.
func (x *index) has(b int32, k key) bool {
	for e := x.first[b]; e != 0; e = x.entries[e].more {
		if x.entries[e].key == k {
			return true
		}
	}
	return false
}

// add files a block under a key, after those it has.
func (x *index) add(k key, b int32) {
	e := x.file(k, b)
	at := &x.first[b]
	for *at != 0 {
		at = &x.entries[*at].more
	}
	*at = e
}

// file makes an entry and puts it at the end of its key's ring.
func (x *index) file(k key, b int32) int32 {
	e := x.unused
	if e != 0 {
		x.unused = x.entries[e].more
	} else {
		e = int32(len(x.entries))
		x.entries = append(x.entries, entry{})
	}
	sum := x.sum(k)
	x.entries[e] = entry{key: k, sum: sum, block: b, newer: e, older: e}
	at := x.link(k, sum)
	if *at == 0 {
		*at = e
		x.keys++
		return e
	}
	head := *at
	tail := x.entries[head].older
	x.entries[e].newer, x.entries[e].older = head, tail
	x.entries[tail].newer, x.entries[head].older = e, e
	return e
}

// drop takes the first key from a block and returns it. ok is false if the block
// has none.
func (x *index) drop(b int32) (k key, ok bool) {
	e := x.first[b]
	if e == 0 {
		return key{}, false
	}
	it := x.entries[e]
	x.first[b] = it.more
	if at := x.link(it.key, it.sum); *at == e {
		if it.newer == e {
			*at = it.chain
			x.keys--
		} else {
			*at = it.newer
			x.entries[it.newer].chain = it.chain
		}
	}
	x.entries[it.older].newer = it.newer
	x.entries[it.newer].older = it.older
	x.entries[e] = entry{more: x.unused}
	x.unused = e
	return it.key, true
}

// clear drops everything.
func (x *index) clear() {
	clear(x.buckets)
	clear(x.first)
	x.entries = x.entries[:1]
	x.unused, x.keys = 0, 0
}
