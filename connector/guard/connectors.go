package guard

import (
	"slices"
	"strings"
)

// Connector is a KV connector by the name that the engine's configuration calls it
// (kv_connector), with the connectors that it combines, if it is a MultiConnector.
type Connector struct {
	Name     string
	Children []Connector
}

var refusedConnectors = []string{
	"NixlConnector", "NixlPullConnector", "NixlPushConnector", "MoRIIOConnector", "MooncakeConnector",
}

var acceptedConnectors = []string{
	"MooncakeStoreConnector", "OffloadingConnector", "LMCacheConnectorV1", "LMCacheMPConnector", "SimpleCPUOffloadConnector",
}

// RefusedConnectors lists the connectors that the newest rules refuse (PR 58150): they
// move KV blocks from a prefill to a decode instance, and the rows stay behind.
// Names are exact.
func RefusedConnectors() []string { return slices.Clone(refusedConnectors) }

// AcceptedConnectors lists the connectors that PR 58150 names as accepted. A connector
// of neither list is accepted too. KV blocks that they bring back can outlive their
// rows: that is for the coherence mode to settle, not for a guard.
func AcceptedConnectors() []string { return slices.Clone(acceptedConnectors) }

// refused names the refused connectors among this one and all that it combines, each
// once. It visits every connector once, without recursion: neither depth nor a
// connector that contains itself can hurt.
func (c *Connector) refused() []string {
	var found []string
	seen := map[*Connector]bool{}
	for waiting := []*Connector{c}; len(waiting) > 0; {
		last := len(waiting) - 1
		next := waiting[last]
		waiting = waiting[:last]
		if seen[next] {
			continue
		}
		seen[next] = true
		if slices.Contains(refusedConnectors, next.Name) && !slices.Contains(found, next.Name) {
			found = append(found, next.Name)
		}
		for i := range slices.Backward(next.Children) {
			waiting = append(waiting, &next.Children[i])
		}
	}
	return found
}

// describe is the connector's name, and what is refused inside it.
func (c *Connector) describe(refused []string) string {
	if len(refused) == 0 || (len(refused) == 1 && refused[0] == c.Name) {
		return c.Name
	}
	return c.Name + " with " + strings.Join(refused, ", ")
}
