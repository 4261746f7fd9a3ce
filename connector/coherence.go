package connector

// Why a KV hit always finds its rows, and why a put always finds room.
//
// # The claim
//
// Let the KV pool have B blocks of r hash blocks each, all for one full attention
// group or shared by several groups, and the store at least B x r slots. Then in
// FailClosed mode no read is ever missing and no put ever fails, whatever the
// requests do, with or without a step of lag.
//
// # Terms
//
// A hash is registered when the KV cache files a block under it, which it does as
// the block's tokens are scheduled. It is lost when the block is handed out again.
// M(k) is the metadata of step k taking effect, C(k) the commit of its output. They
// alternate: M(0) C(0) M(1) C(1) ... K(k) are the hashes registered after schedule
// k, R(k) the hashes that the worker retains after M(k).
//
// # What the two sides are told
//
// The scheduler half sends a request's registered hashes and no others. The worker
// retains what it is sent and publishes only blocks whose hashes it was sent. So a
// block that the KV cache never files is never in the store: not the one that a stop
// token completes while a step is in flight, nor the finished part of a larger,
// unfinished KV block. And a prompt whose hashes are known, but whose KV blocks are
// not allocated yet, retains nothing old. (The reference sends everything that is
// known. Rows of blocks that the KV cache lost long ago then become the newest, and
// push out rows of blocks that it still has.)
//
// # Puts find room
//
// Each hash of R(k) is the hash of a block that some live request holds in its table
// after schedule k; different hashes, different places in the pool. So R(k) is no
// larger than the store. C(k) publishes only hashes of R(k). M(k) publishes hashes of
// R(k) and of requests that end in M(k), whose blocks may be dropped in the same put.
// What is not retained may be evicted. So the batch fits.
//
// # Evicted hashes are lost ones
//
// A block becomes evictable when its last request ends, and so does the KV block: it
// goes to the end of the free list in the same event. Within a request both sides
// go from the last block to the first. So the two orders are one: of two evictable
// hashes, the one that was released earlier is lost earlier. It makes no difference
// that several KV blocks may have the same hash: the hash is lost with the last of
// them that was freed, and released with the last request that held one of them.
//
// Suppose a put evicts a hash of K(k). Then it has evicted everything that was
// released earlier, and by the common order nothing evictable that is left is lost.
// So all that was stored before the last eviction, and the batch, were hashes of R(k)
// and hashes of K(k) that nobody retains. The first lie in KV blocks in use, the
// second in free ones; together they are at most B x r, and no eviction was needed.
//
// # Hits find rows
//
// A request hits h in schedule k. Some request registered h in a schedule j <= k and
// computed its block in step j or before, so C(j) or M(j) published it: its hash was
// sent with M(j), and a request whose terminal event is in M(j+1) or later is still
// there. From then on h was retained, or in K and so not evicted; M(k) retained it
// again. If j = k, it is in the store after C(k) has published, and reads come after
// that.
//
// # Lag
//
// With a step of lag, schedule k+1 comes before C(k), and M(k+1) could take effect
// before C(k). It must not. A request that ended after schedule k gave its KV blocks
// to schedule k+1, which may register hashes h in them whose old rows, lost long ago,
// happen still to be in the store. M(k+1) would retain h now, while the rows of the
// request that ended are retained until its output C(k) is through. Both lie in the
// same KV blocks, so the count above no longer bounds what is retained, and the put
// of C(k) can fail although the KV cache has room. Hence Begin keeps metadata until
// the output before it is committed. (The recorded runs of the reference apply it in
// the same order.)
//
// # Hashes lost out of order
//
// evict_blocks takes hashes from blocks wherever they are in the free list. Then a
// lost hash may be newer than ones that are not. Such hashes are sent along
// ([Scheduler.Remove]) and leave the store before the rest of the metadata takes
// effect; a hash that somebody still retains leaves with the last release, unless it
// was registered and published again by then. For a KV block of several hash blocks
// that is every one of its hashes which no other registered block contains.
//
// # Fewer slots than hash blocks
//
// Below that budget the claim is false, and not by a little. RowGated then asks
// instead of hoping. A [Gate] counts the distinct hashes that lives hold or are
// promised; they never exceed the slots, so every put fits. A hit is cut to the
// leading blocks whose rows are stored or promised, and these are pinned in the same
// moment, so every read finds them. A promise is kept: who computes a block retains
// it from its first step to its end, and ends only after its outputs. Linked does the
// same, and makes either side forget what the other has evicted.
