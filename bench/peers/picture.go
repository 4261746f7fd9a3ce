package main

import (
	"fmt"
	"html/template"
	"io"

	"github.com/auxoutput/auxoutput/bench/throughput"
)

// Sizes of the picture, in pixels.
const (
	marginX    = 16
	nameWidth  = 100
	panelWidth = 210
	barsWidth  = 150
	barHeight  = 16
	titleRoom  = 76
)

// picture draws bars: for each setup a row of panels, in each panel a bar for each
// peer.
func (r report) picture(w io.Writer) error {
	d := drawing{Machine: r.Machine, Width: marginX*2 + nameWidth + len(panels)*panelWidth}
	y := 40
	for _, m := range r.Matches {
		d.Rows = append(d.Rows, newPanelRow(m.Summary, y))
		y += titleRoom + len(m.Summary.Lines)*barHeight
	}
	d.Height = y
	return svg.Execute(w, d)
}

// panels are what is drawn of a peer, all of it shares: of the limit or of the
// budget.
var panels = []struct {
	title string
	value func(throughput.Summary, throughput.Line) float64
}{
	{"put with eviction / limit", ratioOf(throughput.PhaseSteady)},
	{"read of 256 blocks / limit", ratioOf(throughput.PhaseRead(256))},
	{"two readers / limit", ratioOf(throughput.PhasePair)},
	{"writer beside reader / limit", ratioOf(throughput.PhaseWriter)},
	{"resident peak / budget", func(s throughput.Summary, l throughput.Line) float64 {
		if l.Memory == nil {
			return 0
		}
		return float64(l.Memory.ResidentPeak) / float64(s.Setup.BudgetBytes)
	}},
}

func ratioOf(phase string) func(throughput.Summary, throughput.Line) float64 {
	return func(s throughput.Summary, l throughput.Line) float64 { return s.Cell(l, phase).Ratio }
}

type drawing struct {
	Machine       string
	Width, Height int
	Rows          []panelRow
}

type panelRow struct {
	Title       string
	Y           int
	Labels      []label
	Bars        []bar
	Top, Bottom int
	Ones        []int // where the value is 1, in each panel
}

type label struct {
	X, Y int
	Text string
}

type bar struct {
	X, Y, Width, TextX, TextY int
	Colour, Text              string
}

func newPanelRow(s throughput.Summary, y int) panelRow {
	top := y + 44
	row := panelRow{
		Title: fmt.Sprintf("%s, blocks of %d bytes, medians of %d rounds",
			throughput.FormatBytes(s.Setup.BudgetBytes), s.Setup.BlockBytes, s.Rounds),
		Y: y + 16, Top: top, Bottom: top + len(s.Lines)*barHeight,
	}
	for i, line := range s.Lines {
		row.Labels = append(row.Labels, label{marginX, top + i*barHeight + 12, line.Name})
	}
	for p, panel := range panels {
		left := marginX + nameWidth + p*panelWidth
		row.Labels = append(row.Labels, label{left, y + 36, panel.title})
		full := 1.0
		for _, line := range s.Lines {
			full = max(full, panel.value(s, line))
		}
		row.Ones = append(row.Ones, left+int(barsWidth/full))
		for i, line := range s.Lines {
			value := panel.value(s, line)
			width := int(value / full * barsWidth)
			b := bar{
				X: left, Y: top + i*barHeight + 2, Width: width, TextX: left + width + 4, TextY: top + i*barHeight + 12,
				Colour: "#9aa7b5", Text: fmt.Sprintf("%.2f", value),
			}
			if line.Name == throughput.StoreName {
				b.Colour = "#1f6feb"
			}
			if value == 0 {
				b.Text = "-"
			}
			row.Bars = append(row.Bars, b)
		}
	}
	return row
}

var svg = template.Must(template.New("picture").Parse(
	`<svg xmlns="http://www.w3.org/2000/svg" width="{{.Width}}" height="{{.Height}}" font-family="sans-serif" font-size="12" fill="#222">
<rect width="100%" height="100%" fill="#fff"/>
<text x="16" y="24" font-size="11" fill="#666">{{.Machine}}</text>
{{- range .Rows}}
<text x="16" y="{{.Y}}" font-size="14" font-weight="bold">{{.Title}}</text>
{{- range .Labels}}
<text x="{{.X}}" y="{{.Y}}">{{.Text}}</text>
{{- end}}
{{- range .Bars}}
<rect x="{{.X}}" y="{{.Y}}" width="{{.Width}}" height="12" fill="{{.Colour}}"/>
<text x="{{.TextX}}" y="{{.TextY}}" font-size="10">{{.Text}}</text>
{{- end}}
{{- $row := .}}
{{- range .Ones}}
<line x1="{{.}}" x2="{{.}}" y1="{{$row.Top}}" y2="{{$row.Bottom}}" stroke="#d1242f" stroke-dasharray="3 2"/>
{{- end}}
{{- end}}
</svg>
`))
