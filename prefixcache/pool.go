package prefixcache

// nullBlock is the placeholder in block tables; it is never handed out.
const nullBlock = 0

// pool counts the users of every block and keeps the free ones in a list that is
// linked through two flat slices, so that a block leaves it from anywhere in
// constant time and the garbage collector has nothing to follow.
type pool struct {
	users []int32
	next  []int32 // towards the tail; the element past the last block is the list's own
	prev  []int32 // towards the head
	free  int
}

// newPool has all blocks but the null block on the free list, in order of id.
func newPool(blocks int) pool {
	p := pool{
		users: make([]int32, blocks),
		next:  make([]int32, blocks+1),
		prev:  make([]int32, blocks+1),
	}
	end := p.end()
	p.next[end], p.prev[end] = end, end
	for b := int32(1); b < end; b++ {
		p.insertAfter(p.prev[end], b)
	}
	return p
}

// end is the element of the links that stands before the head and after the tail.
func (p *pool) end() int32 { return int32(len(p.users)) }

func (p *pool) insertAfter(at, b int32) {
	after := p.next[at]
	p.next[at], p.prev[after] = b, b
	p.prev[b], p.next[b] = at, after
	p.free++
}

func (p *pool) unlink(b int32) {
	p.next[p.prev[b]] = p.next[b]
	p.prev[p.next[b]] = p.prev[b]
	p.free--
}

// take hands out the block at the head of the free list, which must not be empty.
func (p *pool) take() int32 {
	b := p.next[p.end()]
	p.unlink(b)
	p.users[b] = 1
	return b
}

// touch adds a user to a block other than the null block. It leaves the free list
// if it was on it.
func (p *pool) touch(b int32) {
	if p.users[b] == 0 {
		p.unlink(b)
	}
	p.users[b]++
}

// release takes one user from each block. Those that have none left go to the
// tail of the free list; the ones that discard names go to its head instead, the
// first of them foremost.
func (p *pool) release(blocks []int32, discard func(b int32) bool) {
	at := p.end()
	for i := len(blocks) - 1; i >= 0; i-- {
		b := blocks[i]
		if b == nullBlock {
			continue
		}
		if p.users[b]--; p.users[b] > 0 {
			continue
		}
		if discard(b) {
			p.insertAfter(at, b)
			at = b
		} else {
			p.insertAfter(p.prev[p.end()], b)
		}
	}
}
