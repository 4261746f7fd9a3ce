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
	FullAttention                   // some layers attend in full
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
	// sees a part of the layers or tokens only.
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

// ruleTable says of each rule what it is called, what it is for and why it exists.
//
// The reference gives no reason for refusing adaptive verification. It is taken as
// essential: rejected rows are cut by the number of drafts that was scheduled, which
// is not the number that ran.
var ruleTable = [ruleCount]struct {
	name   string
	reason string
	nature Nature
}{
	ModelRunner:         {"model runner", "rows are captured in another version of the model runner", Essential},
	GenerateRunner:      {"generate runner", "only generation returns rows", Essential},
	MoEModel:            {"MoE model", "a model without a router has no rows", Essential},
	PrefixCaching:       {"prefix caching", "rows are found by the hash of their KV block", Essential},
	AdaptiveSpeculation: {"adaptive speculative verification", "rejected rows cannot be told from accepted ones", Essential},
	PipelineParallel:    {"pipeline parallelism", "a stage captures its own layers only", RankStorage},
	ContextParallel:     {"context parallelism", "the tokens of a block are spread over ranks", RankStorage},
	KVConnector:         {"KV connector", "KV blocks arrive from elsewhere without their rows", RankStorage},
	AsyncScheduling:     {"asynchronous scheduling", "slots are used again before their rows are read", SlotStorage},
	SequenceParallel:    {"sequence parallelism", "a rank captures a part of the tokens only", RankStorage},
	NaiveDataParallel:   {"naive data parallelism", "a rank captures tokens of all of them", RankStorage},
	FullAttention:       {"full attention", "rows follow the slots of the layers that attend in full", SlotStorage},
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
