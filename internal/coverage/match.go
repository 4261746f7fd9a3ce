package main

import (
	"fmt"
	"strings"
)

// reason says why a block of statements is not covered. It names the block by what
// stands there and not by its number, so that it survives changes elsewhere.
type reason struct {
	file     string // from the root of the module
	function string
	text     string // a piece of the block; or, if no block has it, of a block and the line before it
	why      string
	luck     bool // covered in some runs: it always counts as not covered. Quote its body: the block before ends with its head
}

// explained is an uncovered block with its reason.
type explained struct {
	block
	why string
}

// named are the numbers of the blocks that a reason is about. Several blocks of a
// function may read "if err != nil { return err }": then it is the line before that
// tells which one is meant.
func (r reason) named(blocks []block) []int {
	var within, around []int
	for i, b := range blocks {
		if r.file != b.path || r.function != b.function || b.statements == 0 || b.covered && !r.luck {
			continue
		}
		switch {
		case strings.Contains(b.text, r.text):
			within = append(within, i)
		case strings.Contains(b.before+" "+b.text, r.text):
			around = append(around, i)
		}
	}
	if len(within) > 0 {
		return within
	}
	return around
}

// explain finds a reason for each uncovered block and returns them in the order of
// the blocks. Every reason has to name exactly one block: one that names none is out
// of date, and one that names several would excuse what nobody has looked at.
// Blocks that are covered by luck become uncovered.
func explain(blocks []block, reasons []reason) (gaps []explained, faults []string) {
	why := map[int]string{}
	for _, r := range reasons {
		label := fmt.Sprintf("%s: %s: %q", r.file, r.function, r.text)
		named := r.named(blocks)
		switch {
		case len(named) == 0:
			faults = append(faults, label+" names no uncovered block: take it out of the list")
			continue
		case len(named) > 1:
			faults = append(faults, fmt.Sprintf("%s names %d blocks: quote more of the one that is meant", label, len(named)))
			continue
		case why[named[0]] != "":
			faults = append(faults, label+" names a block that has a reason already")
			continue
		case strings.TrimSpace(r.why) == "":
			faults = append(faults, label+" gives no reason")
			continue
		}
		why[named[0]] = r.why
		if r.luck {
			blocks[named[0]].covered = false
		}
	}
	for i, b := range blocks {
		if b.covered || b.statements == 0 {
			continue
		}
		gaps = append(gaps, explained{b, why[i]})
		if why[i] == "" {
			faults = append(faults, fmt.Sprintf("%s:%d: %s: not covered and no reason given: %s", b.path, b.line, b.function, b.text))
		}
	}
	return gaps, faults
}
