package capacity

import "sort"

// Curve is the prefix-hit ratio of a trace for every capacity in blocks. It is
// immutable and safe for concurrent use.
type Curve struct {
	requests   int
	references int64
	unique     int
	hits       []int64 // by capacity: blocks hit, summed over the requests
	found      []int64 // by capacity: requests with a hit
}

// Curve is the result of the requests added so far.
func (p *Pass) Curve() *Curve {
	c := &Curve{
		requests:   p.requests,
		references: p.references,
		unique:     p.unique,
		hits:       make([]int64, p.unique+1),
		found:      make([]int64, p.unique+1),
	}
	var prefixes, requests int64
	steps := int64(0)
	for place := 1; place <= p.unique; place++ {
		steps += p.steps[place]
		prefixes += steps
		requests += p.first[place]
		c.hits[place], c.found[place] = prefixes, requests
	}
	return c
}

// Requests is the number of requests.
func (c *Curve) Requests() int { return c.requests }

// References is the number of blocks of all requests, every mention counted.
func (c *Curve) References() int64 { return c.references }

// UniqueBlocks is the number of different blocks. A larger capacity than that
// changes nothing.
func (c *Curve) UniqueBlocks() int { return c.unique }

// HitBlocks is the number of blocks hit at a capacity, summed over the requests.
func (c *Curve) HitBlocks(capacity int) int64 {
	return c.hits[min(max(capacity, 0), c.unique)]
}

// RequestsWithHit is the number of requests that hit at least one block.
func (c *Curve) RequestsWithHit(capacity int) int {
	return int(c.found[min(max(capacity, 0), c.unique)])
}

// HitRatio is the share of the references hit at a capacity, 0 to 1; 0 for a
// trace without references.
func (c *Curve) HitRatio(capacity int) float64 {
	if c.references == 0 {
		return 0
	}
	return float64(c.HitBlocks(capacity)) / float64(c.references)
}

// Ceiling is the hit ratio of a cache that holds everything.
func (c *Curve) Ceiling() float64 { return c.HitRatio(c.unique) }

// ShareOfCeiling is the hit ratio at a capacity as a share of [Curve.Ceiling],
// 0 to 1; 0 for a trace in which nothing ever hits.
func (c *Curve) ShareOfCeiling(capacity int) float64 {
	ceiling := c.HitBlocks(c.unique)
	if ceiling == 0 {
		return 0
	}
	return float64(c.HitBlocks(capacity)) / float64(ceiling)
}

// Smallest is the least capacity whose hits reach a share of the ceiling, share
// from 0 to 1; a greater one is taken for 1.
func (c *Curve) Smallest(share float64) int {
	want := min(share, 1) * float64(c.HitBlocks(c.unique))
	return sort.Search(c.unique, func(capacity int) bool {
		return float64(c.hits[capacity]) >= want
	})
}

// SafeSlots is the least number of slots of a store that never loses a row of a
// hit, beside a KV cache of kvBlocks blocks and in step with it: tail first, hits
// touched. It is 0 if there is no hit. The package's text has the proof.
func (c *Curve) SafeSlots(kvBlocks int) int {
	top := min(max(kvBlocks, 0), c.unique)
	// The greatest place not above kvBlocks that some hit prefix reaches: the
	// last capacity at which the hits rise.
	return sort.Search(top, func(slots int) bool { return c.hits[slots] == c.hits[top] })
}
