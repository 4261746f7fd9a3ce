package guard

import "fmt"

// Rule names one start-up rule. It is an error, so that [errors.Is] finds it in what
// [Check] returns.
type Rule uint8

// The rules, in the order in which they are reported.
const (
	ModelRunner         Rule = iota // the model runner of the right version
	GenerateRunner                  // the engine generates
	MoEModel                        // the model has a router
	PrefixCaching                   // prefix caching is on
	AdaptiveSpeculation             // no adaptive speculative verification
	PipelineParallel                // one pipeline stage
	ContextParallel                 // no decode or prefill context parallelism
	KVConnector                     // no KV connector that loses rows
	AsyncScheduling                 // no asynchronous scheduling
	SequenceParallel                // no sequence parallelism
	NaiveDataParallel               // no naive data parallelism
	FullAttention                   // a KV group attends in full
	ruleCount
)

// Nature tells why a rule exists.
type Nature uint8

const (
	// Essential rules hold however rows are stored: what they ask for is where rows
	// or their identity come from.
	Essential Nature = iota

	// SlotStorage rules exist because rows are kept by the physical KV slot of their
	// token, which is no identity once the slot is used again.
	SlotStorage

	// RankStorage rules exist because one rank of one instance keeps the rows, and
	// sees a part of the layers or tokens only. Whoever pools the rows can lift them.
	RankStorage
)

// String tells the nature in a few words.
func (n Nature) String() string {
	switch n {
	case Essential:
		return "essential"
	case SlotStorage:
		return "only because rows are stored by KV slot"
	case RankStorage:
		return "only because one rank stores the rows"
	}
	return fmt.Sprintf("Nature(%d)", uint8(n))
}

// ruleTable says of each rule what it is called, what is reported and why it exists.
//
// A sentence that names the flag --enable-return-routed-experts is vLLM's own, word for
// word, so that whoever searches for what vLLM said finds the rule. The others are in
// our words around vLLM's key phrase.
//
// The reference gives no reason for refusing adaptive verification. It is taken as
// essential: rejected rows are cut by the number of drafts that was scheduled, which
// is not the number that ran.
var ruleTable = [ruleCount]struct {
	name     string
	sentence string
	reason   string
	nature   Nature
}{
	ModelRunner: {
		"model runner", "Returning routed experts requires another version of the model runner.",
		"rows are captured in one version of the model runner only", Essential,
	},
	GenerateRunner: {
		"generate runner", "Returning routed experts only supports generate runners.",
		"rows belong to the tokens of a generation", Essential,
	},
	MoEModel: {
		"MoE model", "Returning routed experts only supports MoE models.",
		"a model without a router has no rows", Essential,
	},
	PrefixCaching: {
		"prefix caching", "Returning routed experts requires prefix caching.",
		"rows are found by the hash of their KV block; the old advice of v0.21 to disable prefix caching is wrong", Essential,
	},
	AdaptiveSpeculation: {
		"adaptive speculative verification", "Returning routed experts is incompatible with adaptive speculative verification.",
		"rejected rows cannot be told from accepted ones", Essential,
	},
	PipelineParallel: {
		"pipeline parallelism", "--enable-return-routed-experts is incompatible with pipeline parallelism (PP > 1).",
		"only the last stage captures, and the layers of the other stages would be missing", RankStorage,
	},
	ContextParallel: {
		"context parallelism", "--enable-return-routed-experts is incompatible with context parallelism (DCP > 1 or PCP > 1).",
		"the rows of a sequence are fragmented over the ranks", RankStorage,
	},
	KVConnector: {
		"KV connector", "--enable-return-routed-experts is incompatible with KV connectors (PD disaggregation, KV cache offload).",
		"KV blocks come from elsewhere without their rows", RankStorage,
	},
	AsyncScheduling: {
		"asynchronous scheduling", "Returning routed experts is incompatible with asynchronous scheduling.",
		"slots are used again before their rows are read", SlotStorage,
	},
	SequenceParallel: {
		"sequence parallelism", "Returning routed experts is incompatible with sequence parallelism.",
		"a rank captures a part of the tokens only", RankStorage,
	},
	NaiveDataParallel: {
		"naive data parallelism", "Returning routed experts is incompatible with naive data parallelism.",
		"a rank captures the tokens of all ranks", RankStorage,
	},
	FullAttention: {
		"full attention", "Returning routed experts requires a KV group with full attention.",
		"rows follow the full-attention group: the other groups give back the blocks of older tokens, whose rows an answer needs too", Essential,
	},
}

// Nature tells why the rule exists, and with it whether another way to store rows can
// lift it. [Essential] for what is no rule.
func (r Rule) Nature() Nature {
	if r >= ruleCount {
		return Essential
	}
	return ruleTable[r].nature
}

// Error is the rule's name.
func (r Rule) Error() string {
	if r >= ruleCount {
		return fmt.Sprintf("Rule(%d)", uint8(r))
	}
	return ruleTable[r].name
}
