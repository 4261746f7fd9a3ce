package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAProfileIsReadInTheOrderOfTheSource(t *testing.T) {
	spans, err := parseProfile(strings.NewReader(`mode: set
example.org/m/p/b.go:7.2,9.16 3 0
example.org/m/p/a.go:12.20,14.3 1 1
example.org/m/p/a.go:3.1,3.9 2 0
mode: set
example.org/m/p/b.go:7.2,9.16 3 4
`))
	require.NoError(t, err)
	require.Equal(t, []span{
		{"example.org/m/p/a.go", 3, 1, 3, 9, 2, false},
		{"example.org/m/p/a.go", 12, 20, 14, 3, 1, true},
		{"example.org/m/p/b.go", 7, 2, 9, 16, 3, true}, // run by one of two binaries
	}, spans)
	none, err := parseProfile(strings.NewReader("mode: atomic\n"))
	require.NoError(t, err)
	require.Empty(t, none)
}

func TestALineThatIsNoBlockIsRefusedWithItsNumber(t *testing.T) {
	for name, line := range map[string]string{
		"nothing":                   "",
		"no file":                   ":1.2,3.4 5 6",
		"no place":                  "example.org/m/p/a.go",
		"too few numbers":           "example.org/m/p/a.go:1.2,3.4 5",
		"too many numbers":          "example.org/m/p/a.go:1.2,3.4 5 6 7",
		"a word":                    "example.org/m/p/a.go:1.2,3.4 five 6",
		"a negative number":         "example.org/m/p/a.go:1.2,3.4 5 -6",
		"a line before the first":   "example.org/m/p/a.go:0.2,3.4 5 6",
		"an end before the start":   "example.org/m/p/a.go:5.2,3.4 5 6",
		"more than an int can hold": "example.org/m/p/a.go:1.2,3.4 5 99999999999999999999",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parseProfile(strings.NewReader("mode: set\n" + line + "\n"))
			require.ErrorContains(t, err, "line 2")
		})
	}
	_, err := parseProfile(strings.NewReader(strings.Repeat("x", 1<<20)))
	require.Error(t, err, "a line without end")
}

const program = `package p

import "errors"

// T has methods.
type T[K any] struct{ k K }

var late = func() int {
	return 1
}

func plain() error {
	// Nothing here is true.
	if err := fail(); err != nil { // it fails
		return err
	}

	err := fail()
	if err != nil {
		return err
	}
	return nil
}

func (t T[K]) value() {}

func (t *T[K]) pointer() {
	_ = func() {
		t.value()
	}
}

func fail() error { return errors.New("") }
`

// module writes a module of one file and returns where it is.
func module(t *testing.T) *source {
	root := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(root, "p"), 0o777))
	require.NoError(t, os.WriteFile(filepath.Join(root, "p", "a.go"), []byte(program), 0o666))
	return newSource(root, "example.org/m")
}

func TestABlockKnowsItsFunctionAndWhatStandsThere(t *testing.T) {
	read := module(t)
	for _, tc := range []struct {
		line, end              int
		function, text, before string
	}{
		{8, 10, "package", "var late = func() int { return 1 }", "type T[K any] struct{ k K }"},
		{14, 16, "plain", "if err := fail(); err != nil { return err }", "func plain() error {"},
		{19, 21, "plain", "if err != nil { return err }", "err := fail()"},
		{25, 25, "T.value", "func (t T[K]) value() {}", "}"},
		{28, 30, "(*T).pointer", "_ = func() { t.value() }", "func (t *T[K]) pointer() {"},
	} {
		b, err := read.block(span{file: "example.org/m/p/a.go", line: tc.line, endLine: tc.end})
		require.NoError(t, err)
		require.Equal(t, "p/a.go", b.path)
		require.Equal(t, tc.function, b.function)
		require.Equal(t, tc.text, b.text)
		require.Equal(t, tc.before, b.before)
	}
}

func TestAProfileOfOtherSourceIsRefused(t *testing.T) {
	read := module(t)
	for name, at := range map[string]span{
		"another module":      {file: "example.org/other/p/a.go", line: 1, endLine: 1},
		"a file that is gone": {file: "example.org/m/p/gone.go", line: 1, endLine: 1},
		"a shorter file":      {file: "example.org/m/p/a.go", line: 1, endLine: 1000},
	} {
		_, err := read.block(at)
		require.Error(t, err, name)
	}
	_, err := parseFile("broken.go", []byte("package"))
	require.Error(t, err)
}

// gap is an uncovered block.
func gap(function, before, text string) block {
	return block{span: span{statements: 1, line: 7}, path: "p/a.go", function: function, before: before, text: text}
}

func ran(b block) block {
	b.covered = true
	return b
}

func TestEachUncoveredBlockNeedsAReasonAndEachReasonABlock(t *testing.T) {
	const check = "if err != nil { return err }"
	first, second := gap("f", "err := first()", check), gap("f", "err := second()", check)
	empty := gap("f", "", "case 7:")
	empty.statements = 0
	because := func(function, text string) reason {
		return reason{file: "p/a.go", function: function, text: text, why: "because"}
	}
	for _, tc := range []struct {
		name    string
		blocks  []block
		reasons []reason
		gaps    int
		fault   string // a piece of the only one, or nothing
	}{
		{"all is covered", []block{ran(first), ran(second)}, nil, 0, ""},
		{"a block without statements needs no reason", []block{empty}, nil, 0, ""},
		{"a piece of the block names it", []block{gap("f", "", "x = 1")}, []reason{because("f", "= 1")}, 1, ""},
		{"the line before tells blocks apart", []block{first, second}, []reason{because("f", "first()"), because("f", "second()")}, 2, ""},
		{"what stands in a block comes before what stands above one", []block{gap("f", "", "if stop { a() }"), gap("f", "if stop { a() }", "b()")}, []reason{because("f", "stop"), because("f", "b()")}, 2, ""},
		{"a block without a reason", []block{first}, nil, 1, "p/a.go:7: f: not covered"},
		{"a reason without a block", nil, []reason{because("f", "x")}, 0, "names no uncovered block"},
		{"a reason for what is covered by now", []block{ran(first)}, []reason{because("f", "first()")}, 0, "names no uncovered block"},
		{"a reason for another function", []block{ran(first)}, []reason{because("g", "first()")}, 0, "names no uncovered block"},
		{"a reason that says nothing", []block{first}, []reason{{file: "p/a.go", function: "f", text: "first()", why: " "}}, 1, "gives no reason"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			gaps, faults := explain(tc.blocks, tc.reasons)
			require.Len(t, gaps, tc.gaps)
			if tc.fault == "" {
				require.Empty(t, faults)
				return
			}
			require.Contains(t, faults[0], tc.fault)
		})
	}

	_, faults := explain([]block{first, second}, []reason{because("f", check)})
	require.Contains(t, faults[0], "names 2 blocks")
	require.Len(t, faults, 3, "neither of them has a reason")

	_, faults = explain([]block{first}, []reason{because("f", "first()"), because("f", "return err")})
	require.Len(t, faults, 1)
	require.Contains(t, faults[0], "has a reason already")
}

func TestWhatIsCoveredByLuckCountsAsUncovered(t *testing.T) {
	lucky := reason{file: "p/a.go", function: "f", text: "wait()", why: "timing", luck: true}
	for _, b := range []block{gap("f", "", "wait()"), ran(gap("f", "", "wait()"))} {
		blocks := []block{b}
		gaps, faults := explain(blocks, []reason{lucky})
		require.Empty(t, faults)
		require.Len(t, gaps, 1)
		require.Equal(t, "timing", gaps[0].why)
		require.Equal(t, []share{{"p", 0, 1}}, count([]target{{path: "p"}}, blocks))
	}
}

func TestAPackageBelowItsFloorIsAFault(t *testing.T) {
	var blocks []block
	for i := range 1000 {
		b := gap("f", "", "x")
		b.covered = i < 899
		blocks = append(blocks, b)
	}
	packages := []target{{path: "p", floor: 90}, {path: "p/sub", floor: 50}}
	shares := count(packages, blocks)
	require.Equal(t, []share{{"p", 899, 1000}, {"p/sub", 0, 0}}, shares)
	faults := judge(packages, shares)
	require.Len(t, faults, 2)
	require.Contains(t, faults[0], "p: 89.9 % of statements are covered, want at least 90 %")
	require.Contains(t, faults[1], "p/sub: the profile has no statement of it")

	blocks[899].covered = true
	require.Empty(t, judge(packages[:1], count(packages[:1], blocks)))
	require.InDelta(t, 99.9, share{statement: 10_000, covered: 9999}.percent(), 1e-9, "not quite all")
}

func TestThePageNamesNoLineNumbers(t *testing.T) {
	gaps := []explained{
		{gap("f", "n, err := a | b", "if err != nil { return err }"), "it | cannot"},
		{gap("g", "", "x := `raw`"), "either"},
		{gap("h", "", strings.Repeat("é", 500)), "long"},
	}
	var page1, page2, terminal strings.Builder
	page(&page1, []share{{"p", 9, 10}}, gaps)
	for i := range gaps {
		gaps[i].line += 100
	}
	page(&page2, []share{{"p", 9, 10}}, gaps)
	require.Equal(t, page1.String(), page2.String())
	require.Contains(t, page1.String(), "| [`p`](../p) | 10 | 9 | 90.0 % |\n")
	require.Contains(t, page1.String(), "| [`p/a.go`](../p/a.go) | `f` | `n, err := a \\| b; if err != nil { return err }` | it \\| cannot |\n")
	require.Contains(t, page1.String(), "`` x := `raw` ``")
	require.Contains(t, page1.String(), strings.Repeat("é", 160)+" ...`")

	var whole strings.Builder
	page(&whole, []share{{"p", 10, 10}}, nil)
	require.NotContains(t, whole.String(), "and why")

	show(&terminal, []share{{"p", 9, 10}}, gaps)
	require.Contains(t, terminal.String(), " 90.0 %     9 of   10 statements  p\n")
	require.Contains(t, terminal.String(), "p/a.go:107 f\n  n, err := a | b; if err != nil { return err }\n  -> it | cannot\n")
}

func TestEveryReasonIsForAPackageThatIsMeasured(t *testing.T) {
	measured := map[string]bool{}
	for _, p := range targets {
		measured[p.path] = true
	}
	for _, r := range reasons {
		require.True(t, measured[filepath.ToSlash(filepath.Dir(r.file))], r.file)
		require.NotEmpty(t, r.text)
		require.NotEmpty(t, r.why)
	}
}
