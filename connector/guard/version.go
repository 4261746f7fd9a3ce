package guard

import "fmt"

// Version is a state of the rules in vLLM's history.
type Version uint8

// The versions, the newest first: it is the zero value and the default.
const (
	// Latest is PR 45635 after PR 58150, which refuses connectors between prefill and
	// decode only, and PR 58205, which asks for Model Runner V2 on GPUs only.
	Latest Version = iota

	// Merged is PR 45635 as it was merged on 2026-09-21.
	Merged

	// Main202608 is the main branch on 2026-08-01, with rows in a table by KV slot.
	Main202608

	// V021 is v0.21 (PR 39917). Of pipeline parallelism it is not known whether that
	// version refused it, so the rule is not among these.
	V021
	versionCount
)

// versionTable has the rules of each version, in the order of the rules.
var versionTable = [versionCount]struct {
	name   string
	checks []check
}{
	Latest: {"latest", []check{
		secondModelRunnerOnGPU, generates, hasRouter, cachesPrefixes, noAdaptiveSpeculation,
		oneStage, noContextParallel, noPrefillDecode, oneFullGroup,
	}},
	Merged: {"PR 45635", []check{
		secondModelRunner, generates, hasRouter, cachesPrefixes, noAdaptiveSpeculation,
		oneStage, noContextParallel, noConnector, oneFullGroup,
	}},
	Main202608: {"main of 2026-08-01", []check{
		firstModelRunner, oneStage, noContextParallel, noConnector, someFullAttention,
	}},
	V021: {"v0.21", []check{noAsyncScheduling, noSequenceParallel, noNaiveDataParallel}},
}

// String is the version's name.
func (v Version) String() string {
	if v >= versionCount {
		return fmt.Sprintf("Version(%d)", uint8(v))
	}
	return versionTable[v].name
}

// Rules lists the rules of the version; none for what is no version.
func (v Version) Rules() []Rule {
	if v >= versionCount {
		return nil
	}
	rules := make([]Rule, len(versionTable[v].checks))
	for i, c := range versionTable[v].checks {
		rules[i] = c.rule
	}
	return rules
}
