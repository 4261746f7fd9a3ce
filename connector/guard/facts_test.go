package guard_test

import "github.com/auxoutput/auxoutput/connector/guard"

// versions are the columns of the table below.
var versions = []guard.Version{guard.V021, guard.Main202608, guard.Merged, guard.Latest}

// fact is what a set-up can have: a line of the reference's history, a version a
// column, an x where it is refused.
type fact struct {
	name     string
	refused  string // v0.21, main of 2026-08-01, PR 45635, latest
	fault    error
	combined bool // with the facts of the other subjects
	set      func(*guard.Setup)
}

// subject is the facts about one thing. They exclude each other, and break one rule.
type subject struct {
	rule  guard.Rule
	facts []fact
}

func runner(version int, noGPU bool) func(*guard.Setup) {
	return func(s *guard.Setup) { s.ModelRunner, s.NoGPU = version, noGPU }
}

func task(runner guard.Runner) func(*guard.Setup) {
	return func(s *guard.Setup) { s.Runner = runner }
}

func stages(n int) func(*guard.Setup) {
	return func(s *guard.Setup) { s.PipelineParallel = n }
}

func context(decode, prefill int) func(*guard.Setup) {
	return func(s *guard.Setup) { s.DecodeContextParallel, s.PrefillContextParallel = decode, prefill }
}

func connected(name string, role guard.Role, children ...guard.Connector) func(*guard.Setup) {
	return func(s *guard.Setup) {
		s.KVConnector = &guard.Connector{Name: name, Role: role, Children: children}
	}
}

func groups(kinds ...guard.Attention) func(*guard.Setup) {
	return func(s *guard.Setup) { s.KVGroups = kinds }
}

// nested is a connector inside two multi-connectors.
func nested(name string) guard.Connector {
	return guard.Connector{Name: "MultiConnector", Children: []guard.Connector{{Name: "OffloadingConnector"}, {Name: name}}}
}

var subjects = []subject{
	{guard.ModelRunner, []fact{
		{"Model Runner V1 on a GPU", "..xx", nil, true, runner(1, false)},
		{"Model Runner V2 on a GPU", ".x..", nil, true, runner(2, false)},
		{"Model Runner V1 on a TPU", "..x.", nil, true, runner(1, true)},
		{"Model Runner V2 on a TPU", ".x..", nil, false, runner(2, true)},
		{"a model runner not stated", ".xxx", guard.ErrNotStated, true, runner(0, false)},
		{"a model runner not stated on a TPU", ".xxx", guard.ErrNotStated, false, runner(0, true)},
		{"Model Runner V3", ".xxx", guard.ErrInvalid, false, runner(3, false)},
		{"Model Runner V-1 on a TPU", ".xxx", guard.ErrInvalid, true, runner(-1, true)},
	}},
	{guard.GenerateRunner, []fact{
		{"a generate runner", "....", nil, true, task(guard.Generate)},
		{"a pooling runner", "..xx", nil, true, task(guard.Pooling)},
		{"a draft runner", "..xx", nil, false, task(guard.Draft)},
		{"a runner not stated", "..xx", guard.ErrNotStated, true, task("")},
		{"an unknown runner", "..xx", nil, false, task("Generate")},
	}},
	{guard.MoEModel, []fact{
		{"a MoE model", "....", nil, true, func(s *guard.Setup) { s.MoE = true }},
		{"a dense model", "..xx", nil, true, func(s *guard.Setup) { s.MoE = false }},
	}},
	{guard.PrefixCaching, []fact{
		{"prefix caching", "....", nil, true, func(s *guard.Setup) { s.PrefixCaching = true }},
		{"no prefix caching", "..xx", nil, true, func(s *guard.Setup) { s.PrefixCaching = false }},
	}},
	{guard.AdaptiveSpeculation, []fact{
		{"a fixed verification", "....", nil, true, func(s *guard.Setup) { s.AdaptiveSpeculation = false }},
		{"adaptive speculative verification", "..xx", nil, true, func(s *guard.Setup) { s.AdaptiveSpeculation = true }},
	}},
	{guard.PipelineParallel, []fact{
		{"one pipeline stage", "....", nil, true, stages(1)},
		{"two pipeline stages", ".xxx", nil, true, stages(2)},
		{"pipeline stages not stated", ".xxx", guard.ErrNotStated, true, stages(0)},
		{"less than no pipeline stage", ".xxx", guard.ErrInvalid, true, stages(-1)},
	}},
	{guard.ContextParallel, []fact{
		{"one context rank of each kind", "....", nil, true, context(1, 1)},
		{"decode context parallelism", ".xxx", nil, true, context(2, 1)},
		{"prefill context parallelism", ".xxx", nil, true, context(1, 4)},
		{"both kinds of context parallelism", ".xxx", nil, false, context(2, 2)},
		{"decode context ranks not stated", ".xxx", guard.ErrNotStated, true, context(0, 1)},
		{"prefill context ranks not stated", ".xxx", guard.ErrNotStated, false, context(1, 0)},
		{"decode context parallelism, and the other not stated", ".xxx", guard.ErrNotStated, false, context(2, 0)},
		{"negative decode context ranks", ".xxx", guard.ErrInvalid, false, context(-1, 0)},
		{"negative prefill context ranks", ".xxx", guard.ErrInvalid, true, context(0, -8)},
	}},
	{guard.KVConnector, []fact{
		{"no KV connector", "....", nil, true, func(s *guard.Setup) { s.KVConnector = nil }},
		{"NixlConnector as producer", ".xxx", nil, true, connected("NixlConnector", guard.Producer)},
		{"NixlConnector as consumer", ".xxx", nil, false, connected("NixlConnector", guard.Consumer)},
		{"NixlConnector as both", ".xxx", nil, false, connected("NixlConnector", guard.Both)},
		{"NixlConnector in no role", ".xxx", nil, false, connected("NixlConnector", "")},
		{"NixlPullConnector", ".xxx", nil, false, connected("NixlPullConnector", guard.Consumer)},
		{"NixlPushConnector", ".xxx", nil, false, connected("NixlPushConnector", guard.Producer)},
		{"MoRIIOConnector", ".xxx", nil, false, connected("MoRIIOConnector", guard.Producer)},
		{"MooncakeConnector", ".xxx", nil, false, connected("MooncakeConnector", guard.Both)},
		{"NixlConnector among others", ".xxx", nil, false, connected("MultiConnector", guard.Both, guard.Connector{Name: "OffloadingConnector"}, guard.Connector{Name: "NixlConnector"})},
		{"NixlPullConnector nested", ".xxx", nil, false, connected("MultiConnector", guard.Both, nested("NixlPullConnector"))},
		{"NixlPushConnector nested", ".xxx", nil, false, connected("MultiConnector", guard.Both, nested("NixlPushConnector"))},
		{"MoRIIOConnector nested", ".xxx", nil, true, connected("MultiConnector", guard.Producer, nested("MoRIIOConnector"))},
		{"MooncakeConnector nested", ".xxx", nil, false, connected("MultiConnector", "", nested("MooncakeConnector"))},
		{"MooncakeStoreConnector", ".xx.", nil, false, connected("MooncakeStoreConnector", guard.Both)},
		{"OffloadingConnector as both", ".xx.", nil, true, connected("OffloadingConnector", guard.Both)},
		{"OffloadingConnector as producer", ".xx.", nil, false, connected("OffloadingConnector", guard.Producer)},
		{"OffloadingConnector as consumer", ".xx.", nil, false, connected("OffloadingConnector", guard.Consumer)},
		{"LMCacheConnectorV1", ".xx.", nil, false, connected("LMCacheConnectorV1", guard.Both)},
		{"LMCacheMPConnector", ".xx.", nil, false, connected("LMCacheMPConnector", guard.Both)},
		{"SimpleCPUOffloadConnector", ".xx.", nil, false, connected("SimpleCPUOffloadConnector", guard.Both)},
		{"accepted ones nested", ".xx.", nil, false, connected("MultiConnector", guard.Both, nested("LMCacheMPConnector"), nested("MooncakeStoreConnector"))},
		{"an unknown connector", ".xx.", nil, false, connected("nixlconnector", guard.Both)},
		{"a role that is none", ".xxx", guard.ErrInvalid, false, connected("OffloadingConnector", "kv_prefill")},
		{"a role that is none nested", ".xxx", guard.ErrInvalid, false, connected("MultiConnector", guard.Both, guard.Connector{Name: "OffloadingConnector", Role: "both"})},
		{"a connector without a name", ".xxx", guard.ErrNotStated, true, connected("", guard.Both)},
		{"a nameless one among others", ".xxx", guard.ErrNotStated, false, connected("MultiConnector", guard.Both, nested(""))},
	}},
	{guard.AsyncScheduling, []fact{
		{"synchronous scheduling", "....", nil, true, func(s *guard.Setup) { s.AsyncScheduling = false }},
		{"asynchronous scheduling", "x...", nil, true, func(s *guard.Setup) { s.AsyncScheduling = true }},
	}},
	{guard.SequenceParallel, []fact{
		{"no sequence parallelism", "....", nil, true, func(s *guard.Setup) { s.SequenceParallel = false }},
		{"sequence parallelism", "x...", nil, false, func(s *guard.Setup) { s.SequenceParallel = true }},
	}},
	{guard.NaiveDataParallel, []fact{
		{"another data parallelism", "....", nil, true, func(s *guard.Setup) { s.NaiveDataParallel = false }},
		{"naive data parallelism", "x...", nil, false, func(s *guard.Setup) { s.NaiveDataParallel = true }},
	}},
	{guard.FullAttention, []fact{
		{"groups not stated", "....", nil, true, groups()},
		{"one group with full attention", "....", nil, false, groups(guard.AttendsInFull)},
		{"a window beside full attention", "....", nil, true, groups(guard.AttendsWindow, guard.AttendsInFull)},
		{"a state beside full attention", "....", nil, false, groups(guard.KeepsState, guard.AttendsInFull, guard.KeepsState)},
		{"one group with a window", ".x..", nil, false, groups(guard.AttendsWindow)},
		{"one group that keeps a state", ".x..", nil, false, groups(guard.KeepsState)},
		{"a window beside a state", ".xxx", nil, true, groups(guard.AttendsWindow, guard.KeepsState)},
		{"chunks beside a window", ".xxx", nil, false, groups(guard.AttendsChunked, guard.AttendsWindow)},
		{"a group without a kind", ".xxx", guard.ErrNotStated, false, groups(guard.AttendsInFull, "")},
	}},
}
