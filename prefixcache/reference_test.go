package prefixcache

import (
	"slices"

	"github.com/auxoutput/auxoutput/blockhash"
)

// reference is the cache once more, written down rule by rule with plain slices
// and maps and nothing clever: every search is a scan.
type reference struct {
	cfg      Config
	users    []int
	keys     [][]key       // by block, the full block's first
	filed    map[key][]int // by key, in order of insertion
	free     []int
	events   []Event
	requests map[*Request]*referenceRequest
}

type referenceRequest struct {
	tables   [][]int
	cached   []int
	computed int
}

func newReference(cfg Config) *reference {
	m := &reference{
		cfg: cfg, users: make([]int, cfg.Blocks), keys: make([][]key, cfg.Blocks),
		filed: map[key][]int{}, requests: map[*Request]*referenceRequest{},
	}
	for b := 1; b < cfg.Blocks; b++ {
		m.free = append(m.free, b)
	}
	return m
}

func (m *reference) keyOf(g int, hashes []blockhash.Hash, i int) key {
	per := m.cfg.Groups[g].BlockTokens / m.cfg.HashTokens
	return key{hash: hashes[i*per+per-1], group: uint8(g)}
}

// joint looks up block i in groups that must all have it.
func (m *reference) joint(groups []int, hashes []blockhash.Hash, i int) ([]int, bool) {
	var found []int
	for _, g := range groups {
		blocks := m.filed[m.keyOf(g, hashes, i)]
		if len(blocks) == 0 {
			return nil, false
		}
		found = append(found, blocks[0])
	}
	return found, true
}

func (m *reference) misaligned(g Group, blocks int) bool {
	return blocks*g.BlockTokens%m.cfg.SchedulerTokens != 0
}

func (m *reference) findFull(groups []int, hashes []blockhash.Hash, limit int, drop bool) [][]int {
	g := m.cfg.Groups[groups[0]]
	var list [][]int
	for i := 0; (i+1)*g.BlockTokens <= limit && (i+1)*g.BlockTokens <= len(hashes)*m.cfg.HashTokens; i++ {
		found, ok := m.joint(groups, hashes, i)
		if !ok {
			break
		}
		list = append(list, found)
	}
	if drop && len(list) > 0 {
		list = list[:len(list)-1]
	}
	for m.misaligned(g, len(list)) {
		list = list[:len(list)-1]
	}
	return list
}

func (m *reference) findWindow(groups []int, hashes []blockhash.Hash, limit int, drop bool) [][]int {
	g := m.cfg.Groups[groups[0]]
	need := 0
	for need*g.BlockTokens < g.Window-1 {
		need++
	}
	if drop {
		need++
	}
	most := 0
	for (most+1)*g.BlockTokens <= limit && (most+1)*g.BlockTokens <= len(hashes)*m.cfg.HashTokens {
		most++
	}
	list := make([][]int, most)
	for i := range list {
		list[i] = make([]int, len(groups))
	}
	run, match := 0, false
	for i := most - 1; i >= 0; i-- {
		found, ok := m.joint(groups, hashes, i)
		if !ok {
			run = 0
			continue
		}
		end := i + 1
		if drop {
			end = i
		}
		if run == 0 && m.misaligned(g, end) {
			continue
		}
		list[i] = found
		run++
		if run >= need {
			list = list[:i+run]
			match = true
			break
		}
	}
	if !match {
		list = list[:run]
		for m.misaligned(g, len(list)) {
			list = list[:len(list)-1]
		}
	}
	if drop && len(list) > 0 {
		list = list[:len(list)-1]
		for m.misaligned(g, len(list)) {
			list = list[:len(list)-1]
		}
	}
	return list
}

// lookup returns the hit and, by group, its blocks.
func (m *reference) lookup(r *Request, limit int) (int, [][]int) {
	byGroup := make([][]int, len(m.cfg.Groups))
	if m.cfg.DisableCaching || r.SkipLookup {
		return 0, byGroup
	}
	var batches [][]int
	for _, kind := range []Kind{FullAttention, SlidingWindow} {
	groups:
		for i, g := range m.cfg.Groups {
			if g.Kind != kind {
				continue
			}
			for b, batch := range batches {
				if m.cfg.Groups[batch[0]].sameShape(g) {
					batches[b] = append(batch, i)
					continue groups
				}
			}
			batches = append(batches, []int{i})
		}
	}
	usable := r.Tokens - 1
	candidate := usable
	if limit < candidate {
		candidate = limit / m.cfg.SchedulerTokens * m.cfg.SchedulerTokens
	}
	results := make([][][]int, len(batches))
	searched := make([]bool, len(batches))
	verified := map[int]bool{}
	for {
		now := candidate
		for b, batch := range batches {
			g := m.cfg.Groups[batch[0]]
			if g.Kind == FullAttention && searched[b] {
				now = now / g.BlockTokens * g.BlockTokens
				continue
			}
			drop := g.Eagle && !verified[b]
			most := now
			if drop {
				most = min(now+g.BlockTokens, usable)
			}
			if g.Kind == FullAttention {
				results[b] = m.findFull(batch, r.Hashes, most, drop)
			} else {
				results[b] = m.findWindow(batch, r.Hashes, most, drop)
			}
			searched[b] = true
			found := len(results[b]) * g.BlockTokens
			if drop {
				verified[b] = true
			} else if found < now {
				verified = map[int]bool{}
			}
			now = found
		}
		if now >= candidate {
			break
		}
		candidate = now
		simple := len(batches) == 2 && m.cfg.Groups[batches[0][0]].Kind == FullAttention && m.cfg.Groups[batches[1][0]].Kind == SlidingWindow
		if len(m.cfg.Groups) == 1 || simple {
			break
		}
	}
	for b, batch := range batches {
		for i := range candidate / m.cfg.Groups[batch[0]].BlockTokens {
			for j, g := range batch {
				byGroup[g] = append(byGroup[g], results[b][i][j])
			}
		}
	}
	return candidate, byGroup
}

// skipped counts the leading blocks that lie wholly before the window.
func (m *reference) skipped(g, tokens int) int {
	if m.cfg.Groups[g].Kind == FullAttention {
		return 0
	}
	n := 0
	for (n+1)*m.cfg.Groups[g].BlockTokens <= tokens-m.cfg.Groups[g].Window+1 {
		n++
	}
	return n
}

func (m *reference) blocksFor(g, tokens int) int {
	n := 0
	for n*m.cfg.Groups[g].BlockTokens < tokens {
		n++
	}
	return n
}

func (m *reference) admit(r *Request, limit, tokens int) (int, bool) {
	hit, blocks := m.lookup(r, limit)
	demand := 0
	for g := range m.cfg.Groups {
		demand += max(0, m.blocksFor(g, hit+tokens)-max(m.skipped(g, hit), len(blocks[g])))
		for i, b := range blocks[g] {
			if i >= m.skipped(g, hit) && b != 0 && m.users[b] == 0 {
				demand++
			}
		}
	}
	if demand > len(m.free) {
		return hit, false
	}
	it := &referenceRequest{computed: hit}
	m.requests[r] = it
	for g := range m.cfg.Groups {
		table := []int{}
		for i, b := range blocks[g] {
			if i < m.skipped(g, hit) {
				b = 0
			}
			if b != 0 {
				m.free = slices.DeleteFunc(m.free, func(f int) bool { return f == b })
				m.users[b]++
			}
			table = append(table, b)
		}
		it.tables = append(it.tables, table)
		it.cached = append(it.cached, len(table))
	}
	m.extend(r, it, tokens)
	return hit, true
}

func (m *reference) allocate(r *Request, n int) bool {
	it := m.requests[r]
	for g := range m.cfg.Groups {
		var passed []int
		for i := min(m.skipped(g, it.computed), len(it.tables[g])) - 1; i >= 0 && it.tables[g][i] != 0; i-- {
			passed = append(passed, it.tables[g][i])
			it.tables[g][i] = 0
		}
		m.giveBack(passed)
	}
	demand := 0
	for g := range m.cfg.Groups {
		demand += max(0, m.blocksFor(g, it.computed+n)-len(it.tables[g]))
	}
	if demand > len(m.free) {
		return false
	}
	m.extend(r, it, n)
	return true
}

func (m *reference) extend(r *Request, it *referenceRequest, n int) {
	it.computed += n
	for g := range m.cfg.Groups {
		for len(it.tables[g]) < m.blocksFor(g, it.computed) {
			b := m.free[0]
			m.free = m.free[1:]
			m.evict(b)
			m.users[b] = 1
			it.tables[g] = append(it.tables[g], b)
		}
	}
	if m.cfg.DisableCaching {
		return
	}
	limit := min(it.computed, r.Tokens, len(r.Hashes)*m.cfg.HashTokens)
	for g, spec := range m.cfg.Groups {
		mine := limit
		if len(m.cfg.Groups) > 1 {
			mine = limit / m.cfg.SchedulerTokens * m.cfg.SchedulerTokens
			if spec.Eagle && mine > 0 { // no look-ahead before the first whole scheduler unit
				mine = min(limit, mine+spec.BlockTokens)
			}
		}
		m.registerFull(r, it, g, mine/spec.BlockTokens)
		m.registerPartial(r, it, g, mine)
	}
}

func (m *reference) registerFull(r *Request, it *referenceRequest, g, end int) {
	from, spec := it.cached[g], m.cfg.Groups[g]
	if end <= from {
		return
	}
	event := Event{Kind: Stored, Group: g, Tokens: (end - from) * spec.BlockTokens, BlockTokens: spec.BlockTokens}
	if from > 0 {
		event.Parent = m.keyOf(g, r.Hashes, from-1).hash
	}
	for i := from; i < end; i++ {
		b := it.tables[g][i]
		if b == 0 || m.masked(spec, i) {
			continue
		}
		if len(m.keys[b]) > 0 { // a partial entry so far: a full block's first key is its own
			m.evict(b)
		}
		k := m.keyOf(g, r.Hashes, i)
		m.keys[b] = append(m.keys[b], k)
		m.filed[k] = append(m.filed[k], b)
		event.Hashes = append(event.Hashes, k.hash)
	}
	m.events = append(m.events, event)
	it.cached[g] = end
}

func (m *reference) masked(g Group, i int) bool {
	if g.Kind == FullAttention {
		return false
	}
	per := m.cfg.SchedulerTokens / g.BlockTokens
	need, shift := (g.Window-1+g.BlockTokens-1)/g.BlockTokens, 0
	if g.Eagle {
		need, shift = need+1, 1
	}
	need = max(need, 1)
	if need >= per {
		return false
	}
	return i < shift || (i-shift)%per < per-need
}

func (m *reference) registerPartial(r *Request, it *referenceRequest, g, limit int) {
	spec := m.cfg.Groups[g]
	boundary := r.Prompt / m.cfg.HashTokens * m.cfg.HashTokens
	if spec.Kind != FullAttention || boundary%spec.BlockTokens == 0 || limit < boundary {
		return
	}
	n := boundary / m.cfg.HashTokens
	k := key{hash: r.Hashes[n-1], group: uint8(g)}
	b := it.tables[g][boundary/spec.BlockTokens]
	if slices.Contains(m.keys[b], k) {
		return
	}
	m.keys[b] = append(m.keys[b], k)
	m.filed[k] = append(m.filed[k], b)
	event := Event{Kind: Stored, Group: g, Hashes: []blockhash.Hash{k.hash}, Tokens: m.cfg.HashTokens, BlockTokens: m.cfg.HashTokens}
	if n > 1 {
		event.Parent = r.Hashes[n-2]
	}
	m.events = append(m.events, event)
}

// evict takes the keys from a block.
func (m *reference) evict(b int) {
	for _, k := range m.keys[b] {
		m.filed[k] = slices.DeleteFunc(m.filed[k], func(f int) bool { return f == b })
		if len(m.filed[k]) == 0 {
			delete(m.filed, k)
		}
		m.events = append(m.events, Event{Kind: Removed, Group: int(k.group), Hashes: []blockhash.Hash{k.hash}})
	}
	m.keys[b] = nil
}

func (m *reference) evictHash(h blockhash.Hash) int {
	n := 0
	for g := range m.cfg.Groups {
		for {
			blocks := m.filed[key{hash: h, group: uint8(g)}]
			if len(blocks) == 0 {
				break
			}
			m.evict(blocks[0])
			n++
		}
	}
	return n
}

func (m *reference) release(r *Request) {
	for _, table := range m.requests[r].tables {
		slices.Reverse(table)
		m.giveBack(table)
	}
	delete(m.requests, r)
}

func (m *reference) giveBack(blocks []int) {
	var front, back []int
	for _, b := range blocks {
		if b == 0 {
			continue
		}
		if m.users[b]--; m.users[b] > 0 {
			continue
		}
		if len(m.keys[b]) == 0 && !m.cfg.LegacyFreeOrder && !m.cfg.DisableCaching {
			front = append(front, b)
		} else {
			back = append(back, b)
		}
	}
	m.free = slices.Concat(front, m.free, back)
}

func (m *reference) reset() bool {
	if len(m.free) != m.cfg.Blocks-1 {
		return false
	}
	clear(m.filed)
	clear(m.keys)
	m.events = append(m.events, Event{Kind: Cleared})
	return true
}
