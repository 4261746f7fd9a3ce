// Package connector carries routing rows from the model runner to the requests, in
// step with a prefix cache: tokens that a KV hit skips get their rows from a store,
// under the same hashes. It is the counterpart of vLLM's aux output connector (PR
// 45635), whose checks, cursors and orders it keeps, and whose holes it closes.
//
// # What is promised
//
// A position's rows are those captured when the KV that the request uses for it was
// written: for a hit block by whoever filled that KV block, for a computed block by the
// request itself. So blocks are stored under a key, which is the hash and the number of
// the admission that filled the KV block. In Reference mode keys are bare hashes, and
// the first rows win, as in vLLM.
//
// # Two halves
//
// The [Scheduler] half lives beside the engine's scheduler. It hears of every request
// that the KV cache admits, of the KV blocks that it gives out, and of its end. Per step
// it builds [Metadata]: which requests run and from which position their rows are
// wanted, what keys are new, which requests have ended. The [Worker] half gets the
// metadata with [Worker.Begin] and the captured rows with [Worker.Process], and
// hands out what each request is owed. [Output.Take] clips that to the tokens that
// were accepted.
//
//	scheduler                    worker
//	Admit, Extend, Finish
//	Build(meta)       -------->  Begin(meta)
//	                             ... forward pass ...
//	Take(rows)        <--------  Process(step, batch, out)
//	AppendBlocks      <--------  DrainEvicted
//
// The next step may begin before the output of this one is processed.
//
// # Three places for rows
//
// Full blocks whose key is known are in the store, retained as long as the request
// lives. Full blocks whose key is not known yet wait in a bounded [TailPool]; a
// key that arrives later publishes them, and meanwhile they can be read. The rows
// of the last, incomplete block are the tail, in the same pool.
//
// # Speculation
//
// Positions that the scheduler names are optimistic: they count drafts whose
// rejection it has not seen. Rejected rows are cut, and the rows of the next step
// attach where the accepted ones ended. A gap that is no rejected suffix is an
// error.
//
// # Failure
//
// A request whose rows are gone fails alone, with an errors.BlockObjectStoreError in
// its output, and so does one whose captured rows fail a check ([ErrRows]). Either way
// [Worker.DrainEvicted] names the keys whose KV blocks have to lose their hashes, so that
// the next try computes them. A step that contradicts itself is refused whole, with a
// [StepError], and leaves the worker as it was. When the last request has ended, no
// reference, no tail and no waiting block is left.
//
// # Coherence
//
// What happens when the KV cache hits a block whose rows are gone is the caller's
// choice: see [Mode]. The default never gets there, as long as the store has a slot
// for each hash block of the KV pool and of an offload tier; the reason is argued in
// coherence.go. Hybrid models follow their full-attention group.
package connector
