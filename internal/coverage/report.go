package main

import (
	"fmt"
	"io"
	"path"
	"strings"
)

// share is how much of a package its own tests run.
type share struct {
	path               string // of the package, from the root of the module
	covered, statement int
}

// percent is rounded down to a tenth, so that nothing uncovered looks like 100.
func (s share) percent() float64 {
	if s.statement == 0 {
		return 0
	}
	return float64(1000*s.covered/s.statement) / 10
}

// count sums blocks up by package, for the packages given and in their order.
func count(packages []target, blocks []block) []share {
	shares := make([]share, len(packages))
	for i, p := range packages {
		shares[i].path = p.path
		for _, b := range blocks {
			if path.Dir(b.path) != p.path {
				continue
			}
			shares[i].statement += b.statements
			if b.covered {
				shares[i].covered += b.statements
			}
		}
	}
	return shares
}

// judge finds packages below their floor.
func judge(packages []target, shares []share) (faults []string) {
	for i, s := range shares {
		switch {
		case s.statement == 0:
			faults = append(faults, s.path+": the profile has no statement of it")
		case s.percent() < packages[i].floor:
			faults = append(faults, fmt.Sprintf("%s: %.1f %% of statements are covered, want at least %.0f %%", s.path, s.percent(), packages[i].floor))
		}
	}
	return faults
}

// show writes the result for a terminal, with the numbers of the lines.
func show(w io.Writer, shares []share, gaps []explained) {
	for _, s := range shares {
		fmt.Fprintf(w, "%5.1f %%  %4d of %4d statements  %s\n", s.percent(), s.covered, s.statement, s.path)
	}
	for _, g := range gaps {
		fmt.Fprintf(w, "\n%s:%d %s\n  %s\n", g.path, g.line, g.function, g.quoted())
		if g.why != "" {
			fmt.Fprintf(w, "  -> %s\n", g.why)
		}
	}
}

// page writes the same for readers, without the numbers: they change with every edit.
func page(w io.Writer, shares []share, gaps []explained) {
	fmt.Fprint(w, `# What the tests cover

Written by `+"`go run ./internal/coverage`"+`: do not edit it. Each package is measured by its own tests alone,
with a fixed seed of the property tests, on linux/amd64. What is covered in some runs only, as it hangs on timing, counts as
not covered. Run it again after a change: it fails if a package falls below its floor, if a line that is not covered has
no reason, or if a reason has no line.

| package | statements | covered | |
| --- | ---: | ---: | ---: |
`)
	for _, s := range shares {
		fmt.Fprintf(w, "| [`%s`](../%s) | %d | %d | %.1f %% |\n", s.path, s.path, s.statement, s.covered, s.percent())
	}
	if len(gaps) == 0 {
		return
	}
	fmt.Fprint(w, "\n## Statements that are not covered, and why\n\n| file | function | statements | why not |\n| --- | --- | --- | --- |\n")
	for _, g := range gaps {
		fmt.Fprintf(w, "| [`%s`](../%s) | `%s` | %s | %s |\n", g.path, g.path, g.function, code(g.quoted()), cell(g.why))
	}
}

// quoted is the block, behind what it checks if it only says that there was an error.
func (b block) quoted() string {
	if strings.HasPrefix(b.text, "if err != nil") && strings.Contains(b.before, "err") {
		return b.before + "; " + b.text
	}
	return b.text
}

// code quotes source in a cell of a table.
func code(text string) string {
	const most = 160
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most]) + " ..."
	}
	ticks := "`"
	for strings.Contains(text, ticks) {
		ticks += "`"
	}
	if len(ticks) > 1 {
		text = " " + text + " "
	}
	return ticks + cell(text) + ticks
}

// cell makes text fit into a table.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }
