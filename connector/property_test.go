package connector_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/auxoutput/auxoutput/connector"
	auxerrors "github.com/auxoutput/auxoutput/errors"
)

// drawn takes decisions from rapid, so that a failure shrinks.
type drawn struct{ t *rapid.T }

func (d drawn) between(low, high int) int {
	if high <= low {
		return low
	}
	return rapid.IntRange(low, high).Draw(d.t, "choice")
}

// traffic brings requests, turns the engine and disturbs it.
func traffic(e *engine, steps int) {
	next := 0
	for range steps {
		switch e.pick.between(0, 11) {
		case 0, 1, 2:
			id := fmt.Sprint("r", next)
			next++
			arrive(e, id)
		case 3: // the client goes away, and perhaps comes back under the same id
			if len(e.running) > 0 {
				s := e.running[e.pick.between(0, len(e.running)-1)]
				e.leave(s, false)
				if e.pick.between(0, 1) == 0 {
					arrive(e, s.id)
				}
			}
		case 4:
			if len(e.running) > 0 {
				e.leave(e.running[len(e.running)-1], true)
				e.preempted = true
			}
		case 5:
			if e.pick.between(0, 4) == 0 {
				e.reset()
				if len(e.flights) > 0 && e.pick.between(0, 1) == 0 {
					e.settle() // before the worker hears of it
				}
			}
		case 6: // a block loses its hash out of order
			block := int32(e.pick.between(1, e.cfg.kvBlocks-1))
			e.evict(block)
		default:
			e.turn()
		}
	}
}

// arrive draws a request: few tokens differ, so that prefixes are shared.
func arrive(e *engine, id string) {
	most := (e.cfg.kvBlocks - 1) * e.cfg.coarse * e.cfg.block
	if e.cfg.window > 0 { // both groups need blocks, and each its last one
		most = (e.cfg.kvBlocks - 3) * e.cfg.block * e.cfg.coarse * e.cfg.unit / (e.cfg.coarse + e.cfg.unit)
	}
	most = max(most, 2)
	tokens := make([]uint32, e.pick.between(2, most))
	family := uint32(e.pick.between(0, 2))
	for i := range tokens {
		tokens[i] = family
	}
	if at := e.pick.between(0, 2*len(tokens)); at < len(tokens) {
		tokens[at] = 9
	}
	prompt, start := e.pick.between(1, len(tokens)-1), 0
	if e.pick.between(0, 3) == 0 {
		start = e.pick.between(0, prompt)
	}
	e.add(id, tokens, prompt, start)
}

func drawConfig(t *rapid.T, mode connector.Mode) engineConfig {
	cfg := engineConfig{
		mode:     mode,
		block:    rapid.IntRange(1, 3).Draw(t, "block"),
		coarse:   rapid.IntRange(1, 2).Draw(t, "hashes per KV block"),
		kvBlocks: rapid.IntRange(3, 9).Draw(t, "KV blocks"),
		lag:      rapid.IntRange(0, 1).Draw(t, "lag"),
		budget:   rapid.IntRange(3, 16).Draw(t, "tokens of a step"),
		most:     rapid.IntRange(1, 4).Draw(t, "running requests"),
		drafts:   rapid.IntRange(0, 3).Draw(t, "drafts"),
		settles:  rapid.Bool().Draw(t, "settles"),
		eagle:    rapid.IntRange(0, 4).Draw(t, "EAGLE") == 0,
		check:    connector.CheckLevel(rapid.IntRange(0, 2).Draw(t, "check")),
	}
	cfg.slots = (cfg.kvBlocks - 1) * cfg.coarse
	if rapid.IntRange(0, 3).Draw(t, "groups") == 0 {
		cfg.unit = rapid.IntRange(1, 4).Draw(t, "hash blocks of a window block")
		cfg.window = rapid.IntRange(1, 4*cfg.unit*cfg.block).Draw(t, "window")
		cfg.kvBlocks *= 2
		cfg.slots *= 2
	}
	return cfg
}

func TestWithASlotForEachHashBlockNoReadIsMissingAndNoPutFails(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := drawConfig(t, connector.FailClosed)
		cfg.writer = rapid.IntRange(0, 4).Draw(t, "writer") == 0
		e := newEngine(t, cfg, drawn{t})
		defer e.close()
		traffic(e, rapid.IntRange(1, 120).Draw(t, "steps"))
		e.drain()
		require.Zero(t, e.missing)
	})
}

func TestGatedHitsAreNeverMissingHoweverFewSlotsThereAre(t *testing.T) {
	for _, mode := range []connector.Mode{connector.RowGated, connector.Linked} {
		t.Run(mode.String(), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				cfg := drawConfig(t, mode)
				cfg.slots = rapid.IntRange(1, cfg.slots).Draw(t, "slots")
				if mode == connector.RowGated {
					cfg.writer = rapid.IntRange(0, 4).Draw(t, "writer") == 0
				}
				e := newEngine(t, cfg, drawn{t})
				defer e.close()
				traffic(e, rapid.IntRange(1, 120).Draw(t, "steps"))
				e.drain()
				require.Zero(t, e.missing)
			})
		})
	}
}

// seeded takes decisions from a generator.
type seeded struct{ *rand.Rand }

func (s seeded) between(low, high int) int {
	if high <= low {
		return low
	}
	return low + s.IntN(high-low+1)
}

// stops is a test that ends at its first failure and keeps the message.
type stops struct{ message string }

func (s *stops) Errorf(format string, args ...any) { s.message = fmt.Sprintf(format, args...) }
func (s *stops) FailNow()                          { panic(s) }

// holes counts by kind the runs that fail with a mode, of so many seeds.
func holes(mode connector.Mode, seeds int) map[string]int {
	found := map[string]int{}
	for seed := range seeds {
		func() {
			t := &stops{}
			defer func() {
				recovered := recover()
				if recovered == nil {
					return
				}
				if recovered != any(t) {
					panic(recovered)
				}
				for _, kind := range []error{auxerrors.ErrCannotFit, connector.ErrRunAndFinish} {
					if strings.Contains(t.message, kind.Error()) {
						found[kind.Error()]++
						return
					}
				}
				found[t.message]++
			}()
			e := newEngine(t, engineConfig{
				mode: mode, block: 2, coarse: 1, kvBlocks: 12, slots: 12, lag: seed % 2, budget: 4, most: 6,
			}, seeded{rand.New(rand.NewPCG(uint64(seed), 1))})
			defer e.store.Close()
			traffic(e, 150)
			e.drain()
			if e.missing > 0 {
				found["missing"]++
			}
		}()
	}
	return found
}

// The search above would find the holes of the reference's rule, which retains
// every hash that is known: at its own default budget puts fail, and an id cannot
// come back at once. The rule of this library has none.
func TestTheReferencesRuleHasHolesThatThisSearchFinds(t *testing.T) {
	found := holes(connector.Reference, 300)
	t.Logf("of 300 runs in reference mode: %v", found)
	require.NotZero(t, found[auxerrors.ErrCannotFit.Error()])
	require.NotZero(t, found[connector.ErrRunAndFinish.Error()])
	require.Empty(t, holes(connector.FailClosed, 300))
}
