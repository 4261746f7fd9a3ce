// Package throughput measures how fast a cache of equal blocks takes and gives
// them, as a share of what bare copies of the same bytes reach.
//
// It knows two caches: the store, and the limit, which copies into and out of a
// region of the same size without index, lock or order of age. Others join by
// implementing [Cache]; those that need modules of their own live in
// bench/peers, so that importers of the library never see them.
//
// [Measure] puts one or more contestants through the phases, turn by turn. Only
// calls of the cache are timed. Every block carries a stamp that is checked when
// it comes back, so that a cache that is fast because it loses or mixes up
// blocks is found out.
package throughput
