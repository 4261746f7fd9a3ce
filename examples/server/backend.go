package main

import "context"

// backend is what generates the answers. The handler knows no more of it.
type backend interface {
	// generate runs a job and calls each for everything it yields, in order; the
	// last delivery is done. It returns when the job is through, with the error
	// of each, or with that of ctx when it ends first: then the job is aborted.
	generate(ctx context.Context, j job, each func(delivery) error) error

	// reset starts a new generation, as after an update of the weights.
	reset() error

	// ended is closed when the backend has ended by itself.
	ended() <-chan struct{}

	// stop ends the backend and says what was wrong with it, if anything was.
	stop() error
}

// job is a request that was checked.
type job struct {
	prompt []uint32
	output int // tokens to generate
	seed   uint64
	start  int // position of the first row that is asked for
}

// delivery is what a job yields at a time. Its parts belong to who gets it.
type delivery struct {
	tokens []uint32
	rows   []byte // that follow those before; empty while capture is off
	done   bool   // nothing follows
}
