package storetest

import (
	"slices"

	"github.com/auxoutput/auxoutput/blockhash"
	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/store"
)

// modelLease is a lease of the model: the hashes that it holds in the order of their
// first retains, and how often.
type modelLease struct {
	model      *Model
	generation uint64
	order      []blockhash.Hash
	counts     map[blockhash.Hash]int
	closed     bool
}

// TakeLease is a lease that holds nothing.
func (m *Model) TakeLease() Lease {
	return &modelLease{model: m, generation: m.generation, counts: map[blockhash.Hash]int{}}
}

// own counts what was retained.
func (l *modelLease) own(hashes []blockhash.Hash) {
	for _, hash := range hashes {
		if !slices.Contains(l.order, hash) {
			l.order = append(l.order, hash)
		}
		l.counts[hash]++
	}
}

func (l *modelLease) usable(op string) error {
	if l.closed {
		return l.model.fail(op, auxerrors.ErrClosed, -1)
	}
	return l.model.usable(op, l.generation)
}

func (l *modelLease) RetainPrefix(hashes []blockhash.Hash) (int, error) {
	if err := l.usable("retain prefix"); err != nil {
		return 0, err
	}
	n := l.model.retainPrefix(hashes)
	l.own(hashes[:n])
	return n, nil
}

func (l *modelLease) Retain(hashes []blockhash.Hash) error {
	_, err := l.put(nil, hashes)
	return err
}

func (l *modelLease) Publish(blocks []store.Block) (store.PutResult, error) {
	var hashes []blockhash.Hash
	for _, block := range blocks {
		hashes = append(hashes, block.Hash)
	}
	return l.put(blocks, hashes)
}

func (l *modelLease) put(blocks []store.Block, retain []blockhash.Hash) (store.PutResult, error) {
	if err := l.usable("put"); err != nil {
		return store.PutResult{}, err
	}
	result, err := l.model.Put(store.Batch{Generation: l.generation, Blocks: blocks, Retain: retain})
	if err == nil {
		l.own(retain)
	}
	return result, err
}

// Release gives back what is held, all of it or nothing.
func (l *modelLease) Release(hashes []blockhash.Hash) error {
	if l.closed || l.model.closed {
		return l.model.fail("release", auxerrors.ErrClosed, -1)
	}
	counts := map[blockhash.Hash]int{}
	for i, hash := range hashes {
		if counts[hash]++; counts[hash] > l.counts[hash] {
			return l.model.fail("release", auxerrors.ErrNotRetained, i)
		}
	}
	if _, err := l.model.Put(store.Batch{Generation: l.generation, Release: hashes}); err != nil {
		return err
	}
	for hash, n := range counts {
		l.counts[hash] -= n
	}
	return nil
}

func (l *modelLease) Held() int {
	n := 0
	for _, count := range l.counts {
		n += count
	}
	return n
}

// Close gives back what can be given back, as one batch.
func (l *modelLease) Close() error {
	if l.closed {
		return nil
	}
	l.closed = true
	var back []blockhash.Hash
	var gone *blockhash.Hash // the first that somebody else has released
	for _, hash := range l.order {
		there := min(l.counts[hash], l.model.refs[hash])
		for range there {
			back = append(back, hash)
		}
		if there < l.counts[hash] && gone == nil {
			gone = &hash
		}
	}
	clear(l.counts)
	if l.model.usable("close lease", l.generation) != nil {
		return nil // nothing is left to give back
	}
	if _, err := l.model.Put(store.Batch{Generation: l.generation, Release: back}); err != nil {
		return err
	}
	if gone == nil {
		return nil
	}
	return &auxerrors.BlockObjectStoreError{Op: "close lease", Reason: auxerrors.ErrNotRetained, Hash: gone.Bytes(), Index: -1}
}
