// Package capacity answers how much a store of routing rows must hold: the
// prefix-hit ratio for every capacity ([Curve]), and what happens to a store of
// fewer slots beside a KV cache ([Beside]).
//
// # The rule
//
// Requests are replayed one after another, in the order of the file. Capacities
// count blocks. For each request, the leading blocks that are present are its
// hit. Then every block of the request moves to the most recent end, the last
// one first, so that the first block of the chain ends most recent; what exceeds
// the capacity is dropped from the least recent end. That is how vLLM frees a
// request: tail first, so that a chain loses its tail before its head.
//
// Nothing is modelled beyond that: no concurrency, no preemption, no blocks in
// flight. A budget found here is the least that an ideal serial run needs.
//
// # One pass for every capacity
//
// LRU is a stack algorithm (Mattson, Gecsei, Slutz, Traiger, 1970): a cache of C
// blocks holds the C most recent ones, whatever C is. So a block is present at C
// if its place in the recency stack, from 1, is at most C; and the first k blocks
// of a request are all present if the greatest place among them is. One pass that
// counts those prefix maxima gives the hits at every capacity.
//
// # The smallest safe store
//
// A store that follows the KV cache (tail first, hits touched) is the top of the
// same stack. A KV cache of C blocks finds a prefix whose greatest place is p <=
// C; a store of S slots holds all its rows if and only if p <= S. Therefore the
// least S that never loses rows of a hit is the greatest prefix maximum of the
// trace that is not above C ([Curve.SafeSlots]): C itself is always enough, and
// one slot less than that maximum loses rows of at least one request.
package capacity
