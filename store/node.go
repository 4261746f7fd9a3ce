package store

import "github.com/auxoutput/auxoutput/blockhash"

// What a slot's node is at the moment.
const (
	live      uint8 = 1 << iota // the slot holds the block of node.hash, and the index finds it
	listed                      // linked into the recency list, so it may be evicted
	retained                    // counted among the retained blocks: refs > 0
	filling                     // its rows are still being copied in
	removed                     // by its owner while retained: it goes with the last release
	orphaned                    // no longer found, but still being copied or viewed
	mentioned                   // one of the blocks of the batch being put
	terminal                    // its count reached zero in the batch being put
)

// node is the book-keeping of one slot: one cache line, free of pointers, so
// that the garbage collector has nothing to follow.
type node struct {
	hash  blockhash.Hash
	flags uint8
	prev  int32 // neighbour towards the oldest block; 0 is the list's end
	next  int32 // neighbour towards the newest block; 0 is the list's end
	refs  int32 // how often the hash is retained
	views int32 // open views that show the block
	busy  int32 // copies under way, into the slot or out of it
	tag   tag   // of the hash, so that leaving the index needs no hashing
}

func (n *node) is(flag uint8) bool { return n.flags&flag != 0 }

// held reports whether the block is kept out of the recency list.
func (n *node) held() bool { return n.refs > 0 || n.views > 0 }
