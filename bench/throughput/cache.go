package throughput

import (
	"github.com/auxoutput/auxoutput/blockhash"
	"github.com/auxoutput/auxoutput/store"
)

// Cache is what is measured. Get and Put may be called at the same time.
type Cache interface {
	// Put keeps copies of the blocks; when it returns they can be read, as far as
	// the cache has taken them.
	Put(blocks []store.Block) error

	// Get copies the rows of the blocks into dst, one behind the other, up to the
	// first one that is absent, and returns how many it has copied. A cache whose
	// reads are all or nothing returns 0 if one is absent.
	Get(dst []byte, hashes []blockhash.Hash) (int, error)

	// Close gives the memory back.
	Close() error
}

// Holder is a cache that can be told not to evict blocks.
type Holder interface {
	Cache
	Hold(hashes []blockhash.Hash) error
}

// Counter is a cache that knows what its book-keeping takes.
type Counter interface {
	// MetadataBytes is the book-keeping of one block.
	MetadataBytes() float64
}

// Contestant is a cache to be made for each round anew.
type Contestant struct {
	Name string
	// Bare marks a limit: it has no notion of an absent block, so it takes no part
	// in the mix.
	Bare bool
	Make func(Setup) (Cache, error)
}

// The names of the contestants that need no other module.
const (
	StoreName     = "auxoutput"
	LimitName     = "limit"
	SmallPageName = "limit-4KiB"
)

// Own are the store and the limits: the limit on huge pages, which the store
// asks for too and which all ratios refer to, and the one on small pages.
func Own() []Contestant {
	return []Contestant{
		{Name: LimitName, Bare: true, Make: func(s Setup) (Cache, error) { return newLimit(s, true) }},
		{Name: SmallPageName, Bare: true, Make: func(s Setup) (Cache, error) { return newLimit(s, false) }},
		{Name: StoreName, Make: newStore},
	}
}
