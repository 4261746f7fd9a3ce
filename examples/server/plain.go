package main

import (
	"context"
	"fmt"

	"github.com/auxoutput/auxoutput/bench/engine"
	"github.com/auxoutput/auxoutput/bench/truth"
)

// plain generates tokens and no rows: it serves while capture is off. Nothing is
// started for it, neither engine nor store nor connector.
type plain struct {
	kvTokens int // positions that the KV cache would have room for
}

func (p plain) generate(ctx context.Context, j job, each func(delivery) error) error {
	// The last token never runs, so it needs no room.
	if tokens := len(j.prompt) + j.output; tokens-1 > p.kvTokens {
		return fmt.Errorf("%w: %d tokens", engine.ErrNoRoom, tokens)
	}
	for i := range j.output {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := each(delivery{tokens: []uint32{sample(j.seed, i)}, done: i == j.output-1}); err != nil {
			return err
		}
	}
	return nil
}

// sample is the token at an output position: the engine's own, so that an answer is
// the same with capture on and off.
func sample(seed uint64, output int) uint32 {
	return uint32(truth.Mix(seed^truth.Mix(uint64(output)))) % vocabulary
}

func (plain) reset() error           { return nil }
func (plain) ended() <-chan struct{} { return nil }
func (plain) stop() error            { return nil }
