package scale

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// WriteText prints the report.
func (r Report) WriteText(w io.Writer) error {
	fmt.Fprintf(w, "%s\n\nnanoseconds for each block, in stores of blocks of %d bytes\n\n", r.Machine, r.BlockBytes)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(table, "blocks\t")
	for _, size := range r.Sizes {
		fmt.Fprintf(table, "%d\t", size.Slots)
	}
	fmt.Fprint(table, "growth\t\n")
	for _, cost := range r.Costs {
		fmt.Fprintf(table, "%s\t", cost.Operation)
		for _, ns := range cost.Nanoseconds {
			fmt.Fprintf(table, "%.0f\t", ns)
		}
		fmt.Fprintf(table, "%.2f\t\n", cost.Growth())
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w)
	for _, size := range r.Sizes {
		fmt.Fprintf(w, "%d blocks: book-keeping %.0f bytes a slot, filled in %.1f s\n",
			size.Slots, size.MetadataBytes, size.FillSeconds)
	}
	fmt.Fprintf(w, "\n%d slots shared, chains of %d blocks, a put to %d reads\n\n", crowdSlots, crowdChain, putEvery-1)
	table = tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(table, "goroutines\tGB/s together\treads that missed\t\n")
	for _, crowd := range r.Crowds {
		fmt.Fprintf(table, "%d\t%.2f\t%.2f %%\t\n", crowd.Goroutines, crowd.BytesASecond/1e9, 100*crowd.Missed)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	c := r.Collector
	fmt.Fprintf(w, `
garbage collection forced beside a store with %.1f GiB in it: %.2f ms, without it %.2f ms
the collector's goal: %.1f MiB, without the store %.1f MiB; heap objects that the store added: %d
`, float64(c.StoreBytes)/(1<<30), c.ForcedMS, c.ForcedEmptyMS, float64(c.GoalBytes)/(1<<20), float64(c.GoalEmpty)/(1<<20), c.HeapObjects)
	p := r.Paper
	if p.Refused != "" {
		_, err := fmt.Fprintf(w, "a budget of %.0f GiB was refused by this system: %s\n", float64(p.Budget)/(1<<30), p.Refused)
		return err
	}
	_, err := fmt.Fprintf(w, "a budget of %.0f GiB, %d slots: reserved in %.1f ms, %.1f MiB resident after %d puts, book-keeping %.1f GiB once it is full\n",
		float64(p.Budget)/(1<<30), p.Slots, p.StartMS, float64(p.ResidentBytes)/(1<<20), p.Puts, float64(p.MetadataBytes)/(1<<30))
	return err
}
