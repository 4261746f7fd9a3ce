package throughput

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/blockhash"
	"github.com/auxoutput/auxoutput/store"
)

// tiny is work that takes milliseconds.
var tiny = Setup{BudgetBytes: 4096 * 64, BlockBytes: 64, SourceBytes: 1 << 20, Retained: []int{0, 50, 99}, Allocations: true}

func TestEveryPhaseIsMeasured(t *testing.T) {
	runs, err := Measure(t.Context(), tiny, Own()...)
	require.NoError(t, err)
	require.Len(t, runs, 3)
	for _, run := range runs {
		for _, phase := range phasesOf(tiny) {
			if phase == PhaseMix && run.Name != StoreName {
				require.Zero(t, run.Sample(phase).Rate(), "%s has no notion of absent blocks", run.Name)
				continue
			}
			require.Positive(t, run.Sample(phase).Rate(), "%s: %s", run.Name, phase)
		}
		require.Equal(t, 1.0, run.Sample(PhaseProbe).HitShare(), run.Name)
		require.Zero(t, run.Sample(PhaseRead(2048)).Missed, run.Name)
	}
	own := runs[2]
	require.Positive(t, own.MetadataBytes)
	require.Greater(t, own.Sample(PhaseMix).HitShare(), 0.3)
	require.Less(t, own.Sample(PhaseMix).HitShare(), 1.0)
	require.NotNil(t, own.Memory, "only limits stand beside it")
	require.Nil(t, runs[0].Memory)
	require.Less(t, own.Memory.HeapBytes, int64(8<<20))
}

func TestTheStoreMakesNoHeapObjects(t *testing.T) {
	if raceDetector {
		t.Skip("LOUD: pools drop what they hold at random under the race detector")
	}
	runs, err := Measure(t.Context(), tiny, Contestant{Name: StoreName, Make: newStore})
	require.NoError(t, err)
	require.Zero(t, runs[0].AllocsPut)
	require.Zero(t, runs[0].AllocsRead)
}

// spoilt is the store with a fault.
type spoilt struct {
	Cache
	read func(dst []byte, hashes []blockhash.Hash, found int) (int, error)
	put  func([]store.Block) []store.Block
}

func (s spoilt) Put(blocks []store.Block) error {
	if s.put != nil {
		blocks = s.put(blocks)
	}
	return s.Cache.Put(blocks)
}

func (s spoilt) Get(dst []byte, hashes []blockhash.Hash) (int, error) {
	found, err := s.Cache.Get(dst, hashes)
	if s.read != nil && err == nil {
		return s.read(dst, hashes, found)
	}
	return found, err
}

func measureSpoilt(t *testing.T, s spoilt) ([]Run, error) {
	t.Helper()
	setup := tiny
	setup.Retained, setup.Allocations = nil, false
	return Measure(t.Context(), setup, Contestant{Name: "spoilt", Make: func(setup Setup) (Cache, error) {
		var err error
		s.Cache, err = newStore(setup)
		return s, err
	}})
}

func TestFaultsAreNoticed(t *testing.T) {
	for name, tc := range map[string]struct {
		fault spoilt
		want  string
	}{
		"a flipped bit at the end": {spoilt{read: func(dst []byte, _ []blockhash.Hash, found int) (int, error) {
			dst[len(dst)-1] ^= 1
			return found, nil
		}}, "wrong rows"},
		"nothing copied": {spoilt{read: func(dst []byte, hashes []blockhash.Hash, found int) (int, error) {
			clear(dst)
			return found, nil
		}}, "wrong rows"},
		"claimed but never stored": {spoilt{put: func([]store.Block) []store.Block { return nil }, read: func(_ []byte, hashes []blockhash.Hash, _ int) (int, error) {
			return len(hashes), nil
		}}, "wrong rows"},
		"two blocks mixed up": {spoilt{put: func(blocks []store.Block) []store.Block {
			blocks[0].Rows, blocks[1].Rows = blocks[1].Rows, blocks[0].Rows
			return blocks
		}}, "wrong rows"},
		"an error": {spoilt{read: func([]byte, []blockhash.Hash, int) (int, error) { return 0, errors.New("out of order") }}, "out of order"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := measureSpoilt(t, tc.fault)
			require.ErrorContains(t, err, tc.want)
			require.ErrorContains(t, err, "spoilt")
		})
	}
}

// What a cache refuses or loses is a miss, and not timed as if it were a hit.
func TestLostBlocksAreMisses(t *testing.T) {
	runs, err := measureSpoilt(t, spoilt{put: func(blocks []store.Block) []store.Block { return blocks[:len(blocks)/4] }})
	require.NoError(t, err)
	require.InDelta(t, 0.25, runs[0].Sample(PhaseProbe).HitShare(), 0.01)
	require.Zero(t, runs[0].Sample(PhaseRead(64)).Rate(), "too few blocks for a comparison")
	require.Zero(t, runs[0].Sample(PhaseMix).HitShare(), "no chain is whole")

	calls := 0
	runs, err = measureSpoilt(t, spoilt{read: func(_ []byte, hashes []blockhash.Hash, found int) (int, error) {
		if len(hashes) != 64 {
			return found, nil
		}
		if calls++; calls%2 == 0 {
			return 0, nil
		}
		return found, nil
	}})
	require.NoError(t, err)
	read := runs[0].Sample(PhaseRead(64))
	require.Equal(t, read.Reads, read.Ops+read.Missed)
	require.InDelta(t, 0.5, read.HitShare(), 0.01)
	require.Equal(t, int64(read.Ops*64*64), read.Bytes)
}

func TestWorkThatCannotBeMeasured(t *testing.T) {
	for name, change := range map[string]func(*Setup){
		"a block without room for a stamp": func(s *Setup) { s.BlockBytes = 8 },
		"a budget of a few blocks":         func(s *Setup) { s.BudgetBytes = 640 },
		"a source of a few blocks":         func(s *Setup) { s.SourceBytes = 640 },
		"everything retained":              func(s *Setup) { s.Retained = []int{100} },
		"falling shares":                   func(s *Setup) { s.Retained = []int{50, 0} },
		"a budget beyond the platform":     func(s *Setup) { s.BudgetBytes = 1 << 62 },
	} {
		t.Run(name, func(t *testing.T) {
			setup := tiny
			change(&setup)
			_, err := Measure(t.Context(), setup, Own()...)
			require.Error(t, err)
		})
	}
	_, err := Measure(t.Context(), tiny)
	require.ErrorContains(t, err, "no contestants")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = Measure(ctx, tiny, Own()...)
	require.ErrorIs(t, err, context.Canceled)
}

func TestSizes(t *testing.T) {
	for text, want := range map[string]int64{"1GiB": 1 << 30, "256MiB": 256 << 20, "6KiB": 6144, " 6144 ": 6144, "58 KiB": 59392} {
		got, err := ParseBytes(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
		again, err := ParseBytes(FormatBytes(got))
		require.NoError(t, err)
		require.Equal(t, want, again)
	}
	for _, text := range []string{"", "0", "-1", "GiB", "1 TB", "9999999999GiB", "1.5GiB"} {
		_, err := ParseBytes(text)
		require.Error(t, err, text)
	}
	setups, err := ParseSetups("1MiB,2MiB", "64,128", "1MiB")
	require.NoError(t, err)
	require.Len(t, setups, 4)
	require.Equal(t, Setup{BudgetBytes: 1 << 20, BlockBytes: 128, SourceBytes: 1 << 20}, setups[1])
}

func TestSummaryIsOfMediansBesideTheLimit(t *testing.T) {
	bout := func(limit, own float64) []Run {
		sample := func(rate float64) []Sample {
			return []Sample{{Phase: PhaseCold, Bytes: int64(rate * 1e9), Seconds: 1, Ops: 1}}
		}
		return []Run{{Name: LimitName, Samples: sample(limit)}, {Name: StoreName, Samples: sample(own), Memory: &Memory{HeapBytes: int64(own)}}}
	}
	s := Summarise(tiny, [][]Run{bout(10, 9), bout(2, 1), bout(4, 3)})
	require.Equal(t, 3, s.Rounds)
	own, found := s.Line(StoreName)
	require.True(t, found)
	cell := s.Cell(own, PhaseCold)
	require.Equal(t, Cell{Rate: 3e9, RateLow: 1e9, RateHigh: 9e9, Ratio: 0.75, RatioLow: 0.5, RatioHigh: 0.9}, cell)
	require.Equal(t, int64(3), own.Memory.HeapBytes)
	require.Zero(t, s.Cell(own, PhasePair).Ratio)

	var text strings.Builder
	require.NoError(t, s.WriteText(&text, StoreName))
	require.Regexp(t, `put cold +3\.00 GB/s +4\.00 GB/s +0\.75 +0\.50 +0\.90`, text.String())
	require.Regexp(t, `two readers +- +- +- +- +-`, text.String())
	require.Error(t, s.WriteText(&text, "somebody else"))

	encoded, err := json.Marshal(s)
	require.NoError(t, err)
	var decoded Summary
	require.NoError(t, json.Unmarshal(encoded, &decoded))
	require.Equal(t, s, decoded)
	require.Empty(t, Summarise(tiny, nil).Lines)
}

func TestAnEvenNumberOfRoundsHasAMedian(t *testing.T) {
	require.Equal(t, 2.5, median([]float64{4, 1, 3, 2}))
	require.Zero(t, median(nil))
}
