package storetest

import (
	"slices"

	"github.com/auxoutput/auxoutput/blockhash"
	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/store"
)

// The methods by which the model is a [Store] itself.

func (m *Model) fail(op string, reason error, at int) error {
	return &auxerrors.BlockObjectStoreError{Op: op, Reason: reason, Index: at, Used: len(m.order), Limit: m.slots}
}

// usable reports why an operation cannot be carried out at all, if so.
func (m *Model) usable(op string, generation uint64) error {
	switch {
	case m.closed:
		return m.fail(op, auxerrors.ErrClosed, -1)
	case generation != m.generation:
		return m.fail(op, auxerrors.ErrGeneration, -1)
	}
	return nil
}

// Put is step by step what [store.Store.Put] says.
func (m *Model) Put(batch store.Batch) (store.PutResult, error) {
	if m.closed {
		return store.PutResult{}, m.fail("put", auxerrors.ErrClosed, -1)
	}
	result, reason := m.put(batch)
	if reason != nil {
		return result, m.fail("put", reason, -1)
	}
	return result, nil
}

// Get appends the rows of all blocks, or of none.
func (m *Model) Get(dst []byte, hashes []blockhash.Hash) ([]byte, error) {
	blocks, err := m.readAll("get", hashes)
	if err != nil {
		return dst, err
	}
	return append(dst, rowsOf(blocks)...), nil
}

func (m *Model) readAll(op string, hashes []blockhash.Hash) ([]*modelBlock, error) {
	if m.closed {
		return nil, m.fail(op, auxerrors.ErrClosed, -1)
	}
	if at := slices.IndexFunc(hashes, blockhash.Hash.IsZero); at >= 0 {
		return nil, m.fail(op, auxerrors.ErrInvalidHash, at)
	}
	blocks, absent, reason := m.read(hashes)
	if reason != nil {
		return nil, m.fail(op, reason, absent)
	}
	return blocks, nil
}

// Prefix counts leading blocks that are there.
func (m *Model) Prefix(hashes []blockhash.Hash) int {
	if m.closed {
		return 0
	}
	return m.prefix(hashes)
}

// RetainPrefix counts and retains leading blocks.
func (m *Model) RetainPrefix(generation uint64, hashes []blockhash.Hash) (int, error) {
	if err := m.usable("retain prefix", generation); err != nil {
		return 0, err
	}
	return m.retainPrefix(hashes), nil
}

// Remove drops blocks, retained ones with their last release.
func (m *Model) Remove(generation uint64, hashes []blockhash.Hash) (int, error) {
	if err := m.usable("remove", generation); err != nil {
		return 0, err
	}
	return m.remove(hashes), nil
}

// Reset starts a new generation.
func (m *Model) Reset() (uint64, error) {
	if m.closed {
		return 0, m.fail("reset", auxerrors.ErrClosed, -1)
	}
	m.reset()
	return m.generation, nil
}

// Close ends the model.
func (m *Model) Close() error {
	m.closed = true
	return nil
}

// OpenView shows blocks.
func (m *Model) OpenView(hashes []blockhash.Hash) (View, error) {
	blocks, err := m.readAll("view", hashes)
	if err != nil {
		return nil, err
	}
	return &openModelView{m, m.view(blocks)}, nil
}

// Snapshot is the whole state.
func (m *Model) Snapshot() store.Snapshot {
	var snapshot store.Snapshot
	if m.closed {
		return snapshot
	}
	evictable, held, pending := m.snapshot()
	snapshot.Evictable = evictable
	for _, h := range held {
		snapshot.Held = append(snapshot.Held, h)
	}
	for _, h := range pending {
		snapshot.Pending = append(snapshot.Pending, h)
	}
	return snapshot
}
