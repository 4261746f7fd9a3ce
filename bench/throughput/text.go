package throughput

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// retainedSpread is the best ratio of the puts beside retained slots by the worst, 0
// if there were none.
func (s Summary) retainedSpread(line Line) float64 {
	var low, high float64
	for _, share := range s.Setup.Retained {
		ratio := s.Cell(line, PhaseRetained(share)).Ratio
		if low == 0 || ratio < low {
			low = ratio
		}
		high = max(high, ratio)
	}
	if low == 0 {
		return 0
	}
	return high / low
}

// WriteText prints one contestant beside the limit, a phase a line.
func (s Summary) WriteText(w io.Writer, name string) error {
	line, found := s.Line(name)
	limit, limited := s.Line(LimitName)
	if !found || !limited {
		return fmt.Errorf("no figures of %q and of the limit", name)
	}
	fmt.Fprintf(w, "budget %s, blocks of %d bytes (%d slots), %d rounds\n\n",
		FormatBytes(s.Setup.BudgetBytes), s.Setup.BlockBytes, s.Setup.Slots(), s.Rounds)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(table, "phase\t%s\tbare copy\tratio\tworst\tbest\t\n", name)
	for i, phase := range s.Phases {
		if phase == PhaseMix {
			continue
		}
		own, bare := line.Cells[i], limit.Cells[i]
		if own.Ratio == 0 {
			fmt.Fprintf(table, "%s\t-\t-\t-\t-\t-\t\n", phase)
			continue
		}
		fmt.Fprintf(table, "%s\t%.2f GB/s\t%.2f GB/s\t%.2f\t%.2f\t%.2f\t\n",
			phase, own.Rate/1e9, bare.Rate/1e9, own.Ratio, own.RatioLow, own.RatioHigh)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if spread := s.retainedSpread(line); spread > 0 {
		fmt.Fprintf(w, "\nputs with more and fewer slots retained: within a factor of %.2f of each other, as shares of a bare copy\n", spread)
	}
	_, err := fmt.Fprintf(w, `
mix of reads by Zipf and puts: %.1f thousand operations/s, %.1f %% of the chains found whole
heap objects: %.0f a put of %d blocks, %.0f a read of %d; book-keeping: %.0f bytes a slot
`, s.Cell(line, PhaseMix).Rate/1e3, 100*line.MixHits,
		line.AllocsPut, batchBlocks, line.AllocsRead, pairedHashes, line.MetadataBytes)
	return err
}
