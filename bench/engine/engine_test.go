package engine

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/connector"
	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/routing"
)

var defaultModes = []connector.Mode{connector.FailClosed, connector.RowGated, connector.Linked}

// seeds is how many scenarios a test tries; the search command tries any number.
func seeds() uint64 {
	if testing.Short() || raceEnabled {
		return 100
	}
	return 600
}

func TestInTheDefaultModesNoRowIsEverMissing(t *testing.T) {
	for _, mode := range defaultModes {
		t.Run(mode.String(), func(t *testing.T) {
			var all Report
			for seed := range seeds() {
				scenario := Draw(mode, seed)
				report, err := scenario.Run()
				if err != nil {
					small, _ := json.Marshal(Shrink(scenario, 2000))
					t.Fatalf("seed %d: %v\n%s", seed, err, small)
				}
				all.Finished += report.Finished
				all.Preemptions += report.Preemptions
				all.Resets += report.Resets
				all.Drops += report.Drops
				all.HitTokens += report.HitTokens
				all.RowsChecked += report.RowsChecked
			}
			require.Positive(t, all.Finished)
			require.Positive(t, all.Preemptions)
			require.Positive(t, all.Resets)
			require.Positive(t, all.Drops)
			require.Positive(t, all.HitTokens)
			require.Positive(t, all.RowsChecked)
		})
	}
}

func TestTheReferenceShowsItsHoles(t *testing.T) {
	if testing.Short() || raceEnabled {
		t.Skip("LOUD: takes some thousand scenarios, of an engine that is one goroutine")
	}
	missing := map[string]bool{"H1": true, "H2": true, "H3": true, "H4": true, "H5": true}
	for seed := uint64(0); len(missing) > 0 && seed < 20_000; seed++ {
		scenario := Draw(connector.Reference, seed)
		report, err := scenario.Run()
		if err == nil {
			continue
		}
		hole := Hole(scenario, report, err)
		require.NotEmpty(t, hole, "seed %d: %v", seed, err)
		delete(missing, hole)
	}
	require.Empty(t, missing)
}

func TestTheSearchFindsARuleThatIsBroken(t *testing.T) {
	for seed := range uint64(3000) {
		scenario := Draw(connector.FailClosed, seed)
		scenario.Config.hideEvicted = true
		if _, err := scenario.Run(); Failure(err) == auxerrors.ErrCannotFit.Error() || Failure(err) == ErrLost.Error() {
			return
		}
	}
	t.Fatal("evicted KV blocks were not told of, and nothing was found")
}

func TestTheSameScenarioGivesTheSameRun(t *testing.T) {
	for seed := range uint64(20) {
		first, second := Draw(connector.RowGated, seed), Draw(connector.RowGated, seed)
		a, errA := first.Run()
		b, errB := second.Run()
		require.Equal(t, a, b)
		require.Equal(t, errA, errB)
	}
}

// failing is a scenario of the reference mode that fails.
func failing(t *testing.T) Scenario {
	t.Helper()
	for seed := range uint64(2000) {
		scenario := Draw(connector.Reference, seed)
		if _, err := scenario.Run(); Failure(err) == auxerrors.ErrCannotFit.Error() {
			return scenario
		}
	}
	t.Fatal("no scenario fails")
	return Scenario{}
}

func TestACounterexampleIsMadeSmallAndCanBeReplayed(t *testing.T) {
	scenario := failing(t)
	small := Shrink(scenario, 3000)
	require.Less(t, len(small.Jobs), len(scenario.Jobs))
	require.NotEmpty(t, small.Note)

	data, err := json.Marshal(small)
	require.NoError(t, err)
	again, err := ParseScenario(data)
	require.NoError(t, err)
	_, err = again.Run()
	require.ErrorIs(t, err, auxerrors.ErrCannotFit)

	fine := Draw(connector.FailClosed, 1)
	require.Equal(t, fine, Shrink(fine, 100), "a scenario that does not fail is left alone")
}

func TestADamagedScenarioIsRefused(t *testing.T) {
	for name, text := range map[string]string{
		"nothing":          "",
		"cut off":          `{"config":{"KVBlocks":`,
		"an unknown field": `{"config":{"Colour":1}}`,
		"something behind": `{"config":{}} {}`,
		"an unknown mode":  `{"config":{"Mode":"hopeful"}}`,
		"a huge pool":      `{"config":{"KVBlocks":99999999999}}`,
		"a huge output":    `{"jobs":[{"ID":"a","Output":99999999}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParseScenario([]byte(text))
			require.Error(t, err)
		})
	}
	empty, err := ParseScenario([]byte(`{}`))
	require.NoError(t, err)
	_, err = empty.Run()
	var config *auxerrors.ConfigError
	require.ErrorAs(t, err, &config)
}

func config() Config {
	return Config{
		Profile: routing.Profile{Layers: 3, TopK: 2, Experts: 300}, HashTokens: 4, KVBlocks: 64,
		Requests: 4, BatchTokens: 64, Lag: true,
	}
}

func TestAConfigurationThatMakesNoSenseIsRefused(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"no hash block":       func(c *Config) { c.HashTokens = 0 },
		"no pool":             func(c *Config) { c.KVBlocks = 1 },
		"negative slots":      func(c *Config) { c.Slots = -1 },
		"no request":          func(c *Config) { c.Requests = 0 },
		"no budget of tokens": func(c *Config) { c.BatchTokens = 0 },
		"negative drafts":     func(c *Config) { c.Drafts = -1 },
		"an uneven KV block":  func(c *Config) { c.KVTokens = 6 },
		"a window of nothing": func(c *Config) { c.Windows = []int{0} },
		"a huge pool":         func(c *Config) { c.KVBlocks = 1 << 30 },
		"no layers":           func(c *Config) { c.Profile.Layers = 0 },
		"a negative tier":     func(c *Config) { c.OffloadBlocks = -1 },
		"too many slots":      func(c *Config) { c.KVBlocks, c.KVTokens = 1<<16, c.HashTokens<<16 },
		"too large a tier":    func(c *Config) { c.OffloadBlocks = math.MaxInt32 },
	} {
		t.Run(name, func(t *testing.T) {
			c := config()
			change(&c)
			_, err := New(c)
			var wrong *auxerrors.ConfigError
			require.ErrorAs(t, err, &wrong)
		})
	}
}

func tokens(from, n int) []uint32 {
	list := make([]uint32, n)
	for i := range list {
		list[i] = uint32(from + i)
	}
	return list
}

func TestAThousandAbortedRequestsLeaveNothingBehind(t *testing.T) {
	for _, mode := range append([]connector.Mode{connector.Reference}, defaultModes...) {
		t.Run(mode.String(), func(t *testing.T) {
			c := config()
			c.Mode, c.Drafts, c.ChunkTokens = mode, 2, 7
			if mode == connector.Reference {
				c.Slots, c.TokensOnly = 4*c.KVBlocks, true // its holes are not the point here
			}
			s := Scenario{Config: c}
			for i := range 1000 {
				s.Jobs = append(s.Jobs, Job{
					ID: fmt.Sprint(i), Arrival: i / 2, Prompt: tokens(i%7, 5+i%40), Output: i % 5, Stop: ByAbort, Seed: uint64(i % 3),
				})
			}
			report, err := s.Run()
			require.NoError(t, err)
			require.Equal(t, 1000, report.Aborted)
			require.Zero(t, report.Finished)
		})
	}
}

func TestAnOffloadTierNeedsAStoreThatFollowsIt(t *testing.T) {
	c := config()
	c.KVBlocks, c.OffloadBlocks = 24, 200
	jobs := func(yield func(*Job, error) bool) {
		for i := range 60 { // twelve prompts in turn: more than the pool holds
			if !yield(&Job{ID: fmt.Sprint(i), Prompt: tokens(100*(i%12), 40), Output: 3}, nil) {
				return
			}
		}
	}
	whole, err := Serve(c, jobs, func() {})
	require.NoError(t, err)
	require.True(t, whole.Safe())
	require.Zero(t, whole.WrongRows)
	require.Greater(t, whole.HitRatio(), 0.5, "the tier serves what the pool has lost")

	c.Slots = c.KVBlocks // as if there were no tier
	short, err := Serve(c, jobs, func() {})
	require.NoError(t, err)
	require.Positive(t, short.Lost, "the tier hits blocks whose rows are gone")
	require.Zero(t, short.WrongRows)

	for _, mode := range []connector.Mode{connector.RowGated, connector.Linked} {
		c.Mode = mode
		gated, err := Serve(c, jobs, func() {})
		require.NoError(t, err)
		require.Zero(t, gated.Lost)
		require.Equal(t, 60, gated.Finished)
		require.Greater(t, gated.ScheduledTokens, whole.ScheduledTokens, "what was not served from the tier was computed again")
	}
}

func TestAStoreBelowThePoolLosesRowsOnlyInFailClosedMode(t *testing.T) {
	c := config()
	jobs := func(yield func(*Job, error) bool) {
		for i := range 80 {
			if !yield(&Job{ID: fmt.Sprint(i), Prompt: tokens(50*(i%9), 30), Output: 4}, nil) {
				return
			}
		}
	}
	safe, err := SmallestSafe(c, jobs, c.KVBlocks)
	require.NoError(t, err)
	for _, tc := range []struct {
		mode  connector.Mode
		slots int
		lost  bool
	}{
		{connector.FailClosed, safe, false}, {connector.FailClosed, safe - 1, true},
		{connector.RowGated, c.KVBlocks / 2, false}, {connector.Linked, c.KVBlocks / 2, false},
	} {
		c.Mode, c.Slots = tc.mode, tc.slots
		report, err := Serve(c, jobs, func() {})
		require.NoError(t, err)
		require.Equal(t, tc.lost, report.Lost > 0, "%v with %d slots", tc.mode, tc.slots)
		require.Zero(t, report.WrongRows)
		require.Equal(t, 80, report.Finished+report.Lost)
	}
}

func TestARequestLargerThanTheEngineIsRejectedAndTheOthersGoOn(t *testing.T) {
	c := config()
	for _, mode := range defaultModes {
		c.Mode = mode
		s := Scenario{Config: c, Jobs: []Job{
			{ID: "huge", Prompt: tokens(0, 1000), Output: 1},
			{ID: "growing", Prompt: tokens(1000, 240), Output: 100},
			{ID: "small", Prompt: tokens(2000, 10), Output: 2},
		}}
		report, err := s.Run()
		require.NoError(t, err)
		require.Equal(t, 2, report.Rejected)
		require.Equal(t, 1, report.Finished)
		require.NotEmpty(t, report.LastRejection)
	}
}

func ExampleServe() {
	jobs := func(yield func(*Job, error) bool) {
		for i := range 10 {
			if !yield(&Job{ID: fmt.Sprint(i), Prompt: tokens(0, 20), Output: 5}, nil) {
				return
			}
		}
	}
	report, err := Serve(config(), jobs, func() {})
	fmt.Println(report.Finished, report.Lost, report.WrongRows, err)
	// Output: 10 0 0 <nil>
}

func TestAClientGetsItsTokensAndEachRowOnce(t *testing.T) {
	c := config()
	c.Drafts, c.ChunkTokens = 2, 9
	var all []Delivery
	job := Job{ID: "a", Prompt: tokens(0, 21), Output: 9, Tokens: tokens(500, 9), PromptStart: 6}
	job.Deliver = func(d Delivery) {
		d.Rows = append([]byte(nil), d.Rows...)
		all = append(all, d)
	}
	s := Scenario{Config: c, Jobs: []Job{job}}
	_, err := s.Run()
	require.NoError(t, err)
	var got []uint32
	at := 6
	for i, d := range all {
		require.NoError(t, d.Err)
		require.Equal(t, i == len(all)-1, d.Done)
		require.Equal(t, at, d.Start)
		got = append(got, d.Tokens...)
		at += len(d.Rows) / c.Profile.RowBytes()
	}
	require.Equal(t, tokens(500, 9), got)
	require.Equal(t, 21+9-1, at)
}

func TestAClientLearnsWhyItsJobFailed(t *testing.T) {
	c := config()
	outcomes := map[string]error{}
	deliver := func(id string) func(Delivery) {
		return func(d Delivery) {
			if d.Done {
				outcomes[id] = d.Err
			}
		}
	}
	s := Scenario{Config: c, Jobs: []Job{
		{ID: "huge", Prompt: tokens(0, 1000), Output: 1, Deliver: deliver("huge")},
		{ID: "aborted", Prompt: tokens(0, 10), Output: 2, Stop: ByAbort, Deliver: deliver("aborted")},
		{ID: "fine", Prompt: tokens(0, 10), Output: 2, Deliver: deliver("fine")},
	}}
	_, err := s.Run()
	require.NoError(t, err)
	require.ErrorIs(t, outcomes["huge"], auxerrors.ErrCannotFit)
	require.ErrorIs(t, outcomes["aborted"], ErrAborted)
	require.NoError(t, outcomes["fine"])
	require.Len(t, outcomes, 3)
}

// TestCounterexamplesThatWereFoundStayClosed replays what the search has found
// once.
func TestCounterexamplesThatWereFoundStayClosed(t *testing.T) {
	files, err := filepath.Glob("testdata/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			scenario, err := ParseScenario(data)
			require.NoError(t, err)
			for _, mode := range defaultModes {
				scenario.Config.Mode = mode
				_, err = scenario.Run()
				require.NoError(t, err, "%v: %s", mode, scenario.Note)
			}
		})
	}
}
