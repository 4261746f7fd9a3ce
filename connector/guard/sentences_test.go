package guard_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/connector/guard"
)

// TestTheSentencesOfVLLMAreFoundWordForWord has what vLLM prints, as people paste it
// into a search.
func TestTheSentencesOfVLLMAreFoundWordForWord(t *testing.T) {
	connectors := "--enable-return-routed-experts is incompatible with KV connectors (PD disaggregation, KV cache offload)."
	context := "--enable-return-routed-experts is incompatible with context parallelism (DCP > 1 or PCP > 1)."
	for name, tc := range map[string]struct {
		set      func(*guard.Setup)
		sentence string
	}{
		"a KV connector":   {func(s *guard.Setup) { s.KVConnector = &guard.Connector{Name: "NixlConnector"} }, connectors},
		"nested":           {func(s *guard.Setup) { s.KVConnector = connectorOf("MooncakeConnector") }, connectors},
		"DCP":              {func(s *guard.Setup) { s.DecodeContextParallel = 2 }, context},
		"PCP":              {func(s *guard.Setup) { s.PrefillContextParallel = 2 }, context},
		"PP":               {func(s *guard.Setup) { s.PipelineParallel = 2 }, "--enable-return-routed-experts is incompatible with pipeline parallelism (PP > 1)."},
		"model runner":     {func(s *guard.Setup) { s.ModelRunner = 1 }, "requires Model Runner V2"},
		"pooling":          {func(s *guard.Setup) { s.Runner = guard.Pooling }, "only supports generate runners"},
		"dense":            {func(s *guard.Setup) { s.MoE = false }, "only supports MoE models"},
		"no prefix cache":  {func(s *guard.Setup) { s.PrefixCaching = false }, "requires prefix caching"},
		"adaptive drafts":  {func(s *guard.Setup) { s.AdaptiveSpeculation = true }, "adaptive speculative verification"},
		"no full-attn grp": {func(s *guard.Setup) { s.KVGroups = []guard.Attention{guard.AttendsWindow, guard.KeepsState} }, "full-attention group"},
	} {
		t.Run(name, func(t *testing.T) {
			setup := good()
			tc.set(&setup)
			require.ErrorContains(t, check(setup), tc.sentence)
		})
	}
	setup := good()
	setup.ModelRunner, setup.KVConnector = 1, &guard.Connector{Name: "OffloadingConnector"}
	require.ErrorContains(t, checkOf(guard.Merged, setup), connectors)
	require.ErrorContains(t, checkOf(guard.Main202608, setup), connectors)
}

// TestEveryReasonAndEveryWayOutIsSpelledOut is the whole text of the rules that people
// meet.
func TestEveryReasonAndEveryWayOutIsSpelledOut(t *testing.T) {
	const (
		off     = "switch --enable-return-routed-experts off here"
		replica = "let a separate replica that is set up without it return the rows"
		offline = "dump the rows offline: run the finished sequences through an engine that is set up without it"
		pool    = " The rule exists only because one rank stores the rows."
	)
	or := func(ways ...string) string { return " Ways out: " + strings.Join(ways, "; or ") + "." }
	setup := good()
	setup.ModelRunner, setup.PrefixCaching = 1, false
	setup.PipelineParallel, setup.PrefillContextParallel = 4, 2
	setup.KVConnector = connectorOf("OffloadingConnector", "MooncakeConnector", "NixlConnector")
	setup.KVConnector.Role = guard.Producer
	want := []string{
		"auxoutput: Returning routed experts requires Model Runner V2. model runner = V1: rows are captured in one version of the model runner only." +
			or("set VLLM_USE_V2_MODEL_RUNNER=1", off) + " The rule is essential.",
		"auxoutput: Returning routed experts requires prefix caching. enable_prefix_caching = false: rows are found by the hash of their KV block;" +
			" the old advice of v0.21 to disable prefix caching is wrong." +
			or("drop --no-enable-prefix-caching: prefix caching is on by default", off) + " The rule is essential.",
		"auxoutput: --enable-return-routed-experts is incompatible with pipeline parallelism (PP > 1). pipeline_parallel_size = 4:" +
			" only the last stage captures, and the layers of the other stages would be missing." +
			or("set it to 1: tensor parallelism splits a model without stages", off, replica, offline) + pool,
		"auxoutput: --enable-return-routed-experts is incompatible with context parallelism (DCP > 1 or PCP > 1)." +
			" decode and prefill context parallel size = 1 and 2: the rows of a sequence are fragmented over the ranks." +
			or("set both to 1", off, replica, offline) + pool,
		"auxoutput: --enable-return-routed-experts is incompatible with KV connectors (PD disaggregation, KV cache offload)." +
			" kv_connector = MultiConnector with MooncakeConnector, NixlConnector as kv_producer:" +
			" rows captured on the prefill instance cannot reach the decode instance." +
			or("use none of NixlConnector, NixlPullConnector, NixlPushConnector, MoRIIOConnector, MooncakeConnector: others are accepted,"+
				" MooncakeStoreConnector, OffloadingConnector, LMCacheConnectorV1, LMCacheMPConnector, SimpleCPUOffloadConnector by name",
				off, replica, offline) + pool,
	}
	err := check(setup)
	require.EqualError(t, err, strings.Join(want, "\n"))
	var first *guard.Error
	require.ErrorAs(t, err, &first)
	require.Equal(t, guard.ModelRunner, first.Rule)
	require.Equal(t, []string{"set VLLM_USE_V2_MODEL_RUNNER=1", off}, first.WaysOut)

	setup = good()
	setup.PipelineParallel = 0
	require.EqualError(t, check(setup), "auxoutput: --enable-return-routed-experts is incompatible with pipeline parallelism (PP > 1)."+
		" pipeline_parallel_size = 0 (not stated): only the last stage captures, and the layers of the other stages would be missing."+
		or("state it", "set it to 1: tensor parallelism splits a model without stages", off, replica, offline)+pool)
}

func TestTheReasonAgainstAKVConnectorFollowsFromItsRole(t *testing.T) {
	const (
		disaggregated = "rows captured on the prefill instance cannot reach the decode instance"
		outside       = "the slot mapping changes when KV blocks lie elsewhere"
	)
	for _, tc := range []struct {
		name     string
		role     guard.Role
		children []guard.Connector
		reasons  []string
		never    []string
	}{
		{"OffloadingConnector", guard.Producer, nil, []string{disaggregated, "as kv_producer"}, []string{outside}},
		{"OffloadingConnector", guard.Consumer, nil, []string{disaggregated, "as kv_consumer"}, []string{outside}},
		{"OffloadingConnector", guard.Both, nil, []string{outside, "as kv_both"}, []string{disaggregated}},
		{"NixlConnector", guard.Both, nil, []string{disaggregated, outside}, nil},
		{"OffloadingConnector", "", nil, []string{disaggregated, outside}, []string{" as "}},
		{"MultiConnector", guard.Both, []guard.Connector{{Name: "X", Role: guard.Consumer}}, []string{disaggregated, outside, "as kv_both, kv_consumer"}, nil},
	} {
		setup := good()
		setup.KVConnector = &guard.Connector{Name: tc.name, Role: tc.role, Children: tc.children}
		err := checkOf(guard.Merged, setup)
		for _, reason := range tc.reasons {
			require.ErrorContains(t, err, reason, "%s as %s", tc.name, tc.role)
		}
		for _, reason := range tc.never {
			require.NotContains(t, err.Error(), reason, "%s as %s", tc.name, tc.role)
		}
	}
}
