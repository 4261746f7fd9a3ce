package guard_test

import (
	"errors"
	"fmt"

	"github.com/auxoutput/auxoutput/connector/guard"
)

// An engine with two things in its way hears of both, and of which one another way
// to store rows could lift.
func Example() {
	_, err := guard.Check(guard.Setup{
		Capture: true, ModelRunner: 2, Runner: guard.Generate, MoE: true,
		PrefixCaching:         false,
		PipelineParallel:      2,
		DecodeContextParallel: 1, PrefillContextParallel: 1,
		KVConnector: &guard.Connector{Name: "OffloadingConnector", Role: guard.Both},
	})
	var refusal *guard.Refusal
	if errors.As(err, &refusal) {
		for _, broken := range refusal.Broken {
			fmt.Printf("%v (%v): %s\n", broken.Rule, broken.Nature, broken.WaysOut[0])
		}
	}
	fmt.Println(errors.Is(err, guard.PipelineParallel), errors.Is(err, guard.KVConnector))
	// Output:
	// prefix caching (essential): drop --no-enable-prefix-caching: prefix caching is on by default
	// pipeline parallelism (only because one rank stores the rows): set it to 1: tensor parallelism splits a model without stages
	// true false
}
