package engine

import (
	"fmt"

	"github.com/auxoutput/auxoutput/bench/trace"
	"github.com/auxoutput/auxoutput/bench/truth"
)

// JobOf makes a job of a request of a trace. A trace has block ids and no tokens:
// the tokens of a block follow from its id, and those behind the last block are
// the request's own. blockTokens is the trace's block size; outputs are cut to
// mostOutput tokens, if that is not 0.
func JobOf(number int, request *trace.Request, blockTokens, mostOutput int) *Job {
	job := &Job{
		ID: fmt.Sprintf("%d", number), Output: max(request.OutputTokens, 1),
		Seed: truth.Mix(uint64(number)), Prompt: make([]uint32, 0, max(request.InputTokens, 1)),
	}
	if mostOutput > 0 {
		job.Output = min(job.Output, mostOutput)
	}
	length := max(request.InputTokens, 1)
	for _, block := range request.Blocks {
		job.appendTokens(uint64(block), min(blockTokens, length-len(job.Prompt)))
	}
	job.appendTokens(uint64(number)|1<<40, length-len(job.Prompt))
	return job
}

// JobOfTurn makes a job of a turn of a generated conversation.
func JobOfTurn(number int, turn *trace.Turn) *Job {
	return &Job{ID: fmt.Sprintf("%d", number), Prompt: turn.Prompt, Output: len(turn.Output), Tokens: turn.Output}
}

// appendTokens appends tokens that follow from a number.
func (j *Job) appendTokens(number uint64, n int) {
	state := truth.Mix(number)
	for i := range n {
		j.Prompt = append(j.Prompt, uint32(truth.Mix(state+uint64(i)))%vocabulary)
	}
}
