package guard_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/connector/guard"
)

// good keeps every version's rules but one: before PR 45635 rows were captured in
// Model Runner V1 only.
func good() guard.Setup {
	return guard.Setup{
		Capture: true, ModelRunner: 2, Runner: guard.Generate, MoE: true, PrefixCaching: true,
		PipelineParallel: 1, DecodeContextParallel: 1, PrefillContextParallel: 1,
	}
}

// goodFor keeps the rules of one version.
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

// broken lists the rules that an error reports, whose parts it looks at.
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
		require.NotEmpty(t, b.Sentence)
		require.NotEmpty(t, b.Reason)
		require.NotEmpty(t, b.Setting)
		require.Contains(t, b.WaysOut, "switch --enable-return-routed-experts off here")
		require.GreaterOrEqual(t, len(b.WaysOut), 2)
	}
	return rules
}

// checkOf is only the error of a check.
func checkOf(version guard.Version, setup guard.Setup) error {
	_, err := version.Check(setup)
	return err
}

func check(setup guard.Setup) error { return checkOf(guard.Latest, setup) }

// TestGuardsOverTime is the table of facts.
func TestGuardsOverTime(t *testing.T) {
	for _, about := range subjects {
		for _, fact := range about.facts {
			for column, version := range versions {
				t.Run(fmt.Sprintf("%s/%v", fact.name, version), func(t *testing.T) {
					setup := goodFor(version)
					fact.set(&setup)
					err := checkOf(version, setup)
					if fact.refused[column] == '.' {
						require.NoError(t, err)
					} else {
						require.Equal(t, []guard.Rule{about.rule}, broken(t, err))
						require.Equal(t, fact.fault == guard.ErrNotStated, errors.Is(err, guard.ErrNotStated))
						require.Equal(t, fact.fault == guard.ErrInvalid, errors.Is(err, guard.ErrInvalid))
					}
					if version == guard.Latest {
						_, again := guard.Check(setup)
						require.Equal(t, err, again, "the newest rules are the default")
					}
					setup.Capture = false
					require.NoError(t, checkOf(version, setup), "nothing is looked at while capture is off")
				})
			}
		}
	}
}

// TestEveryCombinationOfFactsIsReportedWholeAndInOrder combines a fact of every subject
// with one of every other. What is reported is the rules that each fact breaks alone.
func TestEveryCombinationOfFactsIsReportedWholeAndInOrder(t *testing.T) {
	combinations := 0
	for column, version := range versions {
		rules := version.Rules()
		var combine func(int, guard.Setup, []guard.Rule)
		combine = func(i int, setup guard.Setup, want []guard.Rule) {
			if i < len(subjects) {
				for _, fact := range subjects[i].facts {
					if !fact.combined {
						continue
					}
					next, breaks := setup, slices.Clip(want)
					fact.set(&next)
					if fact.refused[column] != '.' {
						breaks = append(breaks, subjects[i].rule)
					}
					combine(i+1, next, breaks)
				}
				return
			}
			combinations++
			checked, err := version.Check(setup)
			var got []guard.Rule
			if refusal, ok := err.(*guard.Refusal); ok {
				for _, b := range refusal.Broken {
					got = append(got, b.Rule)
				}
			}
			if !slices.Equal(want, got) || (err == nil) != (checked.Ready() == nil) {
				t.Fatalf("%v of %+v: want %v, got %v", version, setup, want, err)
			}
			for _, rule := range rules {
				if errors.Is(err, rule) != slices.Contains(want, rule) {
					t.Fatalf("%v of %+v: errors.Is with %v", version, setup, rule)
				}
			}
		}
		combine(0, goodFor(version), nil)
	}
	require.Greater(t, combinations, 50_000)
}

func TestRulesThatAnotherStorageCanLiftAreMarked(t *testing.T) {
	natures := map[guard.Nature][]guard.Rule{}
	for _, rule := range guard.Latest.Rules() {
		natures[rule.Nature()] = append(natures[rule.Nature()], rule)
	}
	require.Equal(t, map[guard.Nature][]guard.Rule{
		guard.Essential: {
			guard.ModelRunner, guard.GenerateRunner, guard.MoEModel, guard.PrefixCaching,
			guard.AdaptiveSpeculation, guard.FullAttention,
		},
		guard.RankStorage: {guard.PipelineParallel, guard.ContextParallel, guard.KVConnector},
	}, natures)
	require.Equal(t, guard.SlotStorage, guard.AsyncScheduling.Nature())
}

func TestWhatIsNoVersionOrNoRuleSaysSo(t *testing.T) {
	none := guard.Version(99)
	require.ErrorContains(t, checkOf(none, good()), "Version(99)")
	require.NoError(t, checkOf(none, guard.Setup{}))
	require.Empty(t, none.Rules())
	require.Equal(t, "Rule(99)", guard.Rule(99).Error())
	require.Equal(t, guard.Essential, guard.Rule(99).Nature())
	require.Equal(t, "Nature(99)", guard.Nature(99).String())
	require.Equal(t, "only because rows are stored by KV slot", guard.SlotStorage.String())
}

func TestASingleRankKeepsTheRulesOfEveryVersionForModelRunner2(t *testing.T) {
	for _, version := range []guard.Version{guard.Latest, guard.Merged} {
		checked, err := version.Check(guard.SingleRank())
		require.NoError(t, err, version)
		require.NoError(t, checked.Ready())
	}
}
