package guard_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/connector/guard"
)

// good passes every version's rules but one: before PR 45635 rows were captured in
// Model Runner V1 only.
func good() guard.Setup {
	return guard.Setup{Capture: true, GPU: true, ModelRunner: 2, Runner: guard.Generate, MoE: true, PrefixCaching: true}
}

// goodFor passes the rules of one version.
func goodFor(version guard.Version) guard.Setup {
	setup := good()
	if version == guard.Main202608 {
		setup.ModelRunner = 1
	}
	return setup
}

// connectorOf is a multi-connector of the named ones.
func connectorOf(names ...string) *guard.Connector {
	multi := guard.Connector{Name: "MultiConnector"}
	for _, name := range names {
		multi.Children = append(multi.Children, guard.Connector{Name: name})
	}
	return &multi
}

// broken lists the rules that an error reports.
func broken(t *testing.T, err error) []guard.Rule {
	t.Helper()
	if err == nil {
		return nil
	}
	var refusal *guard.Refusal
	require.ErrorAs(t, err, &refusal)
	require.NotEmpty(t, refusal.Broken)
	var rules []guard.Rule
	for _, b := range refusal.Broken {
		rules = append(rules, b.Rule)
		require.ErrorIs(t, err, b.Rule)
		require.Equal(t, b.Rule.Nature(), b.Nature)
		require.NotEmpty(t, b.Setting)
		require.NotEmpty(t, b.Change)
	}
	return rules
}

// versions are the columns of the table below.
var versions = []guard.Version{guard.V021, guard.Main202608, guard.Merged, guard.Latest}

// TestGuardsOverTime is the table of the reference's history: a fact a line, a version
// a column, an x where it is refused.
func TestGuardsOverTime(t *testing.T) {
	for _, fact := range []struct {
		name    string
		rule    guard.Rule
		refused string // v0.21, main of 2026-08-01, PR 45635, latest
		set     func(*guard.Setup)
	}{
		{"nothing in the way", guard.ModelRunner, "....", func(*guard.Setup) {}},
		{"Model Runner V1 on a GPU", guard.ModelRunner, "..xx", func(s *guard.Setup) { s.ModelRunner = 1 }},
		{"Model Runner V2 on a GPU", guard.ModelRunner, ".x..", func(s *guard.Setup) { s.ModelRunner = 2 }},
		{"Model Runner V1 on a TPU", guard.ModelRunner, "..x.", func(s *guard.Setup) { s.ModelRunner, s.GPU = 1, false }},
		{"no version of the model runner", guard.ModelRunner, "..xx", func(s *guard.Setup) { s.ModelRunner = 0 }},
		{"a pooling runner", guard.GenerateRunner, "..xx", func(s *guard.Setup) { s.Runner = guard.Pooling }},
		{"a draft runner", guard.GenerateRunner, "..xx", func(s *guard.Setup) { s.Runner = guard.Draft }},
		{"no runner type", guard.GenerateRunner, "..xx", func(s *guard.Setup) { s.Runner = "" }},
		{"a dense model", guard.MoEModel, "..xx", func(s *guard.Setup) { s.MoE = false }},
		{"no prefix caching", guard.PrefixCaching, "..xx", func(s *guard.Setup) { s.PrefixCaching = false }},
		{"adaptive speculative verification", guard.AdaptiveSpeculation, "..xx", func(s *guard.Setup) { s.AdaptiveSpeculation = true }},
		{"one pipeline stage", guard.PipelineParallel, "....", func(s *guard.Setup) { s.PipelineParallel = 1 }},
		{"two pipeline stages", guard.PipelineParallel, ".xxx", func(s *guard.Setup) { s.PipelineParallel = 2 }},
		{"less than no pipeline stage", guard.PipelineParallel, ".xxx", func(s *guard.Setup) { s.PipelineParallel = -1 }},
		{"one context rank of each kind", guard.ContextParallel, "....", func(s *guard.Setup) { s.DecodeContextParallel, s.PrefillContextParallel = 1, 1 }},
		{"decode context parallelism", guard.ContextParallel, ".xxx", func(s *guard.Setup) { s.DecodeContextParallel = 2 }},
		{"prefill context parallelism", guard.ContextParallel, ".xxx", func(s *guard.Setup) { s.PrefillContextParallel = 4 }},
		{"NixlConnector", guard.KVConnector, ".xxx", func(s *guard.Setup) { s.KVConnector = &guard.Connector{Name: "NixlConnector"} }},
		{"NixlPullConnector", guard.KVConnector, ".xxx", func(s *guard.Setup) { s.KVConnector = &guard.Connector{Name: "NixlPullConnector"} }},
		{"NixlPushConnector", guard.KVConnector, ".xxx", func(s *guard.Setup) { s.KVConnector = &guard.Connector{Name: "NixlPushConnector"} }},
		{"MoRIIOConnector", guard.KVConnector, ".xxx", func(s *guard.Setup) { s.KVConnector = &guard.Connector{Name: "MoRIIOConnector"} }},
		{"MooncakeConnector", guard.KVConnector, ".xxx", func(s *guard.Setup) { s.KVConnector = &guard.Connector{Name: "MooncakeConnector"} }},
		{"NixlConnector in a multi-connector", guard.KVConnector, ".xxx", func(s *guard.Setup) { s.KVConnector = connectorOf("OffloadingConnector", "NixlConnector") }},
		{"NixlPullConnector in a multi-connector", guard.KVConnector, ".xxx", func(s *guard.Setup) { s.KVConnector = connectorOf("NixlPullConnector") }},
		{"NixlPushConnector in a multi-connector", guard.KVConnector, ".xxx", func(s *guard.Setup) { s.KVConnector = connectorOf("NixlPushConnector") }},
		{"MoRIIOConnector in a multi-connector", guard.KVConnector, ".xxx", func(s *guard.Setup) { s.KVConnector = connectorOf("MoRIIOConnector") }},
		{"MooncakeConnector in a multi-connector", guard.KVConnector, ".xxx", func(s *guard.Setup) { s.KVConnector = connectorOf("MooncakeConnector") }},
		{"MooncakeStoreConnector", guard.KVConnector, ".xx.", func(s *guard.Setup) { s.KVConnector = &guard.Connector{Name: "MooncakeStoreConnector"} }},
		{"OffloadingConnector", guard.KVConnector, ".xx.", func(s *guard.Setup) { s.KVConnector = &guard.Connector{Name: "OffloadingConnector"} }},
		{"LMCacheConnectorV1", guard.KVConnector, ".xx.", func(s *guard.Setup) { s.KVConnector = &guard.Connector{Name: "LMCacheConnectorV1"} }},
		{"LMCacheMPConnector", guard.KVConnector, ".xx.", func(s *guard.Setup) { s.KVConnector = &guard.Connector{Name: "LMCacheMPConnector"} }},
		{"SimpleCPUOffloadConnector", guard.KVConnector, ".xx.", func(s *guard.Setup) { s.KVConnector = &guard.Connector{Name: "SimpleCPUOffloadConnector"} }},
		{"all accepted ones in a multi-connector", guard.KVConnector, ".xx.", func(s *guard.Setup) { s.KVConnector = connectorOf(guard.AcceptedConnectors()...) }},
		{"an unknown connector", guard.KVConnector, ".xx.", func(s *guard.Setup) { s.KVConnector = &guard.Connector{Name: "nixlconnector"} }},
		{"asynchronous scheduling", guard.AsyncScheduling, "x...", func(s *guard.Setup) { s.AsyncScheduling = true }},
		{"sequence parallelism", guard.SequenceParallel, "x...", func(s *guard.Setup) { s.SequenceParallel = true }},
		{"naive data parallelism", guard.NaiveDataParallel, "x...", func(s *guard.Setup) { s.NaiveDataParallel = true }},
		{"no layer with full attention", guard.FullAttention, ".x..", func(s *guard.Setup) { s.NoFullAttention = true }},
	} {
		for column, version := range versions {
			t.Run(fmt.Sprintf("%s/%v", fact.name, version), func(t *testing.T) {
				setup := goodFor(version)
				fact.set(&setup)
				err := version.Check(setup)
				if fact.refused[column] == '.' {
					require.NoError(t, err)
				} else {
					require.Equal(t, []guard.Rule{fact.rule}, broken(t, err))
				}
				if version == guard.Latest {
					require.Equal(t, err, guard.Check(setup), "the newest rules are the default")
				}
				setup.Capture = false
				require.NoError(t, version.Check(setup), "no rule applies while capture is off")
			})
		}
	}
}

// TestEverySubsetOfBrokenRulesIsReportedWholeAndInOrder breaks each of the 256 subsets
// of the eight newest rules.
func TestEverySubsetOfBrokenRulesIsReportedWholeAndInOrder(t *testing.T) {
	breaks := []func(*guard.Setup){
		func(s *guard.Setup) { s.ModelRunner = 1 },
		func(s *guard.Setup) { s.Runner = guard.Pooling },
		func(s *guard.Setup) { s.MoE = false },
		func(s *guard.Setup) { s.PrefixCaching = false },
		func(s *guard.Setup) { s.AdaptiveSpeculation = true },
		func(s *guard.Setup) { s.PipelineParallel = 4 },
		func(s *guard.Setup) { s.DecodeContextParallel = 2 },
		func(s *guard.Setup) { s.KVConnector = connectorOf("MoRIIOConnector") },
	}
	rules := guard.Latest.Rules()
	require.Len(t, rules, len(breaks))
	for subset := range 1 << len(breaks) {
		setup := good()
		var want []guard.Rule
		for i, breakIt := range breaks {
			if subset>>i&1 == 1 {
				breakIt(&setup)
				want = append(want, rules[i])
			}
		}
		err := guard.Check(setup)
		require.Equal(t, want, broken(t, err))
		for i, rule := range rules {
			require.Equal(t, subset>>i&1 == 1, errors.Is(err, rule), rule)
		}
	}
}

func TestRulesThatStorageByHashCanLiftAreMarked(t *testing.T) {
	natures := map[guard.Nature][]guard.Rule{}
	for _, rule := range guard.Latest.Rules() {
		natures[rule.Nature()] = append(natures[rule.Nature()], rule)
	}
	require.Equal(t, map[guard.Nature][]guard.Rule{
		guard.Essential:   {guard.ModelRunner, guard.GenerateRunner, guard.MoEModel, guard.PrefixCaching, guard.AdaptiveSpeculation},
		guard.RankStorage: {guard.PipelineParallel, guard.ContextParallel, guard.KVConnector},
	}, natures)
	require.Equal(t, guard.SlotStorage, guard.AsyncScheduling.Nature())
	require.Equal(t, guard.SlotStorage, guard.FullAttention.Nature())
}

func TestAnErrorTellsTheRuleTheValueWhatToChangeAndTheNature(t *testing.T) {
	setup := good()
	setup.PipelineParallel, setup.PrefixCaching = 4, false
	setup.PrefillContextParallel = 2
	setup.KVConnector = connectorOf("OffloadingConnector", "MooncakeConnector", "NixlConnector")
	err := guard.Check(setup)
	require.EqualError(t, err, ""+
		"auxoutput: prefix caching: rows are found by the hash of their KV block: enable_prefix_caching = false: turn prefix caching on: drop --no-enable-prefix-caching (essential)\n"+
		"auxoutput: pipeline parallelism: a stage captures its own layers only: pipeline_parallel_size = 4: set it to 1 (only because one rank stores the rows)\n"+
		"auxoutput: context parallelism: the tokens of a block are spread over ranks: decode and prefill context parallel size = 0 and 2: set both to 1 (only because one rank stores the rows)\n"+
		"auxoutput: KV connector: KV blocks arrive from elsewhere without their rows: kv_connector = MultiConnector with MooncakeConnector, NixlConnector: "+
		"use none of NixlConnector, NixlPullConnector, NixlPushConnector, MoRIIOConnector, MooncakeConnector (only because one rank stores the rows)")
	var first *guard.Error
	require.ErrorAs(t, err, &first)
	require.Equal(t, guard.PrefixCaching, first.Rule)
}

func TestWhatIsNoVersionOrNoRuleSaysSo(t *testing.T) {
	none := guard.Version(99)
	require.ErrorContains(t, none.Check(good()), "Version(99)")
	require.NoError(t, none.Check(guard.Setup{}))
	require.Empty(t, none.Rules())
	require.Equal(t, "Rule(99)", guard.Rule(99).Error())
	require.Equal(t, guard.Essential, guard.Rule(99).Nature())
	require.Equal(t, "Nature(99)", guard.Nature(99).String())
	require.Equal(t, "only because rows are stored by KV slot", guard.SlotStorage.String())
}
