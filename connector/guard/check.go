package guard

import (
	"fmt"
	"strings"
)

// check is a rule as one or several versions have it.
type check struct {
	rule    Rule
	setting string
	change  string
	find    func(*Setup) (value any, broken bool)
}

// flag is a check of an option that is on or off.
func flag(rule Rule, setting, change string, option func(*Setup) bool, want bool) check {
	return check{rule, setting, change, func(s *Setup) (any, bool) {
		got := option(s)
		return got, got != want
	}}
}

// The model runner: rows were captured in the first version until PR 45635, in the
// second since, and PR 58205 left platforms alone that have no second one.
var (
	firstModelRunner = check{ModelRunner, "model runner", "use Model Runner V1", func(s *Setup) (any, bool) {
		return version(s.ModelRunner), s.ModelRunner == 2
	}}
	secondModelRunner = check{ModelRunner, "model runner", "use Model Runner V2", func(s *Setup) (any, bool) {
		return version(s.ModelRunner), s.ModelRunner != 2
	}}
	secondModelRunnerOnGPU = check{ModelRunner, "model runner", "use Model Runner V2", func(s *Setup) (any, bool) {
		return version(s.ModelRunner), s.GPU && s.ModelRunner != 2
	}}
)

func version(n int) string { return fmt.Sprintf("V%d", n) }

// What PR 45635 asks of the task, the model and the scheduler.
var (
	generates = check{GenerateRunner, "runner", "use the generate runner", func(s *Setup) (any, bool) {
		return fmt.Sprintf("%q", string(s.Runner)), s.Runner != Generate
	}}
	hasRouter = flag(MoEModel, "MoE model", "serve a MoE model, or turn the capture off",
		func(s *Setup) bool { return s.MoE }, true)
	cachesPrefixes = flag(PrefixCaching, "enable_prefix_caching", "turn prefix caching on: drop --no-enable-prefix-caching",
		func(s *Setup) bool { return s.PrefixCaching }, true)
	noAdaptiveSpeculation = flag(AdaptiveSpeculation, "adaptive speculative verification", "turn it off: a fixed number of drafts is fine",
		func(s *Setup) bool { return s.AdaptiveSpeculation }, false)
)

// Ranks that see a part of the layers or of the tokens.
var (
	oneStage = check{PipelineParallel, "pipeline_parallel_size", "set it to 1", func(s *Setup) (any, bool) {
		return s.PipelineParallel, parallel(s.PipelineParallel)
	}}
	noContextParallel = check{ContextParallel, "decode and prefill context parallel size", "set both to 1", func(s *Setup) (any, bool) {
		return fmt.Sprintf("%d and %d", s.DecodeContextParallel, s.PrefillContextParallel), s.contextParallel()
	}}
)

// KV connectors: any until PR 58150, since then those between prefill and decode.
var (
	noConnector = check{KVConnector, "kv_connector", "run without a KV connector", func(s *Setup) (any, bool) {
		if s.KVConnector == nil {
			return "", false
		}
		return s.KVConnector.describe(nil), true
	}}
	noPrefillDecode = check{KVConnector, "kv_connector", "use none of " + strings.Join(refusedConnectors, ", "), func(s *Setup) (any, bool) {
		if s.KVConnector == nil {
			return "", false
		}
		refused := s.KVConnector.refused()
		return s.KVConnector.describe(refused), len(refused) > 0
	}}
)

// What only older versions ask (PR 39917, and the slot tables that followed it).
var (
	noAsyncScheduling = flag(AsyncScheduling, "async_scheduling", "turn asynchronous scheduling off",
		func(s *Setup) bool { return s.AsyncScheduling }, false)
	noSequenceParallel = flag(SequenceParallel, "sequence parallelism", "turn it off",
		func(s *Setup) bool { return s.SequenceParallel }, false)
	noNaiveDataParallel = flag(NaiveDataParallel, "naive data parallelism", "use another all-to-all backend",
		func(s *Setup) bool { return s.NaiveDataParallel }, false)
	someFullAttention = flag(FullAttention, "no layer with full attention", "serve a model that has some",
		func(s *Setup) bool { return s.NoFullAttention }, false)
)
