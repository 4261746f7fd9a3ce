package guard_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/connector/guard"
)

func TestConnectorsNestedWithoutEndAreSearchedToTheEnd(t *testing.T) {
	const depth = 1 << 18
	deep := []guard.Connector{{Name: "MoRIIOConnector"}}
	for range depth {
		deep = []guard.Connector{{Name: "MultiConnector", Children: deep}}
	}
	setup := good()
	setup.KVConnector = &deep[0]
	err := check(setup)
	require.ErrorIs(t, err, guard.KVConnector)
	require.ErrorContains(t, err, "MultiConnector with MoRIIOConnector:")
}

func TestAConnectorThatContainsItselfIsSearchedOnce(t *testing.T) {
	loop := make([]guard.Connector, 2)
	loop[0] = guard.Connector{Name: "MultiConnector", Children: loop}
	loop[1] = guard.Connector{Name: "OffloadingConnector", Children: loop}
	setup := good()
	setup.KVConnector = &loop[0]
	require.NoError(t, check(setup))
	loop[1].Name = "NixlConnector"
	require.ErrorIs(t, check(setup), guard.KVConnector)
}

// TestSharedChildrenAreSearchedOnce has two paths to the next level at each of 64: one
// visit a path would take for ever.
func TestSharedChildrenAreSearchedOnce(t *testing.T) {
	shared := []guard.Connector{{Name: "LMCacheConnectorV1"}}
	for range 64 {
		shared = []guard.Connector{{Name: "MultiConnector", Children: shared}, {Name: "MultiConnector", Children: shared}}
	}
	setup := good()
	setup.KVConnector = &guard.Connector{Name: "MultiConnector", Children: shared}
	require.NoError(t, check(setup))
}

func TestARefusedConnectorIsNamedOnce(t *testing.T) {
	setup := good()
	setup.KVConnector = connectorOf("NixlConnector", "MultiConnector", "NixlConnector")
	require.ErrorContains(t, check(setup), "= MultiConnector with NixlConnector:")
	setup.KVConnector = &guard.Connector{Name: "NixlConnector"}
	require.ErrorContains(t, check(setup), "= NixlConnector:")
}

func TestTheListsOfConnectorsAreCopies(t *testing.T) {
	guard.RefusedConnectors()[0] = "OffloadingConnector"
	guard.AcceptedConnectors()[0] = "NixlConnector"
	require.Len(t, guard.RefusedConnectors(), 5)
	require.NotContains(t, guard.RefusedConnectors(), "OffloadingConnector")
	require.NotContains(t, guard.AcceptedConnectors(), "NixlConnector")
}
