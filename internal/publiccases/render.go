package main

import (
	"fmt"
	"net/url"
	"path"
	"strings"
)

const head = `# Public cases

What people were bitten by in public projects that return or store routing rows, or that keep caches by block hash, and what
this library does about it. Each is tested as a kind of bug and not as the one instance, with the numbers of the report where
it has any, and with rows that differ by token, layer and slot, so that a shift by one of any of them is seen. The numbers of
the cases have gaps.

The tests of a case run with its number:

` + "```console\n$ go test ./... -run 'PublicCase_PC_001'\n```" + `

The names below lack the TestPublicCase_PC_001_ that they begin with; names that begin with Test are whole.
This page is written by ` + "`go run ./internal/publiccases`" + `, and a test fails when it is out of date.

| case | what people met | our answer | tests |
| --- | --- | --- | --- |
`

// render writes the page.
func render(cases []publicCase) string {
	var b strings.Builder
	b.WriteString(head)
	tests, without := 0, 0
	for _, c := range cases {
		tests += len(c.tests)
		if len(c.tests) == 0 {
			without++
		}
		fmt.Fprintf(&b, "| %s | %s (%s) | %s | %s |\n", c.id, strings.TrimSuffix(c.met, "."), links(c.sources), c.answer, tested(c))
	}
	fmt.Fprintf(&b, "\n%d cases, %d tests; %d cases cannot apply here.\n", len(cases), tests, without)
	return b.String()
}

// tested names the tests of a case, or says why there are none.
func tested(c publicCase) string {
	if len(c.tests) == 0 {
		return "cannot apply: " + c.reason
	}
	names := make([]string, len(c.tests))
	for i, t := range c.tests {
		names[i] = fmt.Sprintf("[`%s`](../%s) `%s`", t.folder, t.folder, t.name)
	}
	return strings.Join(names, "<br>")
}

func links(sources []string) string {
	texts := make([]string, len(sources))
	for i, source := range sources {
		texts[i] = fmt.Sprintf("[%s](%s)", label(source), source)
	}
	return strings.Join(texts, ", ")
}

// label is a short name for a source: repository and number of an issue or a pull
// request, repository and file, or else the host.
func label(source string) string {
	u, err := url.Parse(source)
	if err != nil {
		return source
	}
	parts := strings.Split(strings.Trim(u.Path, "/"), "/")
	switch {
	case u.Host != "github.com" || len(parts) < 4:
		return u.Host
	case parts[2] == "pull" || parts[2] == "issues":
		return parts[1] + "#" + parts[3]
	}
	return parts[1] + "/" + path.Base(u.Path)
}
