// Package guard checks, before an engine starts, that it can return routing rows at
// all. Every rule that the set-up breaks is reported at once, with one [Error] each,
// so that nobody corrects a configuration one restart at a time.
//
// The rules are those of vLLM's aux output connector. They changed over time, and
// each [Version] holds the rules of one; [Check] applies the newest. What it returns
// is a [Checked], which a constructor can ask for, so that the check is not forgotten.
//
// # What an error says
//
// An error begins with a sentence. Where the sentence names the flag
// --enable-return-routed-experts it is vLLM's own, word for word, so that a search for
// it leads here. Then come what the set-up has, the reason, and every way out, each of
// which is enough.
//
// # Nothing is assumed
//
// With capture on a set-up has to state its model runner, its runner and its sizes: a
// zero is [ErrNotStated] and no default, a negative size is [ErrInvalid]. With capture
// off nothing is looked at.
//
// # Two natures
//
// Some rules are [Essential]: a model without a router has no rows, and rows that are
// found by KV block hash need hashes. The others exist only because the reference
// keeps rows by KV slot ([SlotStorage]) or on one rank ([RankStorage]). They are
// marked, because another way to store rows can lift them.
//
// # Finding a rule in an error
//
// [errors.Is] finds every broken rule, since a [Rule] is an error itself;
// [errors.As] with a [*Refusal] gives all of them in order, and with an [*Error] the
// first.
//
//	if errors.Is(err, guard.PipelineParallel) { ... }
package guard
