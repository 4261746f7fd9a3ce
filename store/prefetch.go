package store

// prefetch reads memory that is going to be needed in a moment, for many places
// at a time, so that it is in the processor's caches then. Code that looks at each
// place in turn and branches on what it finds waits for one place before it asks
// for the next; reads without a branch overlap. The sum keeps the compiler from
// leaving them out.
type prefetch struct{ sum uint64 }

// cell reads the cell where the search for a tag begins.
func (p *prefetch) cell(x *index, t tag) { p.sum += x.cells[x.home(t)] }

// node reads the node of the block that a tag leads to, if there is one. Its cell
// should have been prefetched.
func (p *prefetch) node(x *index, t tag) { p.sum += uint64(x.nodes[x.candidate(t)].flags) }

// neighbours reads the nodes that have to be changed when a slot leaves the recency
// list.
func (p *prefetch) neighbours(nodes []node, slot int32) {
	n := &nodes[slot]
	p.sum += uint64(nodes[n.prev].flags) + uint64(nodes[n.next].flags)
}

// mark reads the bucket in which a tag is remembered.
func (p *prefetch) mark(h *history, t tag) { p.sum += uint64(h.bucket(t)[0]) }
