package connector

// Why a KV hit always finds its rows, why they are the right ones, and why a put always
// finds room.
//
// # Whose rows
//
// A position's rows are those captured when the KV that the request uses for it was
// written: for a hit block by whoever filled that KV block, for a computed block by the
// request itself. The hash of a block does not say that. It names tokens, and the same
// tokens can be computed twice: the KV cache lost a block while its rows were still
// stored; or two requests compute a block at a time, and both copies stay; or the last
// block of a prompt is computed again although it is cached, because a hit ends one
// token before the prompt, and under EAGLE one block before that. Another batch can
// round differently, and route differently.
//
// So the scheduler half numbers admissions, and the key of a block is its hash and the
// number of the admission that filled the KV block ([Scheduler]). A request's own
// blocks have its own number, hit blocks have those that the [Scheduler] remembers for
// each KV block, and a block that is loaded from an offload tier the one that it left
// with. It follows that
//
//   - a key is published by one admission, and never with other rows;
//   - a key belongs to one KV block at a time (or to copies that were loaded of one);
//   - rows whose KV is gone are never asked for again, and age out.
//
// In hybrid models this follows the full-attention group: it needs every block of a
// prefix, so its blocks say what was computed and what was hit. A group of sliding
// windows agrees with it on the length of each hit. A model without full attention is
// refused by package guard.
//
// # The claim
//
// Let the KV pool have B blocks of r hash blocks each, all for one full attention
// group or shared by several groups, and the store at least B x r slots. Then in
// FailClosed mode no read is ever missing and no put ever fails, whatever the
// requests do, with or without a step of lag. Outputs that never arrive and rows that
// fail a check are faults of their own: see below.
//
// # Terms
//
// A KV block is filed when the KV cache registers it under its hash, which it does as
// the block's tokens are scheduled. It is lost when it is handed out again. A key is
// live as long as its KV block is filed. M(k) is the metadata of step k taking effect,
// C(k) the commit of its output. They alternate: M(0) C(0) M(1) C(1) ... R(k) are the
// keys that the worker retains after M(k).
//
// # What the two sides are told
//
// The scheduler half sends the keys of a request's filed blocks and no others. The
// worker retains what it is sent and publishes only blocks whose keys it was sent. So a
// block that the KV cache never files is never in the store: not the one that a stop
// token completes while a step is in flight, nor the finished part of a larger,
// unfinished KV block.
//
// # Puts find room
//
// Each key of R(k) is that of a hash block in a KV block which some live request holds
// in its table after schedule k; different keys, different places in the pool. So R(k)
// is no larger than the store. C(k) publishes only keys of R(k). M(k) publishes keys of
// R(k) and of requests that end in M(k), whose blocks may be dropped in the same put.
// What is not retained may be evicted. So the batch fits.
//
// # Evicted keys are dead ones
//
// A block of rows becomes evictable when its last request ends, and so does its KV
// block: it goes to the end of the free list in the same event. Within a request both
// sides go from the last block to the first. So the two orders are one: of two
// evictable keys, the KV block of the one that was released earlier is handed out
// earlier. That holds too for a request that is admitted and preempted before its first
// step: the KV cache frees the blocks of its hit anew, so the worker is told, and makes
// their rows newest ([Update.NeverRan]).
//
// Suppose a put evicts a live key. Then it has evicted everything that was released
// earlier, and by the common order nothing evictable that is left is dead. So all that
// was stored before the last eviction, and the batch, were live or retained keys: those
// of KV blocks in use and of free ones. Together they are at most B x r, and no eviction
// was needed.
//
// # Hits find rows
//
// A request hits a KV block in schedule k. Some request filed it in a schedule j <= k
// and computed it in step j or before, so C(j) or M(j) published it: its key was sent
// with M(j), and a request whose terminal event is in M(j+1) or later is still there.
// From then on the key was retained, or live and so not evicted; M(k) retained it
// again. If j = k, it is in the store after C(k) has published, and reads come after
// that.
//
// # Lag
//
// With a step of lag, schedule k+1 comes before C(k), and M(k+1) could take effect
// before C(k). It must not. A request that ended after schedule k gave its KV blocks
// to schedule k+1, which files other blocks in them. M(k+1) would retain their keys
// now, while the rows of the request that ended are retained until its output C(k) is
// through. Both lie in the same KV blocks, so the count above no longer bounds what is
// retained, and the put of C(k) can fail although the KV cache has room. Hence Begin
// keeps metadata until the output before it is committed. (The recorded runs of the
// reference apply it in the same order.) More than one step of lag is argued for
// nowhere, and refused.
//
// # KV blocks that lose their hashes out of order
//
// evict_blocks takes hashes from blocks wherever they are in the free list. Then a
// dead key may be newer than live ones. Such keys are sent along
// ([Scheduler.Evicted]) and leave the store before the rest of the metadata takes
// effect; a key that somebody still retains leaves with the last release.
//
// # KV beyond the pool
//
// With an offload tier of T hash blocks and B x r + T slots a key is live as long as the
// pool or the tier has its KV. The tier's order is its own: a block that it was offered
// and has already becomes newest there, and not in the store. So the argument by order
// does not carry over. But it is not needed if the engine tells of every key that dies,
// whatever killed it ([Scheduler.AppendLost], [Scheduler.Remove]): then what is stored
// is live or retained, and fits.
//
// # Rows that never come
//
// If an output is lost, or rows of a request fail a check, the KV cache has filed blocks
// whose rows nobody will publish. Those who hit them fail, as they must. [Worker] names
// the keys ([Worker.DrainEvicted]), the engine takes the hashes from their KV blocks,
// and whoever comes next computes them. The same is done for the blocks that a failed
// read finds absent. Without it a prompt fails on every retry, because each try makes
// its KV blocks newest again.
//
// # Fewer slots than hash blocks
//
// Below that budget the claim is false, and not by a little. RowGated then asks
// instead of hoping. A [Gate] counts the distinct keys that lives hold or are
// promised; they never exceed the slots, so every put fits. A hit is cut to the
// leading blocks whose rows are stored or promised, and these are pinned in the same
// moment, so every read finds them. A promise is kept: who computes a block retains
// it from its first step to its end, and ends only after its outputs; if these never
// come, the promise is withdrawn, and who relied on it fails. Linked does the same, and
// makes either side forget what the other has evicted.
