package throughput

import "slices"

// Summary is what rounds of the same work come to.
type Summary struct {
	Setup  Setup    `json:"setup"`
	Rounds int      `json:"rounds"` // runs of each contestant; the limit may have more
	Phases []string `json:"phases"`
	Lines  []Line   `json:"lines"`
}

// Line is one contestant.
type Line struct {
	Name          string  `json:"name"`
	Cells         []Cell  `json:"cells"`    // one for each phase
	Resident      float64 `json:"resident"` // share of the newest blocks, half a budget, that were there
	MixHits       float64 `json:"mix_hits"` // share of the mix's reads that found their whole chain, -1 without a mix
	AllocsPut     float64 `json:"allocs_put"`
	AllocsRead    float64 `json:"allocs_read"`
	MetadataBytes float64 `json:"metadata_bytes,omitempty"`
	Memory        *Memory `json:"memory,omitempty"` // each figure the median of its own
}

// Cell is one contestant in one phase: medians over the runs.
type Cell struct {
	// Rate is in bytes a second, for the mix in operations a second; 0 where there
	// was nothing to measure in most of the runs.
	Rate     float64 `json:"rate"`
	RateLow  float64 `json:"rate_low"`
	RateHigh float64 `json:"rate_high"`

	// Ratio is the rate as a share of the limit's beside it, 0 where there
	// is none.
	Ratio     float64 `json:"ratio"`
	RatioLow  float64 `json:"ratio_low"`
	RatioHigh float64 `json:"ratio_high"`

	// Missed is the share of reads that missed a block and were left out.
	Missed float64 `json:"missed"`
}

// Cell is the line's cell of a phase.
func (s Summary) Cell(line Line, phase string) Cell {
	if i := slices.Index(s.Phases, phase); i >= 0 {
		return line.Cells[i]
	}
	return Cell{}
}

// Line finds a contestant.
func (s Summary) Line(name string) (Line, bool) {
	i := slices.IndexFunc(s.Lines, func(l Line) bool { return l.Name == name })
	if i < 0 {
		return Line{}, false
	}
	return s.Lines[i], true
}

// phasesOf are the timed phases of a setup.
func phasesOf(setup Setup) []string {
	phases := []string{PhaseCold, PhaseEvict, PhaseSteady}
	for _, share := range setup.Retained {
		phases = append(phases, PhaseRetained(share))
	}
	for _, n := range ReadCounts {
		phases = append(phases, PhaseRead(n))
	}
	return append(phases, PhasePair, PhaseReader, PhaseWriter, PhaseMix)
}

// Summarise takes the results of any number of calls of [Measure] with the same
// setup and relates each run to that of the limit in the same call.
func Summarise(setup Setup, bouts [][]Run) Summary {
	s := Summary{Setup: setup, Phases: phasesOf(setup)}
	runs, limits := map[string][]Run{}, map[string][]Run{}
	var names []string
	for _, bout := range bouts {
		var limit Run
		if at := slices.IndexFunc(bout, func(run Run) bool { return run.Name == LimitName }); at >= 0 {
			limit = bout[at]
		}
		for _, run := range bout {
			if runs[run.Name] == nil {
				names = append(names, run.Name)
			}
			runs[run.Name] = append(runs[run.Name], run)
			limits[run.Name] = append(limits[run.Name], limit)
		}
	}
	for _, name := range names {
		s.Lines = append(s.Lines, s.line(name, runs[name], limits[name]))
		s.Rounds = len(runs[name])
	}
	return s
}

func (s Summary) line(name string, runs, limits []Run) Line {
	line := Line{
		Name:          name,
		Resident:      medianOf(runs, func(r Run) float64 { return r.Sample(PhaseProbe).HitShare() }),
		MixHits:       medianOf(runs, func(r Run) float64 { return r.Sample(PhaseMix).HitShare() }),
		AllocsPut:     medianOf(runs, func(r Run) float64 { return r.AllocsPut }),
		AllocsRead:    medianOf(runs, func(r Run) float64 { return r.AllocsRead }),
		MetadataBytes: medianOf(runs, func(r Run) float64 { return r.MetadataBytes }),
		Memory:        medianMemory(runs),
	}
	for _, phase := range s.Phases {
		line.Cells = append(line.Cells, cellOf(phase, runs, limits))
	}
	return line
}

func cellOf(phase string, runs, limits []Run) Cell {
	var rates, ratios, missed []float64
	for i := range runs {
		sample := runs[i].Sample(phase)
		if share := sample.HitShare(); share >= 0 {
			missed = append(missed, 1-share)
		}
		rate := sample.Rate()
		if rate == 0 {
			continue
		}
		rates = append(rates, rate)
		if limit := limits[i].Sample(phase).Rate(); limit > 0 {
			ratios = append(ratios, rate/limit)
		}
	}
	cell := Cell{Missed: median(missed)}
	if 2*len(rates) < len(runs) {
		return cell // what a few runs could do says nothing of the others
	}
	cell.RateLow, cell.Rate, cell.RateHigh = spread(rates)
	cell.RatioLow, cell.Ratio, cell.RatioHigh = spread(ratios)
	return cell
}

func medianMemory(runs []Run) *Memory {
	for _, run := range runs {
		if run.Memory == nil {
			return nil
		}
	}
	of := func(value func(*Memory) float64) float64 {
		return medianOf(runs, func(r Run) float64 { return value(r.Memory) })
	}
	return &Memory{
		HeapBytes:    int64(of(func(m *Memory) float64 { return float64(m.HeapBytes) })),
		HeapObjects:  int64(of(func(m *Memory) float64 { return float64(m.HeapObjects) })),
		Mallocs:      int64(of(func(m *Memory) float64 { return float64(m.Mallocs) })),
		Collections:  int64(of(func(m *Memory) float64 { return float64(m.Collections) })),
		MaxPauseMS:   of(func(m *Memory) float64 { return m.MaxPauseMS }),
		GCCPUShare:   of(func(m *Memory) float64 { return m.GCCPUShare }),
		ForcedGCMS:   of(func(m *Memory) float64 { return m.ForcedGCMS }),
		ResidentPeak: int64(of(func(m *Memory) float64 { return float64(m.ResidentPeak) })),
	}
}

func medianOf(runs []Run, value func(Run) float64) float64 {
	var values []float64
	for _, run := range runs {
		values = append(values, value(run))
	}
	return median(values)
}

func median(values []float64) float64 {
	_, m, _ := spread(values)
	return m
}

// spread is the least, the median and the greatest of values, zeros without any.
func spread(values []float64) (low, middle, high float64) {
	n := len(values)
	if n == 0 {
		return 0, 0, 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[0], (sorted[(n-1)/2] + sorted[n/2]) / 2, sorted[n-1]
}
