package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// pages are the pages whose command lines are held against the code. The example
// server's own are run by its tests, bench/RESULTS.md is a record.
func pages(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob("../docs/*.md")
	require.NoError(t, err)
	return append(found, "../README.md")
}

// documented are the command lines that begin with a command, in code blocks and in
// the text, each as its words.
func documented(t *testing.T, command string) [][]string {
	t.Helper()
	line := regexp.MustCompile(`(?m)(?:^\$ |` + "`" + `)` + regexp.QuoteMeta(command) + "((?: [^`\n]*)?)(?:`|$)")
	word := regexp.MustCompile(`'[^']*'|"[^"]*"|[^\s'"]+`)
	var lines [][]string
	for _, page := range pages(t) {
		data, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, match := range line.FindAllStringSubmatch(string(data), -1) {
			text, _, _ := strings.Cut(strings.ReplaceAll(match[1], `\|`, "|"), " # ") // a comment ends the line
			words := word.FindAllString(text, -1)
			for i := range words {
				words[i] = strings.Trim(words[i], `'"`)
			}
			lines = append(lines, words)
		}
	}
	return lines
}

// shorter makes a documented command quick: less of the same, and a trace that is there.
var shorter = map[string][]string{
	"search": {"--seeds", "20"}, "replay": {"--requests", "40"}, "capacity": {}, "verify": {}, "hash": {},
}

func TestTheCommandLinesOfTheDocumentationWork(t *testing.T) {
	ran := map[string]bool{}
	for _, words := range documented(t, "go run ./bench") {
		var args []string
		for _, word := range words {
			if strings.HasSuffix(word, "trace.jsonl") {
				word = "testdata/traces/multiturn_blk16.jsonl"
			}
			files, err := filepath.Glob(filepath.Join("..", word))
			if err != nil || len(files) == 0 || !strings.Contains(word, "testdata") {
				files = []string{word}
			}
			args = append(args, files...)
		}
		command, rest, err := newRootCommand().Find(args)
		require.NoError(t, err, args)
		if slices.Equal(rest, []string{"-h"}) {
			continue
		}
		require.NoError(t, command.ParseFlags(rest), args) // of those that take too long, at least this
		less, quick := shorter[command.Name()]
		if !quick {
			continue
		}
		code, _, stderr := bench(append(args, less...)...)
		require.Zero(t, code, "%v: %s", args, stderr)
		ran[command.Name()] = true
	}
	require.Len(t, ran, len(shorter), "%v", ran)
}

func TestTheTestsThatTheDocumentationNamesAreThere(t *testing.T) {
	name := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark|Example)\w*)\(`)
	checked := 0
	for _, words := range documented(t, "go test") {
		for _, flag := range []string{"-run", "-fuzz", "-bench"} {
			at := slices.Index(words, flag)
			if at < 0 || words[at+1] == "^$" || words[at+1] == "." {
				continue
			}
			pattern, err := regexp.Compile(strings.Split(words[at+1], "/")[0])
			require.NoError(t, err)
			matches := 0
			for _, word := range words {
				folder, deep := strings.CutSuffix(word, "/...")
				if !strings.HasPrefix(word, ".") {
					continue
				}
				require.NoError(t, filepath.WalkDir(filepath.Join("..", folder), func(path string, entry os.DirEntry, err error) error {
					if err != nil || entry.IsDir() && !deep && path != filepath.Join("..", folder) {
						return filepath.SkipDir
					}
					if !strings.HasSuffix(path, "_test.go") {
						return nil
					}
					data, err := os.ReadFile(path)
					for _, match := range name.FindAllStringSubmatch(string(data), -1) {
						if pattern.MatchString(match[1]) {
							matches++
						}
					}
					return err
				}))
			}
			require.Positive(t, matches, "no test for %v", words)
			checked++
		}
	}
	require.Greater(t, checked, 15)
}
