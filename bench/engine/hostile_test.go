package engine

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// hostileScenarios are short files that ask for gigabytes, each of their numbers
// within what one number may be.
var hostileScenarios = map[string]string{
	"tails of wide rows for many requests": `{"config":{"Profile":{"Layers":1000,"TopK":100,"Experts":256},"HashTokens":16,"KVBlocks":8,"Slots":1,"Requests":65536,"BatchTokens":64}}`,
	"tails of many tokens":                 `{"config":{"Profile":{"Layers":1,"TopK":1,"Experts":8},"HashTokens":65536,"KVBlocks":8,"Slots":1,"Requests":65536,"BatchTokens":64}}`,
	"a batch of wide rows":                 `{"config":{"Profile":{"Layers":1000,"TopK":100,"Experts":256},"HashTokens":1,"KVBlocks":8,"Slots":1,"Requests":1,"BatchTokens":65536}}`,
	"slots of wide rows":                   `{"config":{"Profile":{"Layers":1000,"TopK":1000,"Experts":1000},"HashTokens":64,"KVBlocks":8,"Slots":65536,"Requests":1,"BatchTokens":64}}`,
	"a slot for each block of wide rows":   `{"config":{"Profile":{"Layers":1000,"TopK":1000,"Experts":1000},"HashTokens":64,"KVBlocks":65536,"Requests":1,"BatchTokens":64}}`,
	"a tier of wide rows":                  `{"config":{"Profile":{"Layers":1000,"TopK":1000,"Experts":1000},"HashTokens":64,"KVBlocks":8,"OffloadBlocks":65536,"Requests":1,"BatchTokens":64}}`,
	"an endless job":                       `{"config":{"Profile":{"Layers":1,"TopK":1,"Experts":8},"HashTokens":4,"KVBlocks":8,"Requests":1,"BatchTokens":64},"jobs":[{"ID":"a","Prompt":[1],"Output":2147483647}]}`,
}

func TestAScenarioThatAsksForMuchMemoryIsRefused(t *testing.T) {
	for name, text := range hostileScenarios {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := ParseScenario([]byte(text))
			runtime.ReadMemStats(&after)
			require.ErrorContains(t, err, "more than")
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<20))
		})
	}
}
