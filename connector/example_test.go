package connector_test

import (
	"errors"
	"fmt"

	"github.com/auxoutput/auxoutput/blockhash"
	"github.com/auxoutput/auxoutput/connector"
	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/routing"
	"github.com/auxoutput/auxoutput/store"
)

// Two requests share a prefix. The second one hits the KV cache, runs two tokens
// and gets the rows of all ten. A row is one byte here.
func Example() {
	const blockTokens = 4
	profile, err := routing.NewProfile(1, 1, 256)
	if err != nil {
		panic(err)
	}
	blockBytes, err := profile.BlockBytes(blockTokens)
	if err != nil {
		panic(err)
	}
	config, err := connector.ParseConfig([]byte(`{"enable_return_routed_experts": true}`))
	if err != nil {
		panic(err)
	}
	budget, err := config.Budget(100, 1, blockBytes) // of the KV pool: blocks, hashes per block
	if err != nil {
		panic(err)
	}
	rows, err := store.New(store.Options{MaxBytes: budget, BlockBytes: blockBytes})
	if err != nil {
		panic(err)
	}
	defer rows.Close()
	worker, err := connector.NewWorker(rows, connector.Options{Checked: checked,
		Profile: profile, BlockTokens: blockTokens, MaxSequences: 4, MaxStepTokens: 64, MaxInFlight: 1,
	})
	if err != nil {
		panic(err)
	}
	defer worker.Close()
	scheduler, err := connector.NewScheduler(connector.SchedulerOptions{Checked: checked, KVBlocks: 100})
	if err != nil {
		panic(err)
	}

	// The prefix cache computes the hashes, and registers them as blocks fill.
	root, err := blockhash.DefaultRoot(blockhash.SHA256CBOR)
	if err != nil {
		panic(err)
	}
	chain, err := blockhash.NewChain(blockhash.SHA256CBOR, root, blockTokens, blockhash.Request{})
	if err != nil {
		panic(err)
	}
	chain.Append(1, 2, 3, 4, 5, 6, 7, 8)
	hashes := chain.Hashes()

	var meta connector.Metadata
	var out connector.Output
	run := func(request connector.Request, hit []int32, captured string) {
		start := len(hit) * blockTokens
		// Before the KV cache admits it. Its rows of the hit are those of whoever filled
		// these blocks.
		err := scheduler.Admit(connector.Admission{ID: request.ID, Hashes: request.Hashes, Hit: hit})
		if err != nil {
			panic(err)
		}
		if err := scheduler.Build(&meta, []connector.Request{request}, nil); err != nil {
			panic(err)
		}
		step, err := worker.Begin(&meta)
		if err != nil {
			panic(err)
		}
		err = worker.Process(step, connector.Batch{
			IDs: []string{request.ID}, Starts: []int{start}, Bounds: []int{0, len(captured)},
			Sampled: []int{1}, Rejected: []int{0}, RowCount: len(captured), Rows: []byte(captured),
		}, &out)
		if err != nil {
			panic(err)
		}
		taken, _, err := out.Take(request.ID, request.Tokens+1, true)
		if errors.Is(err, auxerrors.ErrAbsent) {
			fmt.Println(request.ID, "failed:", err) // that request, and no other
			return
		} else if err != nil {
			panic(err)
		}
		fmt.Printf("%s: %d tokens computed, %d rows: %s\n", request.ID, len(captured), len(taken), taken)
		if err := scheduler.Finish(request); err != nil {
			panic(err)
		}
	}
	run(connector.Request{ID: "first", Tokens: 9, Hashes: hashes, Registered: 2, Blocks: []int32{1, 2, 3}}, nil, "abcdefghi")
	run(connector.Request{ID: "second", Tokens: 10, Hashes: hashes, Registered: 2, Blocks: []int32{1, 2, 4}}, []int32{1, 2}, "xy")
	// Output:
	// first: 9 tokens computed, 9 rows: abcdefghi
	// second: 2 tokens computed, 10 rows: abcdefghxy
}

// In the mode RowGated a hit is cut to the rows that are there, so that nothing
// fails however small the store is.
func ExampleGate() {
	rows, err := store.New(store.Options{MaxBytes: 8, BlockBytes: 4}) // two slots
	if err != nil {
		panic(err)
	}
	defer rows.Close()
	worker, err := connector.NewWorker(rows, connector.Options{Checked: checked,
		Mode: connector.RowGated, Profile: routing.Profile{Layers: 1, TopK: 1, Experts: 256},
		BlockTokens: 4, MaxSequences: 4, MaxStepTokens: 64, MaxInFlight: 1,
	})
	if err != nil {
		panic(err)
	}
	defer worker.Close()
	gate := worker.Gate()

	keys := hashesOf("first block", "second block", "third block") // Scheduler.Keys
	hit, err := gate.Admit("request", keys[:1])                    // what the KV cache has
	if err != nil {
		panic(err)
	}
	fmt.Println("blocks of the hit that have rows:", hit)

	ok, err := gate.Reserve("request", keys[:2]) // before two blocks are computed
	if err != nil {
		panic(err)
	}
	fmt.Println("room for two blocks:", ok)

	_, err = gate.Reserve("request", keys)
	fmt.Println(errors.Is(err, auxerrors.ErrCannotFit))
	// Output:
	// blocks of the hit that have rows: 0
	// room for two blocks: true
	// true
}
