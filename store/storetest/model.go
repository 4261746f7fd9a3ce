package storetest

import (
	"bytes"
	"slices"

	"github.com/auxoutput/auxoutput/blockhash"
	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/store"
)

// Model is the store's contract written down literally: one list, full scans, and
// a copy of everything before each batch. It is slow on purpose, and meant to be
// read as the specification. It is not safe for concurrent use.
type Model struct {
	slots      int
	blockBytes int
	generation uint64
	closed     bool

	// Verify counts conflicts: blocks with a payload that differs from the one that
	// is there, or from that of their first mention in the batch.
	Verify bool

	order []*modelBlock // stored blocks, oldest first; the place of a held one means nothing
	refs  map[blockhash.Hash]int
	gone  map[blockhash.Hash]error // why a hash that was stored no longer is
	views []*modelView
}

// modelBlock is one stay of a block in the store.
type modelBlock struct {
	hash    blockhash.Hash
	rows    []byte
	views   int  // open views that show it
	removed bool // goes with the last release
}

// modelView is a view until its blocks are given back: by Close, or by the last use if
// the view is closed while it is used.
type modelView struct {
	blocks []*modelBlock
	uses   int
	closed bool
}

// NewModel makes an empty model in generation 0.
func NewModel(slots, blockBytes int) *Model {
	return &Model{
		slots: slots, blockBytes: blockBytes,
		refs: map[blockhash.Hash]int{}, gone: map[blockhash.Hash]error{},
	}
}

func (m *Model) find(hash blockhash.Hash) *modelBlock {
	for _, block := range m.order {
		if block.hash == hash {
			return block
		}
	}
	return nil
}

func (m *Model) touch(block *modelBlock) {
	m.order = slices.DeleteFunc(m.order, func(b *modelBlock) bool { return b == block })
	m.order = append(m.order, block)
}

func (m *Model) drop(block *modelBlock, why error) {
	m.order = slices.DeleteFunc(m.order, func(b *modelBlock) bool { return b == block })
	m.gone[block.hash] = why
}

func (m *Model) held(block *modelBlock) bool {
	return m.refs[block.hash] > 0 || block.views > 0
}

// occupied counts the slots in use: those of stored blocks, and those of dropped
// ones that a view still shows.
func (m *Model) occupied() int {
	inUse := map[*modelBlock]bool{}
	for _, block := range m.order {
		inUse[block] = true
	}
	for _, view := range m.views {
		for _, block := range view.blocks {
			inUse[block] = true
		}
	}
	return len(inUse)
}

// saved is what a failing batch is undone with.
type saved struct {
	order   []*modelBlock
	removed []bool
	refs    map[blockhash.Hash]int
	gone    map[blockhash.Hash]error
}

func (m *Model) save() saved {
	s := saved{order: slices.Clone(m.order), refs: map[blockhash.Hash]int{}, gone: map[blockhash.Hash]error{}}
	for _, block := range m.order {
		s.removed = append(s.removed, block.removed)
	}
	for hash, n := range m.refs {
		s.refs[hash] = n
	}
	for hash, why := range m.gone {
		s.gone[hash] = why
	}
	return s
}

func (m *Model) restore(s saved) {
	m.order, m.refs, m.gone = s.order, s.refs, s.gone
	for i, block := range m.order {
		block.removed = s.removed[i]
	}
}

// put is design step by step; the error is the sentinel.
func (m *Model) put(b store.Batch) (result store.PutResult, reason error) {
	before := m.save()
	defer func() {
		if reason != nil {
			m.restore(before)
			result = store.PutResult{}
		}
	}()

	// 1. Check.
	for _, block := range b.Blocks {
		if block.Hash.IsZero() {
			return result, auxerrors.ErrInvalidHash
		}
		if len(block.Rows) != m.blockBytes {
			return result, auxerrors.ErrPayloadSize
		}
	}
	for _, hash := range slices.Concat(b.Retain, b.Release) {
		if hash.IsZero() {
			return result, auxerrors.ErrInvalidHash
		}
	}
	if b.Generation != m.generation {
		return result, auxerrors.ErrGeneration
	}

	// 2. Retain.
	for _, hash := range b.Retain {
		m.refs[hash]++
	}

	// 3. Release, backwards.
	var terminals []blockhash.Hash
	for _, hash := range slices.Backward(b.Release) {
		if m.refs[hash] == 0 {
			return result, auxerrors.ErrNotRetained
		}
		if m.refs[hash]--; m.refs[hash] == 0 {
			delete(m.refs, hash)
			terminals = append(terminals, hash)
		}
	}

	// 4. Each distinct block: newest, backwards.
	var distinct []store.Block
	conflicts := map[blockhash.Hash]bool{}
	for _, block := range b.Blocks {
		at := slices.IndexFunc(distinct, func(d store.Block) bool { return d.Hash == block.Hash })
		if at < 0 {
			distinct = append(distinct, block)
		} else if !bytes.Equal(distinct[at].Rows, block.Rows) {
			conflicts[block.Hash] = true // the first one counts
		}
	}
	incoming := map[*modelBlock]bool{} // blocks of this batch; true: new
	for _, block := range slices.Backward(distinct) {
		if stored := m.find(block.Hash); stored != nil {
			stored.removed = false
			m.touch(stored)
			incoming[stored] = false
			result.Present++
			if !bytes.Equal(stored.rows, block.Rows) {
				conflicts[block.Hash] = true
			}
			continue
		}
		fresh := &modelBlock{hash: block.Hash, rows: slices.Clone(block.Rows)}
		m.order = append(m.order, fresh)
		incoming[fresh] = true
		result.Stored++
	}
	if m.Verify {
		result.Conflicts = len(conflicts)
	}

	// 5. Terminal hashes: newest, or gone if they were removed meanwhile.
	for _, hash := range terminals {
		switch block := m.find(hash); {
		case block == nil:
		case block.removed:
			m.drop(block, auxerrors.ErrRemoved)
		default:
			m.touch(block)
		}
	}

	// 6. Evict to fit.
	for m.occupied() > m.slots {
		var victim *modelBlock
		for _, block := range m.order {
			_, own := incoming[block]
			if !m.held(block) && (!own || slices.Contains(terminals, block.hash)) {
				victim = block
				break
			}
		}
		if victim == nil && b.Partial {
			// The last block of the list that would be stored is left out.
			for _, block := range slices.Backward(distinct) {
				if stored := m.find(block.Hash); stored != nil && incoming[stored] {
					m.order = slices.DeleteFunc(m.order, func(b *modelBlock) bool { return b == stored })
					break
				}
			}
			result.Stored--
			result.LeftOut++
			continue
		}
		if victim == nil {
			return result, auxerrors.ErrCannotFit
		}
		if incoming[victim] {
			result.Stored--
			result.Dropped++
			why, known := m.gone[victim.hash]
			m.drop(victim, nil)
			delete(m.gone, victim.hash)
			if known {
				m.gone[victim.hash] = why // it was never stored again
			}
			continue
		}
		if _, own := incoming[victim]; own {
			result.Present--
			result.Dropped++
		}
		m.drop(victim, auxerrors.ErrEvicted)
		result.Evicted++
	}
	return result, nil
}

// read finds all blocks and touches them, or says which is the first absent one
// and why.
func (m *Model) read(hashes []blockhash.Hash) (blocks []*modelBlock, absent int, reason error) {
	for i, hash := range hashes {
		block := m.find(hash)
		if block == nil {
			if why := m.gone[hash]; why != nil {
				return nil, i, why
			}
			return nil, i, auxerrors.ErrNeverStored
		}
		blocks = append(blocks, block)
	}
	for _, block := range slices.Backward(blocks) {
		m.touch(block)
	}
	return blocks, -1, nil
}

func (m *Model) view(blocks []*modelBlock) *modelView {
	for _, block := range blocks {
		block.views++
	}
	view := &modelView{blocks: blocks}
	m.views = append(m.views, view)
	return view
}

func (m *Model) closeView(view *modelView) {
	m.views = slices.DeleteFunc(m.views, func(v *modelView) bool { return v == view })
	for _, block := range slices.Backward(view.blocks) {
		block.views--
		if slices.Contains(m.order, block) && !m.held(block) {
			m.touch(block)
		}
	}
}

func (m *Model) prefix(hashes []blockhash.Hash) int {
	n := 0
	for n < len(hashes) && m.find(hashes[n]) != nil {
		n++
	}
	return n
}

func (m *Model) retainPrefix(hashes []blockhash.Hash) int {
	n := m.prefix(hashes)
	for _, hash := range hashes[:n] {
		m.refs[hash]++
	}
	return n
}

func (m *Model) remove(hashes []blockhash.Hash) int {
	n := 0
	for _, hash := range hashes {
		block := m.find(hash)
		if block == nil || block.removed {
			continue
		}
		n++
		if m.refs[hash] > 0 {
			block.removed = true
			continue
		}
		m.drop(block, auxerrors.ErrRemoved)
	}
	return n
}

func (m *Model) reset() {
	m.order = nil
	clear(m.refs)
	clear(m.gone)
	m.generation++
}

// snapshot is the model's state in the form of the store's.
func (m *Model) snapshot() (evictable []blockhash.Hash, held, pending map[blockhash.Hash]store.Holding) {
	held, pending = map[blockhash.Hash]store.Holding{}, map[blockhash.Hash]store.Holding{}
	for _, block := range m.order {
		if m.held(block) {
			held[block.hash] = store.Holding{Hash: block.hash, Refs: m.refs[block.hash], Views: block.views}
			continue
		}
		evictable = append(evictable, block.hash)
	}
	for hash, refs := range m.refs {
		if m.find(hash) == nil {
			pending[hash] = store.Holding{Hash: hash, Refs: refs}
		}
	}
	return evictable, held, pending
}

func rowsOf(blocks []*modelBlock) []byte {
	var rows [][]byte
	for _, block := range blocks {
		rows = append(rows, block.rows)
	}
	return bytes.Join(rows, nil)
}
