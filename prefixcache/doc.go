// Package prefixcache models the prefix cache of a vLLM engine: its pool of KV
// blocks, the order in which blocks are reused, what a new request hits, what is
// registered under which hash, and the events that tell the outside about it. It
// holds no KV data and sees no tokens; it knows token counts and block hashes.
//
// The model is of the KV cache manager of August 2026 and reproduces recorded
// runs of it: same hits, same blocks, same free list, same events.
//
// # The rules, and where they come from
//
// One pool holds all blocks. Block 0 is the null block: it is never handed out
// and stands in tables where a sliding window needs no storage. The others are in
// use, with a count of users, or on the free list. A block keeps its hashes when
// it becomes free, so it is both free and a possible hit; it loses them only when
// it is handed out again. There is no other automatic eviction.
//
//   - Reuse takes the head of the free list. A request returns its blocks last
//     block first, so tails go before heads and older requests before newer. A
//     block without a hash goes to the head of the list, since vLLM PR 42656
//     (after PR 33710); before, and with caching off (issue 51482), to the tail.
//   - Blocks are not merged: two that were computed from equal tokens both stay,
//     under one hash, and a lookup returns the one registered first.
//   - A hit covers at most all tokens but the last, whose logits are needed. It
//     ends on a multiple of the scheduler size. Under EAGLE the last block of the
//     hit is dropped, because the drafter's state there depends on the next block.
//   - Several groups of layers must agree on the length of the hit: each shortens
//     the candidate of the others until none does. The EAGLE drop happens once per
//     candidate (issue 32802). All groups take hold of their hits before any group
//     is given new blocks (issue 33775).
//   - Full blocks are registered when they are scheduled, before they are computed,
//     and only as far as tokens are known: drafts never are. So a stored event can
//     precede the forward pass.
//   - With several groups, blocks are registered up to the last whole scheduler
//     unit. An EAGLE group may go one block of its own beyond, but not before the
//     first unit is whole.
//   - A full attention group whose blocks are larger than a hash block also
//     registers the last hash boundary inside the prompt, as one more key of the
//     block around it (PR 45939 and its series). When that block becomes full, this
//     key is removed and registered again, behind the key of the full block; and
//     whenever it is missing, the next step registers it. No lookup of the groups
//     modelled here hits it.
//   - The key of a block that spans several hash blocks is the hash of its last
//     one. (PR 29143 joined all their digests at first; equality is the same.)
//
// # Use
//
// The engine owns a [Request] per sequence and keeps its counts and hashes up to
// date. [Cache.Admit] looks up and allocates for a waiting request,
// [Cache.Allocate] for a running one, [Cache.Free] and [Cache.Preempt] return
// blocks. That too few blocks are free is an answer, not an error. When to
// preempt, how many blocks to hold back at admission, and when to free a request
// whose blocks a step in flight may still write, are decisions of the engine.
//
// Touching, freeing and evicting a block take constant time, and nothing is
// allocated per block once the tables have grown. A Cache is not safe for
// concurrent use, just as the engine's scheduler is one thread.
//
// [Plan] answers the question before: how many blocks a GPU has room for.
//
// Not modelled: state-space and chunked local attention groups (they appear in
// [Plan] only), retention intervals, blocks that a KV connector loads.
package prefixcache
