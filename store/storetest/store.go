package storetest

import (
	"io"

	"github.com/auxoutput/auxoutput/blockhash"
	"github.com/auxoutput/auxoutput/store"
)

// Store is what every store has to do. The contracts are those of the methods of
// the same names of [store.Store]; errors wrap the same sentinels of package
// errors.
type Store interface {
	Put(batch store.Batch) (store.PutResult, error)
	Get(dst []byte, hashes []blockhash.Hash) ([]byte, error)
	Prefix(hashes []blockhash.Hash) int
	Reset() (generation uint64, err error)
	Close() error
}

// What a store may do besides. It is tested if it is there.
type (
	// PrefixRetainer counts and retains leading blocks in one step.
	PrefixRetainer interface {
		RetainPrefix(generation uint64, hashes []blockhash.Hash) (int, error)
	}
	// Remover drops blocks.
	Remover interface {
		Remove(generation uint64, hashes []blockhash.Hash) (int, error)
	}
	// Viewer shows blocks without copying them.
	Viewer interface {
		OpenView(hashes []blockhash.Hash) (View, error)
	}
	// Leaser has leases. The contract is that of [store.Lease].
	Leaser interface {
		TakeLease() Lease
	}
	// Snapshotter lets the tests see the whole state, recency included. Without it
	// they see which blocks are there.
	Snapshotter interface {
		Snapshot() store.Snapshot
	}
	// Verifier may compare rows that are put with those that are there. If it says
	// that it does, the conflicts it counts have to be the model's.
	Verifier interface {
		Verifies() bool
	}
	// Counter counts what is there.
	Counter interface {
		Stats() store.Stats
	}
)

// View is an open view of blocks. Any goroutine may close it, also one in the middle of
// WriteTo: the contract is that of [store.View].
type View interface {
	io.WriterTo
	Len() int
	Block(i int) ([]byte, error)
	Close() error
}

// Lease owns retains. Any goroutine may close it.
type Lease interface {
	RetainPrefix(hashes []blockhash.Hash) (int, error)
	Retain(hashes []blockhash.Hash) error
	Publish(blocks []store.Block) (store.PutResult, error)
	Release(hashes []blockhash.Hash) error
	Held() int
	Close() error
}

// Factory makes an empty store of so many slots, in generation 0.
type Factory func(slots, blockBytes int) (Store, error)

// Of makes a [store.Store] fit the interfaces of this package.
func Of(s *store.Store) Store { return adapted{s} }

type adapted struct{ *store.Store }

func (a adapted) OpenView(hashes []blockhash.Hash) (View, error) { return a.View(hashes) }

func (a adapted) TakeLease() Lease { return a.Lease() }
