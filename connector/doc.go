// Package connector carries routing rows from the model runner to the requests, in
// step with a prefix cache: tokens that a KV hit skips get their rows from a store,
// under the same hashes. It is the counterpart of vLLM's aux output connector (PR
// 45635), whose checks, cursors and orders it keeps, and whose holes it closes.
//
// # Two halves
//
// The [Scheduler] half lives beside the engine's scheduler. Per step it builds
// [Metadata]: which requests run and from which position their rows are wanted,
// what hashes are new, which requests have ended. The [Worker] half gets the
// metadata with [Worker.Begin] and the captured rows with [Worker.Process], and
// hands out what each request is owed. [Output.Take] clips that to the tokens that
// were accepted.
//
//	scheduler           worker
//	Build(meta) ----->  Begin(meta)
//	                    ... forward pass ...
//	Take(rows)  <-----  Process(step, batch, out)
//
// The next step may begin before the output of this one is processed.
//
// # Three places for rows
//
// Full blocks whose hash is known are in the store, retained as long as the request
// lives. Full blocks whose hash is not known yet wait in a bounded [TailPool]; a
// hash that arrives later publishes them, and meanwhile they can be read. The rows
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
// its output. A step that contradicts itself is refused whole, with a [StepError],
// and leaves the worker as it was. When the last request has ended, no reference, no
// tail and no waiting block is left.
//
// # Coherence
//
// What happens when the KV cache hits a block whose rows are gone is the caller's
// choice: see [Mode]. The default never gets there, as long as the store has a slot
// for each hash block of the KV pool; the reason is argued in coherence.go.
package connector
