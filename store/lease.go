package store

import (
	"errors"
	"sync"

	"github.com/auxoutput/auxoutput/blockhash"
	auxerrors "github.com/auxoutput/auxoutput/errors"
)

// Lease owns the retains of one request, in the generation in which it was
// taken. Close gives back whatever it still holds, so a request that is lost
// half-way cannot leave blocks that are never evicted.
//
// After a reset of the store the references are gone: every method but Close
// then returns ErrGeneration, and so the rows of newer weights cannot get into
// an older request. After Close they return ErrClosed.
//
// A Lease is safe for concurrent use.
type Lease struct {
	store      *Store
	generation uint64

	mu     sync.Mutex
	closed bool
	counts map[blockhash.Hash]int
	order  []blockhash.Hash // hashes by first retain: prefix order, if the request's retains are
}

// Lease takes a lease that holds nothing yet.
func (s *Store) Lease() *Lease {
	return &Lease{store: s, generation: s.Generation(), counts: make(map[blockhash.Hash]int)}
}

// Generation is the generation of the store in which the lease was taken.
func (l *Lease) Generation() uint64 { return l.generation }

// RetainPrefix is [Store.RetainPrefix]; the lease owns what it retained.
func (l *Lease) RetainPrefix(hashes []blockhash.Hash) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return 0, l.closedError("retain prefix")
	}
	n, err := l.store.RetainPrefix(l.generation, hashes)
	if err != nil {
		return 0, err
	}
	l.own(hashes[:n])
	return n, nil
}

// Retain raises the count of each hash by one, whether its block is stored or not.
func (l *Lease) Retain(hashes []blockhash.Hash) error {
	_, err := l.put(nil, hashes, nil)
	return err
}

// Publish puts blocks and retains their hashes in the same step, so that no
// other batch can evict them in between.
func (l *Lease) Publish(blocks []Block) (PutResult, error) {
	hashes := make([]blockhash.Hash, len(blocks))
	for i := range blocks {
		hashes[i] = blocks[i].Hash
	}
	return l.put(blocks, hashes, nil)
}

// Release gives back one retain of each hash, in prefix order. A hash that the
// lease does not hold is ErrNotRetained, even if another request retains it.
func (l *Lease) Release(hashes []blockhash.Hash) error {
	_, err := l.put(nil, nil, hashes)
	return err
}

// Get is [Store.Get] in the lease's generation.
func (l *Lease) Get(dst []byte, hashes []blockhash.Hash) ([]byte, error) {
	if err := l.open("get"); err != nil {
		return dst, err
	}
	return l.store.get(dst, hashes, l.generation)
}

// View is [Store.View] in the lease's generation. The view outlives the lease.
func (l *Lease) View(hashes []blockhash.Hash) (View, error) {
	if err := l.open("view"); err != nil {
		return View{}, err
	}
	return l.store.view(hashes, l.generation)
}

// Held is the number of retains the lease owns.
func (l *Lease) Held() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for _, count := range l.counts {
		n += count
	}
	return n
}

// Close gives back everything the lease holds, heads ending newest. If the store
// was reset or closed since, there is nothing left to give back, and that is no
// error. A second call does nothing.
func (l *Lease) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	l.closed = true
	var held []blockhash.Hash
	for _, hash := range l.order {
		for range l.counts[hash] {
			held = append(held, hash)
		}
		delete(l.counts, hash)
	}
	l.order = nil
	if len(held) == 0 {
		return nil
	}
	_, err := l.store.Put(Batch{Generation: l.generation, Release: held})
	if errors.Is(err, auxerrors.ErrGeneration) || errors.Is(err, auxerrors.ErrClosed) {
		return nil
	}
	return err
}

func (l *Lease) put(blocks []Block, retain, release []blockhash.Hash) (PutResult, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return PutResult{}, l.closedError("put")
	}
	if err := l.owns(release); err != nil {
		return PutResult{}, err
	}
	result, err := l.store.Put(Batch{Generation: l.generation, Blocks: blocks, Retain: retain, Release: release})
	if err != nil {
		return PutResult{}, err
	}
	l.own(retain)
	l.disown(release)
	return result, nil
}

func (l *Lease) own(hashes []blockhash.Hash) {
	for _, hash := range hashes {
		if l.counts[hash]++; l.counts[hash] == 1 {
			l.order = append(l.order, hash)
		}
	}
}

// owns checks that the lease holds every hash as often as it is listed.
func (l *Lease) owns(hashes []blockhash.Hash) error {
	listed := make(map[blockhash.Hash]int, min(len(hashes), len(l.counts)))
	for i, hash := range hashes {
		if listed[hash]++; listed[hash] > l.counts[hash] {
			return l.store.hashError("release", auxerrors.ErrNotRetained, hash, i)
		}
	}
	return nil
}

// disown takes hashes off the counts. A hash that is no longer held stays in the
// order until half of the order is of that kind.
func (l *Lease) disown(hashes []blockhash.Hash) {
	for _, hash := range hashes {
		if l.counts[hash]--; l.counts[hash] == 0 {
			delete(l.counts, hash)
		}
	}
	if len(l.order) <= 2*len(l.counts) {
		return
	}
	kept := l.order[:0]
	for _, hash := range l.order {
		if l.counts[hash] > 0 {
			kept = append(kept, hash)
		}
	}
	l.order = kept
}

func (l *Lease) open(op string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return l.closedError(op)
	}
	return nil
}

func (l *Lease) closedError(op string) error {
	return &auxerrors.BlockObjectStoreError{Op: op, Reason: auxerrors.ErrClosed, Index: -1, Detail: "the lease is closed"}
}
