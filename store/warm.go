package store

// warmth makes memory that is going to be needed in a moment come into the
// processor's caches, for many places at a time. Code that looks at each place in
// turn and branches on what it finds waits for one place before it asks for the
// next; reads without a branch overlap. The sum keeps the compiler from leaving
// them out.
type warmth struct{ sum uint64 }

// cell reads the cell where the search for a tag begins.
func (w *warmth) cell(x *index, t tag) { w.sum += x.cells[x.home(t)] }

// node reads the node of the block that a tag leads to, if there is one. Its cell
// should be warm.
func (w *warmth) node(x *index, t tag) { w.sum += uint64(x.nodes[x.candidate(t)].flags) }

// neighbours reads the nodes that have to be changed when a slot leaves the recency
// list.
func (w *warmth) neighbours(nodes []node, slot int32) {
	n := &nodes[slot]
	w.sum += uint64(nodes[n.prev].flags) + uint64(nodes[n.next].flags)
}

// mark reads the bucket of a fingerprint.
func (w *warmth) mark(d *departed, print uint64) { w.sum += d.bucket(print)[0] }
