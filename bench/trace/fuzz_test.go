package trace

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// checkAnyInput reads what may be anything: the answer is requests that keep
// their promises, or an error that names a line.
func checkAnyInput(t *testing.T, text []byte) {
	requests, r, err := readAll(string(text), Options{})
	if err != nil {
		var damage *Error
		require.ErrorAs(t, err, &damage)
		require.GreaterOrEqual(t, damage.Line, 1)
		require.NotEmpty(t, damage.Reason)
	}
	next := uint32(0)
	for _, request := range requests {
		require.GreaterOrEqual(t, request.InputTokens, 0)
		require.GreaterOrEqual(t, request.OutputTokens, 0)
		if request.Arrival < 0 && r.Format() != Azure {
			t.Fatalf("an arrival at %v", request.Arrival)
		}
		require.LessOrEqual(t, len(request.Blocks), min(request.InputTokens, MaxBlocks))
		for _, block := range request.Blocks { // millions of them, of a line of fifty bytes
			if block > next {
				t.Fatalf("block %d before %d: numbers come in order of first appearance", block, next)
			}
			next = max(next, block+1)
		}
	}
	if r != nil && err == nil {
		require.EqualValues(t, next, r.UniqueBlocks())
	}
}

func fuzzFormat(f *testing.F, seeds ...string) {
	for _, seed := range seeds {
		f.Add([]byte(seed))
		f.Add([]byte(seed + seed))
		f.Add([]byte(seed[:len(seed)/2]))
	}
	f.Fuzz(checkAnyInput)
}

func FuzzMooncake(f *testing.F) {
	fuzzFormat(f, goodPlain, goodTurns,
		`{"timestamp":1e3,"session_id":"x","hash_id_scope":"local","input_length":17,"output_length":0,"hash_ids":[4294967296,4294967295]}`,
		`{"timestamp":0,"input_length":-1,"output_length":1e308,"hash_ids":[[1],null,1.5]}`)
}

func FuzzQwen(f *testing.F) {
	fuzzFormat(f, goodQwen, `{"chat_id":2,"parent_chat_id":1,"timestamp":0.5,"input_length":1,"output_length":1,"turn":2,"hash_ids":[1]}`)
}

func FuzzRuns(f *testing.F) {
	fuzzFormat(f, goodRuns, `{"s":"x","a":1,"t":0.5,"in":64000,"out":1,"runs":[[4294967290,900],[1,100]]}`,
		`{"s":1,"t":0,"in":1073741824,"out":1,"runs":[[18446744073709551615,18446744073709551615]]}`)
}

func FuzzWEKA(f *testing.F) {
	fuzzFormat(f, goodWEKA, wekaText, "{\n"+wekaText[1:])
}

func FuzzAzure(f *testing.F) {
	fuzzFormat(f, goodAzure, "TIMESTAMP,ContextTokens,GeneratedTokens\n2024-05-10 00:00:00.009930+00:00,2162,5\n")
}
