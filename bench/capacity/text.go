package capacity

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

// WriteText writes the report for people; name is the trace's. The error is the
// writer's.
func (r *Report) WriteText(w io.Writer, name string) error {
	var b strings.Builder
	r.header(&b, name)
	r.curve(&b)
	if r.Beside != nil {
		r.beside(&b)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *Report) header(b *strings.Builder, name string) {
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "trace\t%s (%s)\n", name, r.Format)
	fmt.Fprintf(t, "requests\t%d", r.Requests)
	if r.Sessions > 0 {
		fmt.Fprintf(t, " in %d sessions", r.Sessions)
	}
	fmt.Fprintf(t, "\ntokens\t%d in, %d out", r.InputTokens, r.OutputTokens)
	if r.OutputsUnknown > 0 {
		fmt.Fprintf(t, " (not told by %d requests)", r.OutputsUnknown)
	}
	if r.ArrivalsAssumed > 0 {
		fmt.Fprintf(t, "\narrivals\tnot told by %d requests: taken in the order of the file", r.ArrivalsAssumed)
	}
	fmt.Fprintln(t)
	fmt.Fprintf(t, "block references\t%d\n", r.BlockReferences)
	fmt.Fprintf(t, "unique blocks\t%d\n", r.UniqueBlocks)
	switch {
	case r.InventedBlocks:
		fmt.Fprintf(t, "block tokens\t%d (assumed)\n", r.BlockTokens)
	case r.BlockTokens == 0:
		fmt.Fprintf(t, "block tokens\tnot told by the trace: state them with --block\n")
	default:
		fmt.Fprintf(t, "block tokens\t%d (%s)\n", r.BlockTokens, r.LastBlock)
	}
	if r.Profile != "" {
		fmt.Fprintf(t, "rows\t%s%s layers,top-k,experts: %d bytes a token, %d a block\n", prefixed(r.Model), r.Profile, r.RowBytes, r.BlockBytes)
		if r.KVBytes > 0 {
			fmt.Fprintf(t, "rows / KV cache\t%s of %d bytes a token (bf16)\n", percent(float64(r.RowBytes)/float64(r.KVBytes)), r.KVBytes)
		}
	}
	fmt.Fprintf(t, "infinite-cache hit\t%.4f\n", r.Ceiling)
	t.Flush() // a Builder takes everything
	if r.InventedBlocks {
		b.WriteString("\nThe trace has no block ids: blocks were invented that no two requests share,\n" +
			"so nothing can hit. Only lengths and arrivals mean something here.\n")
	}
}

func (r *Report) curve(b *strings.Builder) {
	b.WriteString("\n")
	rows := [][]string{{"capacity (blocks)", "tokens", "bytes", "hit ratio", "share of ceiling"}}
	for _, p := range r.Curve {
		rows = append(rows, append(r.units(p.Size), fmt.Sprintf("%.4f", p.HitRatio), percent(p.ShareOfCeiling)))
	}
	r.table(b, rows)
	if len(r.Targets) == 0 {
		return
	}
	b.WriteString("\n")
	rows = [][]string{{"smallest for (blocks)", "tokens", "bytes", "share of ceiling"}}
	for _, target := range r.Targets {
		rows = append(rows, append(r.units(target.Size), percent(target.Share)))
	}
	r.table(b, rows)
}

func (r *Report) beside(b *strings.Builder) {
	s := r.Beside
	touched := "hits touched"
	if !s.TouchOnHit {
		touched = "hits not touched"
	}
	fmt.Fprintf(b, "\nStore beside a KV cache of %s (store: %s, %s)\n", r.describe(s.KV, "blocks", "bytes of their rows"), s.Order, touched)
	fmt.Fprintf(b, "requests with a hit: %d of %d\n\n", s.Hits, r.Requests)
	rows := [][]string{{"slots", "tokens", "max_bytes", "fraction"}}
	var regimes []string
	for _, regime := range []Regime{FailClosed, Recompute} {
		if name := regime.String(); len(s.Stores) > 0 && hasRegime(s.Stores[0], name) {
			regimes = append(regimes, name)
			rows[0] = append(rows[0], "lost ("+name+")", "%")
		}
	}
	for _, store := range s.Stores {
		row := append(r.units(store.Size), fmt.Sprintf("%.4g", store.Fraction))
		for _, regime := range regimes {
			loss := store.Lost[regime]
			row = append(row, strconv.Itoa(loss.Requests), fmt.Sprintf("%.2f", 100*loss.Share))
		}
		rows = append(rows, row)
	}
	if len(s.Stores) > 0 {
		r.table(b, rows)
		b.WriteString("\n")
	}
	if s.Hits == 0 {
		b.WriteString("No request hits: a store of any size is safe.\n")
		return
	}
	fmt.Fprintf(b, "Smallest safe store (tail first, hits touched): %s\n", r.describe(s.Safe, "slots", "max_bytes"))
}

func hasRegime(store StoreReport, name string) bool {
	_, ok := store.Lost[name]
	return ok
}

// units are the first three columns of every table. A unit that is not known is
// an empty cell, and its column is left out.
func (r *Report) units(s Size) []string {
	cells := []string{strconv.Itoa(s.Blocks), "", ""}
	if r.BlockTokens > 0 {
		cells[1] = strconv.FormatInt(s.Tokens, 10)
	}
	if r.BlockBytes > 0 {
		cells[2] = strconv.FormatInt(s.Bytes, 10)
	}
	return cells
}

// describe is a size in a sentence.
func (r *Report) describe(s Size, blocks, bytes string) string {
	text := fmt.Sprintf("%d %s", s.Blocks, blocks)
	if r.BlockTokens > 0 {
		text += fmt.Sprintf(", %d tokens", s.Tokens)
	}
	if r.BlockBytes > 0 {
		text += fmt.Sprintf(", %s = %d", bytes, s.Bytes)
	}
	return text
}

// table writes rows with right-aligned columns; the first row is the heading.
func (r *Report) table(b *strings.Builder, rows [][]string) {
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, row := range rows {
		if r.BlockBytes == 0 {
			row = slices.Delete(row, 2, 3)
		}
		if r.BlockTokens == 0 {
			row = slices.Delete(row, 1, 2)
		}
		fmt.Fprintln(t, strings.Join(row, "\t")+"\t")
	}
	t.Flush() // a Builder takes everything
}

func percent(share float64) string { return fmt.Sprintf("%.2f %%", 100*share) }

func prefixed(model string) string {
	if model == "" {
		return ""
	}
	return model + ", "
}
