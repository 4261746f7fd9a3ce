package store

// recency is the list of blocks that may be evicted, from oldest to newest: a
// ring through the nodes' links, closed by node 0, which is no slot. Retained
// and viewed blocks are not in it, so that finding a victim never walks over
// them; as a block becomes newest when its last hold ends, its place meanwhile
// means nothing. All zeros is the empty list.
type recency struct {
	nodes []node
	len   int
}

// oldest is the slot to evict first, 0 if there is none.
func (r *recency) oldest() int32 { return r.nodes[0].next }

// newer is the slot that follows, 0 at the end.
func (r *recency) newer(slot int32) int32 { return r.nodes[slot].next }

// pushNewest links in a slot that is not listed.
func (r *recency) pushNewest(slot int32) {
	end, n := &r.nodes[0], &r.nodes[slot]
	n.prev, n.next = end.prev, 0
	r.nodes[end.prev].next = slot
	end.prev = slot
	n.flags |= listed
	r.len++
}

// unlink takes out a slot that is listed.
func (r *recency) unlink(slot int32) {
	n := &r.nodes[slot]
	r.nodes[n.prev].next = n.next
	r.nodes[n.next].prev = n.prev
	n.prev, n.next = 0, 0
	n.flags &^= listed
	r.len--
}

// touch makes a listed slot the newest.
func (r *recency) touch(slot int32) {
	if r.nodes[0].prev == slot {
		return
	}
	r.unlink(slot)
	r.pushNewest(slot)
}

// reset forgets all links at once. The flags and links of nodes mean nothing then.
func (r *recency) reset() {
	r.nodes[0] = node{}
	r.len = 0
}
