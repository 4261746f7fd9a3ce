package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/auxoutput/auxoutput/bench/throughput"
)

// markdown writes two tables for each setup: speed and memory.
func (r report) markdown(w io.Writer) {
	fmt.Fprintf(w, "%s\n", r.Machine)
	for _, m := range r.Matches {
		s := m.Summary
		fmt.Fprintf(w, "\n### %s, blocks of %d bytes (%d slots), medians of %d rounds\n\n",
			throughput.FormatBytes(s.Setup.BudgetBytes), s.Setup.BlockBytes, s.Setup.Slots(), s.Rounds)
		speed(w, s)
		fmt.Fprintln(w)
		memory(w, s)
	}
}

// speed is the table of ratios to the limit, which has its rates in two lines.
func speed(w io.Writer, s throughput.Summary) {
	header := []string{"peer"}
	for _, phase := range s.Phases {
		if phase != throughput.PhaseMix {
			header = append(header, phase)
		}
	}
	head(w, append(header, "mix kops/s", "mix hits", "resident"))
	for _, line := range s.Lines {
		bare := line.Name == throughput.LimitName
		cells := []string{line.Name}
		if bare {
			cells[0] += ", GB/s"
		}
		span := []string{"its spread"}
		for i, phase := range s.Phases {
			cell := line.Cells[i]
			switch {
			case phase == throughput.PhaseMix:
			case bare:
				cells = append(cells, fmt.Sprintf("%.1f", cell.Rate/1e9))
				span = append(span, fmt.Sprintf("%.1f-%.1f", cell.RateLow/1e9, cell.RateHigh/1e9))
			default:
				cells = append(cells, ratio(cell))
			}
		}
		if line.MixHits < 0 {
			cells = append(cells, "-", "-")
		} else {
			cells = append(cells, fmt.Sprintf("%.1f", s.Cell(line, throughput.PhaseMix).Rate/1e3), fmt.Sprintf("%.2f", line.MixHits))
		}
		row(w, append(cells, fmt.Sprintf("%.0f %%", 100*line.Resident)))
		if bare {
			row(w, append(span, "-", "-", "-"))
		}
	}
}

// ratio is a share of the limit, marked if reads missed blocks and were left out.
// It says nothing if most of them were, or if
// no turn of a phase was without a miss.
func ratio(c throughput.Cell) string {
	switch {
	case c.Missed > 0.5, c.Ratio == 0 && c.Missed > 0:
		return fmt.Sprintf("- (%.0f %% missed)", 100*c.Missed)
	case c.Ratio == 0:
		return "-"
	case c.Missed > 0.005:
		return fmt.Sprintf("%.2f (%.0f %% missed)", c.Ratio, 100*c.Missed)
	}
	return fmt.Sprintf("%.2f", c.Ratio)
}

// memory is the table of what the caches did to their processes.
func memory(w io.Writer, s throughput.Summary) {
	head(w, []string{"peer", "resident peak / budget", "heap MiB", "heap objects", "mallocs", "collections", "forced GC ms", "max pause ms", "GC CPU"})
	for _, line := range s.Lines {
		m := line.Memory
		if m == nil {
			continue
		}
		peak := "-"
		if m.ResidentPeak > 0 {
			peak = fmt.Sprintf("%.3f", float64(m.ResidentPeak)/float64(s.Setup.BudgetBytes))
		}
		row(w, []string{
			line.Name, peak,
			fmt.Sprintf("%.1f", float64(m.HeapBytes)/(1<<20)), count(m.HeapObjects), count(m.Mallocs),
			fmt.Sprint(m.Collections), fmt.Sprintf("%.1f", m.ForcedGCMS), fmt.Sprintf("%.2f", m.MaxPauseMS),
			fmt.Sprintf("%.1f %%", 100*m.GCCPUShare),
		})
	}
}

// count writes a number of things in thousands where it is large.
func count(n int64) string {
	if n >= 10_000 {
		return fmt.Sprintf("%dk", n/1000)
	}
	return fmt.Sprint(n)
}

func head(w io.Writer, cells []string) {
	row(w, cells)
	fmt.Fprintf(w, "| --- |%s\n", strings.Repeat(" ---: |", len(cells)-1))
}

func row(w io.Writer, cells []string) {
	fmt.Fprintf(w, "| %s |\n", strings.Join(cells, " | "))
}
