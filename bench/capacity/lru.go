package capacity

// recency is an LRU set of block numbers: a circle of links through a flat array
// that is indexed by block, so that the hot loop needs no map. Place 0 of the
// array is the circle's hinge; its next is the newest, its previous the oldest.
type recency struct {
	slots int
	used  int
	links []link // by block plus one
}

// link joins a block to its neighbours. An absent block has next == absent.
type link struct{ next, previous uint32 }

const absent = ^uint32(0)

func newRecency(slots int) *recency {
	return &recency{slots: slots, links: make([]link, 1)}
}

// grow makes room for blocks below known.
func (r *recency) grow(known int) {
	for len(r.links) <= known {
		r.links = append(r.links, link{absent, absent})
	}
}

func (r *recency) has(block uint32) bool { return r.links[block+1].next != absent }

// touch makes a block the newest; an absent one is inserted, and the oldest
// leaves if there is no room.
func (r *recency) touch(block uint32) {
	at := block + 1
	if r.links[0].next == at {
		return
	}
	if r.has(block) {
		r.unlink(at)
	} else if r.used == r.slots {
		oldest := r.links[0].previous
		r.unlink(oldest)
		r.links[oldest] = link{absent, absent}
	} else {
		r.used++
	}
	newest := r.links[0].next
	r.links[at] = link{newest, 0}
	r.links[newest].previous = at
	r.links[0].next = at
}

func (r *recency) unlink(at uint32) {
	l := r.links[at]
	r.links[l.previous].next = l.next
	r.links[l.next].previous = l.previous
}
