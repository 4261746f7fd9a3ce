// Package engine simulates a serving engine around the connector: continuous
// batching with a token budget, chunked prefill, prefix hits, decoding with
// drafts that are accepted or refused, preemption and resumption, stops by
// length, by token and by abort, resets with requests in flight, a step of lag,
// several KV groups, and an offload tier that hits what the pool has lost.
//
// It drives prefixcache, store and both halves of the connector the way a real
// engine drives them, and is deterministic: the same configuration and jobs give
// the same steps. Nothing is computed; a row is a pure function of the generation
// and the tokens up to it (package truth), so every row that any request gets is
// checked.
package engine
