// Package store keeps blocks of routing rows in host memory: a byte-budgeted
// LRU keyed by KV block hash.
//
// # Blocks and slots
//
// A block is the rows of one hash block of tokens: immutable bytes, all of one
// size ([Options.BlockBytes]). The budget ([Options.MaxBytes]) is cut into
// floor(MaxBytes / BlockBytes) equal slots, which lie one after the other in one
// anonymous mapping outside the Go heap. The mapping is reserved at once and
// becomes resident as slots are first used. Book-keeping costs another 88 bytes
// a slot; [Stats] tells both. The mapping is outside the Go heap, so GOMEMLIMIT does
// not count it. Subtract [Stats.MappedBytes], or that of [Process] for all stores,
// when you set a limit. Rows are left out of core dumps where the system can be
// asked to.
//
// A store has to be closed. The memory of one that is dropped without [Store.Close]
// is given back when the collector finds it, and [Process] counts it. Whoever holds
// a [Store], a [View] or a [Lease] keeps the store; a [Writer] that runs does too.
//
// # The first law
//
// A read returns exactly the rows that were published for those hashes, or an
// error: never zeros, never a shorter answer, never another block's rows. The
// first publication of a hash wins while it is present. An operation that
// returns an error has changed nothing.
//
// # One convention for order
//
// Every list of hashes is in prefix order: the head of the sequence first. Where
// a list touches recency, the store walks it backwards, so that the head ends
// newest. Tails are therefore evicted before heads, as in the KV cache, whose
// recency this store has to agree with: at equal capacity an exact LRU with the
// same order never lacks a block that the KV cache still has.
//
// # Retaining
//
// A request retains hashes while it may still need them. A retained block cannot
// be evicted, and costs eviction nothing. The count belongs to the hash, not to
// the block: it may be raised before the block is published. When it falls to
// zero, the block becomes the newest. A [Lease] owns the retains of one request
// and gives back what it still holds when it is closed.
//
// # Generations
//
// Hashes do not change with the weights of the model, rows do. [Store.Reset]
// starts a new generation: all blocks and all references are gone at once, at the
// same cost whatever the store holds, and a batch of an older generation that arrives
// late is refused.
//
// # Concurrency
//
// All methods are safe for concurrent use and linearizable: a batch is visible
// whole or not at all. One mutex guards the book-keeping; rows are copied
// outside it, in parallel. No code of the user runs under it.
package store
