package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// documented are the lines of the documentation that begin with a command, and where
// they stand.
func documented(t *testing.T, command string) map[string]string {
	t.Helper()
	root := filepath.Join("..", "..")
	var pages []string
	for _, pattern := range []string{"*.md", "docs/*.md", "examples/*/*.go"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		require.NoError(t, err)
		pages = append(pages, found...)
	}
	lines := map[string]string{}
	for _, page := range pages {
		if strings.HasSuffix(page, "_test.go") {
			continue
		}
		data, err := os.ReadFile(page)
		require.NoError(t, err)
		for line := range strings.Lines(string(data)) {
			for _, prompt := range []string{"$ ", "//\t"} {
				if rest, ok := strings.CutPrefix(line, prompt); ok && strings.HasPrefix(rest, command) {
					lines[strings.TrimSpace(strings.TrimPrefix(rest, command))] = page
				}
			}
		}
	}
	return lines
}

// words splits a line as a shell does, as far as the documentation needs it, and finds
// the exit status that a comment tells.
func words(t *testing.T, line string) (args []string, code int) {
	t.Helper()
	line, comment, _ := strings.Cut(line, "#")
	if status := regexp.MustCompile(`exit status (\d)`).FindStringSubmatch(comment); status != nil {
		code, _ = strconv.Atoi(status[1])
	}
	line = strings.TrimSuffix(strings.TrimSpace(line), "&")
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			args = append(args, part) // quoted
		} else {
			args = append(args, strings.Fields(part)...)
		}
	}
	require.NotContains(t, strings.Join(args, ""), "$", "no variable is known here")
	return args, code
}

func TestEveryCommandLineInTheDocumentationRuns(t *testing.T) {
	lines := documented(t, "go run ./examples/server")
	require.GreaterOrEqual(t, len(lines), 7, "%v", lines)
	refusals := 0
	for line, page := range lines {
		t.Run(page+": "+line, func(t *testing.T) {
			args, want := words(t, line)
			if want != 0 {
				refusals++
				code, _, fault := status(t, append(args, "-listen", "127.0.0.1:0")...)
				require.Equal(t, want, code, fault)
				return
			}
			r, _ := launch(t, args...)
			code, data := r.post(t, "/v1/completions", object{"prompt": "a b c", "max_tokens": 2})
			require.Equal(t, 200, code, string(data))
			off := strings.Contains(line, `"enable_return_routed_experts": false`)
			require.Equal(t, !off, strings.Contains(string(data), `"routed_experts"`))
		})
	}
	require.Equal(t, 2, refusals)
}

// TestOnePlaceTellsHowManyLayersARowHas: the others link to it, and it exists.
func TestOnePlaceTellsHowManyLayersARowHas(t *testing.T) {
	const link = "docs/rl.md#how-many-layers-a-row-has"
	page, err := os.ReadFile("../../docs/rl.md")
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(string(page), "\n## How many layers a row has\n"))
	require.Contains(t, string(page), "](#how-many-layers-a-row-has)")
	for _, name := range []string{"README.md", "routing/profile.go", "routing/layers.go", "routing/model/doc.go", "routing/model/model.go", "examples/server/flags.go", "examples/rl_client/main.go"} {
		data, err := os.ReadFile(filepath.Join("..", "..", name))
		require.NoError(t, err)
		require.Contains(t, string(data), link, name)
	}
}
