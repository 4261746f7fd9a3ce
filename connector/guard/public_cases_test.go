package guard_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/connector/guard"
)

// Bugs that people met in public projects, where the answer is not to start. Each name
// has the number of the case.

func TestPublicCase_PC_010_StagesThatSeeTheirOwnLayersOnlyAreRefused(t *testing.T) {
	setup := good()
	setup.PipelineParallel = 2
	require.Equal(t, []guard.Rule{guard.PipelineParallel}, broken(t, check(setup)))
	require.Equal(t, guard.RankStorage, guard.PipelineParallel.Nature(), "and whoever pools the rows may lift it")
}

func TestPublicCase_PC_061_ConnectorsThatLeaveTheRowsBehindAreRefused(t *testing.T) {
	for _, name := range guard.RefusedConnectors() {
		setup := good()
		setup.KVConnector = &guard.Connector{Name: name}
		require.Equal(t, []guard.Rule{guard.KVConnector}, broken(t, check(setup)), name)
		setup.KVConnector = connectorOf("OffloadingConnector", name)
		require.Equal(t, []guard.Rule{guard.KVConnector}, broken(t, check(setup)), "%s among others", name)
	}
}

func TestPublicCase_PC_128_ADenseModelIsRefusedBeforeAnythingStarts(t *testing.T) {
	setup := good()
	setup.MoE = false
	checked, err := guard.Check(setup)
	require.Equal(t, []guard.Rule{guard.MoEModel}, broken(t, err))
	require.ErrorContains(t, err, "only supports MoE models")
	require.ErrorIs(t, checked.Ready(), guard.ErrNotChecked, "and there is nothing to start with")
}
