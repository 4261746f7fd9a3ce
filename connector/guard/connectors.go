package guard

import (
	"slices"
	"strings"
)

// Role is what an instance does with a KV connector (kv_role).
type Role string

// The roles.
const (
	Producer Role = "kv_producer" // the prefill side of a disaggregated engine
	Consumer Role = "kv_consumer" // its decode side
	Both     Role = "kv_both"     // either side, or an instance that offloads its own KV
)

// Connector is a KV connector by the name that the engine's configuration calls it
// (kv_connector), with the connectors that it combines, if it is a MultiConnector.
type Connector struct {
	Name     string
	Role     Role // one of the three, or empty; which one changes only the reason that is given
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
// rows: the coherence mode of the connector says what happens then, not a guard.
func AcceptedConnectors() []string { return slices.Clone(acceptedConnectors) }

// Why rows and KV connectors do not go together, by what the connector is for.
const (
	disaggregated = "rows captured on the prefill instance cannot reach the decode instance"
	livesOutside  = "the slot mapping changes when KV blocks lie elsewhere than in local GPU memory, and what comes back brings no rows"
)

// connectors is what a search through a connector and all that it combines finds.
type connectors struct {
	refused  []string // names that the newest rules refuse, each once
	nameless bool     // one has no name
	roles    []Role   // each once
	foreign  bool     // a role is none of the three
}

// search visits every connector once, without recursion: neither depth nor a connector
// that contains itself can hurt.
func (c *Connector) search() connectors {
	var found connectors
	seen := map[*Connector]bool{}
	for waiting := []*Connector{c}; len(waiting) > 0; {
		last := len(waiting) - 1
		next := waiting[last]
		waiting = waiting[:last]
		if seen[next] {
			continue
		}
		seen[next] = true
		found.nameless = found.nameless || next.Name == ""
		if slices.Contains(refusedConnectors, next.Name) && !slices.Contains(found.refused, next.Name) {
			found.refused = append(found.refused, next.Name)
		}
		if next.Role != "" && !slices.Contains(found.roles, next.Role) {
			found.roles = append(found.roles, next.Role)
		}
		switch next.Role {
		case "", Producer, Consumer, Both:
		default:
			found.foreign = true
		}
		for i := range slices.Backward(next.Children) {
			waiting = append(waiting, &next.Children[i])
		}
	}
	return found
}

// reason is why the connectors are refused. A role that is kv_both, or not stated, is
// that of either use.
func (f connectors) reason() string {
	pair := slices.Contains(f.roles, Producer) || slices.Contains(f.roles, Consumer)
	either := len(f.roles) == 0 || slices.Contains(f.roles, Both)
	switch {
	case either && (pair || len(f.roles) == 0 || len(f.refused) > 0):
		return disaggregated + "; " + livesOutside
	case either:
		return livesOutside
	}
	return disaggregated
}

// describe is the connector's name, what is refused inside it, and the roles.
func (c *Connector) describe(found connectors) string {
	var b strings.Builder
	b.WriteString(c.Name)
	if c.Name == "" {
		b.WriteString("a connector without a name")
	}
	if len(found.refused) > 1 || (len(found.refused) == 1 && found.refused[0] != c.Name) {
		b.WriteString(" with " + strings.Join(found.refused, ", "))
	}
	for i, role := range found.roles {
		b.WriteString([]string{" as ", ", "}[min(i, 1)] + string(role))
	}
	return b.String()
}
