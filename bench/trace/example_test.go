package trace_test

import (
	"fmt"
	"os"
	"strings"

	"github.com/auxoutput/auxoutput/bench/trace"
)

func ExampleReader() {
	file := strings.NewReader(`{"s":1,"t":0,"in":200,"out":9,"runs":[[1,3]]}
{"s":2,"t":0,"in":150,"out":9,"runs":[[1,2]]}
{"s":1,"t":5000,"in":330,"out":9,"runs":[[1,3],[7,2]]}
`)
	r, err := trace.NewReader(file, "sessions.jsonl", trace.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for request, err := range r.All() {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(request.Session, request.Arrival, request.Blocks)
	}
	fmt.Println(r.Format(), r.Layout().BlockTokens, r.Layout().LastBlock)
	// Output:
	// 0 0s [0 1 2]
	// 1 0s [3 4]
	// 0 5s [0 1 2 5 6]
	// run-length JSONL 64 full blocks only
}

func ExampleError() {
	_, err := trace.NewReader(strings.NewReader(`{"timestamp":0,"input_len`), "cut.jsonl", trace.Options{})
	fmt.Println(err)
	// Output: cut.jsonl:1:25: the JSON ends early: the file is truncated, or a line was broken in two
}

func ExampleGenerate() {
	turns, err := trace.Generate(trace.GenerateOptions{
		Seed: 1, Sessions: 1, Turns: trace.Range{Min: 2, Max: 2}, SystemPrompts: 1,
		SystemTokens: trace.Range{Min: 5, Max: 5},
		UserTokens:   trace.Range{Min: 2, Max: 2},
		OutputTokens: trace.Range{Min: 3, Max: 3},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, turn := range turns {
		fmt.Println(turn.Session, turn.Turn, len(turn.Prompt), len(turn.Output))
	}
	turns[1].Arrival = turns[0].Arrival
	if err := trace.WriteMooncake(os.Stdout, turns, 4, false); err != nil {
		fmt.Println(err)
	}
	// Output:
	// 0 0 7 3
	// 0 1 12 3
	// {"timestamp":0,"session_id":0,"input_length":7,"output_length":3,"hash_ids":[0]}
	// {"timestamp":0,"session_id":0,"input_length":12,"output_length":3,"hash_ids":[0,1,2]}
}
