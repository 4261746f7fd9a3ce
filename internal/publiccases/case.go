package main

import (
	"cmp"
	"slices"
	"strings"
)

// publicCase is a kind of bug that people met.
type publicCase struct {
	id      string   // "PC-001"
	sources []string // where they told of it
	met     string   // what they met, in one sentence
	answer  string   // what this library does instead, in one sentence
	tests   []test
	reason  string // why the case cannot apply here, if it has no tests
}

// test is a test of a case.
type test struct {
	folder string // of its package, from the root of the module

	// name is the sentence behind TestPublicCase_PC_001_, or a whole name if the test
	// is called otherwise.
	name string
}

// prefix is what the names of a case's tests begin with.
func (c publicCase) prefix() string {
	return "TestPublicCase_" + strings.ReplaceAll(c.id, "-", "_") + "_"
}

// nameOf is the whole name of one of the case's tests.
func (c publicCase) nameOf(t test) string {
	if strings.HasPrefix(t.name, "Test") {
		return t.name
	}
	return c.prefix() + t.name
}

// publicCases are all of them, by number.
func publicCases() []publicCase {
	all := slices.Concat(capturedCases, idCases, conversationCases, storeCases, keyCases, modelCases)
	slices.SortStableFunc(all, func(a, b publicCase) int { return cmp.Compare(a.id, b.id) })
	return all
}
