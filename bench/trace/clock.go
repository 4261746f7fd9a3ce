package trace

import (
	"math"
	"time"
)

// clock knows when the line before and the turn before of each session arrived.
type clock struct {
	last     time.Duration
	sessions []time.Duration // by the session's number
}

// after is the arrival of a line that has a delay instead of a time: so much after the
// turn before of its session or, where there is none, after the line before.
func (c *clock) after(session int, delay time.Duration) (time.Duration, error) {
	from := c.last
	if session >= 0 && session < len(c.sessions) {
		from = c.sessions[session]
	}
	if delay > math.MaxInt64-from {
		return 0, faultf("delay: %v after %v is more than 292 years", delay, from)
	}
	return from + delay, nil
}

// set notes an arrival. Sessions are numbered in order of appearance.
func (c *clock) set(session int, at time.Duration) {
	c.last = at
	switch {
	case session < 0:
	case session < len(c.sessions):
		c.sessions[session] = at
	default:
		c.sessions = append(c.sessions, at)
	}
}
