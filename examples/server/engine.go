package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/auxoutput/auxoutput/bench/engine"
)

// simulated is the backend that returns rows. It owns the engine: one goroutine steps
// it while there is work.
type simulated struct {
	calls chan func(*engine.Engine) error // what is to be done between two steps
	quit  chan struct{}
	done  chan struct{} // closed when the engine has ended
	err   error         // why, once it has

	jobs uint64 // of the loop: numbers the jobs
}

// errStopped refuses work after the engine has ended.
var errStopped = errors.New("the engine has stopped")

func startEngine(config engine.Config) (*simulated, error) {
	e, err := engine.New(config)
	if err != nil {
		return nil, err
	}
	b := &simulated{
		calls: make(chan func(*engine.Engine) error), quit: make(chan struct{}), done: make(chan struct{}),
	}
	go b.loop(e)
	return b, nil
}

// loop steps the engine while it is busy, and waits for work while it is not.
func (b *simulated) loop(e *engine.Engine) {
	defer close(b.done)
	for b.err == nil {
		if e.Busy() {
			select {
			case call := <-b.calls:
				b.err = call(e)
			case <-b.quit:
				b.err = errors.Join(errStopped, e.Close())
				return
			default:
				b.err = e.Step()
				if wrong := e.Report().WrongRows; wrong > 0 {
					b.err = fmt.Errorf("%d rows are not those of their tokens", wrong)
				}
			}
			continue
		}
		select {
		case call := <-b.calls:
			b.err = call(e)
		case <-b.quit:
			b.err = errors.Join(e.CheckIdle(), e.Close())
			return
		}
	}
	b.err = errors.Join(b.err, e.Close())
}

// call has the loop do something, unless the engine ends first.
func (b *simulated) call(f func(*engine.Engine) error) error {
	select {
	case b.calls <- f:
		return nil
	case <-b.done:
		return errStopped
	}
}

func (b *simulated) ended() <-chan struct{} { return b.done }

func (b *simulated) stop() error {
	close(b.quit)
	<-b.done
	return b.err
}

func (b *simulated) reset() error {
	done := make(chan error, 1)
	if err := b.call(func(e *engine.Engine) error {
		err := e.ResetCache()
		done <- err
		return err
	}); err != nil {
		return err
	}
	return <-done
}

func (b *simulated) generate(ctx context.Context, j job, each func(delivery) error) error {
	// As many as there can be, so that a slow client never holds up the engine.
	deliveries := make(chan engine.Delivery, j.output+2)
	sent := engine.Job{
		Prompt: j.prompt, Output: j.output, Seed: j.seed, PromptStart: j.start,
		Deliver: func(d engine.Delivery) {
			d.Tokens = append([]uint32(nil), d.Tokens...)
			d.Rows = append([]byte(nil), d.Rows...)
			deliveries <- d
		},
	}
	refused := make(chan error, 1)
	id := ""
	if err := b.call(func(e *engine.Engine) error {
		b.jobs++
		id = strconv.FormatUint(b.jobs, 10)
		sent.ID = id
		refused <- e.Submit(&sent)
		return nil
	}); err != nil {
		return err
	}
	if err := <-refused; err != nil {
		return err
	}
	abort := func(why error) error {
		// An engine that has ended has nothing to abort.
		_ = b.call(func(e *engine.Engine) error { return e.Cancel(id) })
		return why
	}
	for {
		select {
		case d := <-deliveries:
			if d.Err != nil {
				return d.Err
			}
			if err := each(delivery{d.Tokens, d.Rows, d.Done}); err != nil {
				return abort(err)
			}
			if d.Done {
				return nil
			}
		case <-ctx.Done():
			return abort(ctx.Err())
		case <-b.done:
			return errStopped
		}
	}
}
