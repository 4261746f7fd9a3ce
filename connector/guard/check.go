package guard

import (
	"fmt"
	"slices"
	"strings"
)

// check is a rule as one or several versions have it.
type check struct {
	rule     Rule
	sentence string // instead of the rule's own
	setting  string
	ways     []string // those of this rule alone
	find     func(*Setup) finding
}

// finding is what a check sees in a set-up.
type finding struct {
	value  any
	broken bool
	fault  error  // ErrNotStated or ErrInvalid; broken then
	reason string // instead of the rule's own
}

// error makes an error of what was found.
func (c check) error(f finding) *Error {
	of := ruleTable[c.rule]
	e := &Error{
		Rule: c.rule, Sentence: of.sentence, Reason: of.reason, Setting: c.setting,
		Value: f.value, Fault: f.fault, WaysOut: c.ways, Nature: of.nature,
	}
	if c.sentence != "" {
		e.Sentence = c.sentence
	}
	if f.reason != "" {
		e.Reason = f.reason
	}
	if f.fault == ErrNotStated {
		e.WaysOut = append([]string{"state it"}, e.WaysOut...)
	}
	// Another set-up can return the rows, unless what they come from is missing.
	e.WaysOut = append(slices.Clip(e.WaysOut), "switch --enable-return-routed-experts off here")
	if e.Nature != Essential {
		e.WaysOut = append(e.WaysOut, "let a separate replica that is set up without it return the rows",
			"dump the rows offline: run the finished sequences through an engine that is set up without it")
	}
	return e
}

// flag is a check of an option that is on or off.
func flag(rule Rule, setting string, option func(*Setup) bool, want bool, ways ...string) check {
	return check{rule: rule, setting: setting, ways: ways, find: func(s *Setup) finding {
		got := option(s)
		return finding{value: got, broken: got != want}
	}}
}

// runnerOf is a check of the model runner's version: 0 is not stated, and what is
// neither 1 nor 2 is no version.
func runnerOf(want int, everywhere bool, ways ...string) check {
	return check{
		rule: ModelRunner, setting: "model runner", ways: ways,
		sentence: fmt.Sprintf("Returning routed experts requires Model Runner V%d.", want),
		find: func(s *Setup) finding {
			switch s.ModelRunner {
			case 0:
				return finding{value: 0, broken: true, fault: ErrNotStated}
			case 1, 2:
				return finding{value: fmt.Sprintf("V%d", s.ModelRunner), broken: s.ModelRunner != want && (everywhere || !s.NoGPU)}
			}
			return finding{value: s.ModelRunner, broken: true, fault: ErrInvalid}
		},
	}
}

// The model runner: rows were captured in the first version until PR 45635, in the
// second since, and PR 58205 left platforms alone that have no second one.
var (
	firstModelRunner  = runnerOf(1, true, "set VLLM_USE_V2_MODEL_RUNNER=0")
	secondModelRunner = runnerOf(2, true, "set VLLM_USE_V2_MODEL_RUNNER=1",
		"on a platform that has no second one, take a vLLM with PR 58205, which asks for it on GPUs only")
	secondModelRunnerOnGPU = runnerOf(2, false, "set VLLM_USE_V2_MODEL_RUNNER=1")
)

// What PR 45635 asks of the task, the model and the scheduler.
var (
	generates = check{rule: GenerateRunner, setting: "runner", ways: []string{"use the generate runner"}, find: func(s *Setup) finding {
		if s.Runner == "" {
			return finding{value: `""`, broken: true, fault: ErrNotStated}
		}
		return finding{value: fmt.Sprintf("%q", string(s.Runner)), broken: s.Runner != Generate}
	}}
	hasRouter      = flag(MoEModel, "MoE model", func(s *Setup) bool { return s.MoE }, true, "serve a MoE model")
	cachesPrefixes = flag(PrefixCaching, "enable_prefix_caching", func(s *Setup) bool { return s.PrefixCaching }, true,
		"drop --no-enable-prefix-caching: prefix caching is on by default")
	noAdaptiveSpeculation = flag(AdaptiveSpeculation, "adaptive speculative verification", func(s *Setup) bool { return s.AdaptiveSpeculation }, false,
		"verify a fixed number of drafts: speculation as such is fine")
)

// size is what is wrong with a number of ranks.
func size(ranks int) (parallel bool, fault error) {
	switch {
	case ranks < 0:
		return false, ErrInvalid
	case ranks == 0:
		return false, ErrNotStated
	}
	return ranks > 1, nil
}

// Ranks that see a part of the layers or of the tokens.
var (
	oneStage = check{rule: PipelineParallel, setting: "pipeline_parallel_size", ways: []string{"set it to 1: tensor parallelism splits a model without stages"}, find: func(s *Setup) finding {
		parallel, fault := size(s.PipelineParallel)
		return finding{value: s.PipelineParallel, broken: parallel || fault != nil, fault: fault}
	}}
	noContextParallel = check{rule: ContextParallel, setting: "decode and prefill context parallel size", ways: []string{"set both to 1"}, find: func(s *Setup) finding {
		decode, fault := size(s.DecodeContextParallel)
		prefill, other := size(s.PrefillContextParallel)
		if fault == nil || other == ErrInvalid {
			fault = other
		}
		return finding{
			value:  fmt.Sprintf("%d and %d", s.DecodeContextParallel, s.PrefillContextParallel),
			broken: decode || prefill || fault != nil, fault: fault,
		}
	}}
)

// connectorsOf is a check of the KV connectors. One without a name, or in a role that
// does not exist, cannot be judged.
func connectorsOf(refuses func(connectors) bool, ways ...string) check {
	return check{rule: KVConnector, setting: "kv_connector", ways: ways, find: func(s *Setup) finding {
		if s.KVConnector == nil {
			return finding{}
		}
		found := s.KVConnector.search()
		f := finding{value: s.KVConnector.describe(found), broken: refuses(found), reason: found.reason()}
		switch {
		case found.nameless:
			f.broken, f.fault = true, ErrNotStated
		case found.foreign:
			f.broken, f.fault = true, ErrInvalid
		}
		return f
	}}
}

// KV connectors: any until PR 58150, since then those between prefill and decode.
var (
	noConnector     = connectorsOf(func(connectors) bool { return true }, "run without a KV connector")
	noPrefillDecode = connectorsOf(func(found connectors) bool { return len(found.refused) > 0 },
		"use none of "+strings.Join(refusedConnectors, ", ")+": others are accepted, "+strings.Join(acceptedConnectors, ", ")+" by name")
)

// Groups of the KV cache. A version that looks at a lone group too is strict.
func fullGroup(strict bool) check {
	return check{rule: FullAttention, setting: "KV groups", ways: []string{"serve a model that has a group with full attention"}, find: func(s *Setup) finding {
		least := 2
		if strict {
			least = 1
		}
		f := finding{value: s.KVGroups, broken: len(s.KVGroups) >= least && !slices.Contains(s.KVGroups, AttendsInFull)}
		if slices.Contains(s.KVGroups, "") {
			f.broken, f.fault = true, ErrNotStated
		}
		return f
	}}
}

var (
	someFullAttention = fullGroup(true)
	oneFullGroup      = fullGroup(false)
)

// What only older versions ask (PR 39917, and the slot tables that followed it).
var (
	noAsyncScheduling = flag(AsyncScheduling, "async_scheduling", func(s *Setup) bool { return s.AsyncScheduling }, false,
		"turn asynchronous scheduling off")
	noSequenceParallel = flag(SequenceParallel, "sequence parallelism", func(s *Setup) bool { return s.SequenceParallel }, false,
		"turn it off")
	noNaiveDataParallel = flag(NaiveDataParallel, "naive data parallelism", func(s *Setup) bool { return s.NaiveDataParallel }, false,
		"use another all-to-all backend")
)
