// Package guard checks, before an engine starts, that it can return routing rows at
// all. Every rule that the set-up breaks is reported at once, with one [Error] each,
// so that nobody mends a configuration one restart at a time.
//
// The rules are those of vLLM's aux output connector. They changed over time, and
// each [Version] holds the rules of one; [Check] applies the newest.
//
// # Two natures
//
// Some rules are [Essential]: a model without a router has no rows, and rows that are
// found by KV block hash need hashes. The others exist only because the reference
// keeps rows by KV slot ([SlotStorage]) or on one rank ([RankStorage]). They are
// marked, because storage by block hash can lift them.
//
// # Finding a rule in an error
//
// [errors.Is] finds every broken rule, since a [Rule] is an error itself;
// [errors.As] with a [*Refusal] gives all of them in order, and with an [*Error] the
// first.
//
//	if errors.Is(err, guard.PipelineParallel) { ... }
package guard
