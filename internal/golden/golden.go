// Package golden replays recorded results of the reference implementations
// against this library. The same replays serve the tests of the packages and
// the command that a user runs over a file of their own.
package golden

import (
	"fmt"
	"reflect"
	"strings"
)

// Failure is one recorded result that this library did not reproduce.
type Failure struct {
	Trace string // id of the trace or of the vector
	Op    int    // place of the operation in the trace, from 0; -1 for a vector
	Field string // what was compared
	Want  string // as recorded
	Got   string // as produced here
}

func (f Failure) String() string {
	where := f.Trace
	if f.Op >= 0 {
		where = fmt.Sprintf("%s op %d", f.Trace, f.Op)
	}
	return fmt.Sprintf("%s: %s: expected %s, got %s", where, f.Field, f.Want, f.Got)
}

// Report counts the vectors or operations of one file that came out as
// recorded, and lists everything that did not.
type Report struct {
	Passed   int // vectors or operations without a failure
	Deviates int // operations that came out better, as documented, and were checked for that
	Failed   int // vectors or operations with at least one failure
	Failures []Failure
}

// Case compares the results of one vector or operation and enters it into the
// report when it is done.
type Case struct {
	report   *Report
	trace    string
	op       int
	failures int
	deviates bool
}

// Case starts the comparison of operation op of a trace; op is -1 for a vector.
func (r *Report) Case(trace string, op int) *Case {
	return &Case{report: r, trace: trace, op: op}
}

// Equal compares one field. It says whether the two are deeply equal.
func (c *Case) Equal(field string, want, got any) bool {
	if reflect.DeepEqual(want, got) {
		return true
	}
	c.Fail(field, textOf(want), textOf(got))
	return false
}

// What a failure tells of a value: a file of many failures would otherwise become a
// report that is much longer.
const (
	mostItems = 256
	mostText  = 4096
)

// textOf is a value in words, of a long list the beginning.
func textOf(value any) string {
	if list := reflect.ValueOf(value); list.Kind() == reflect.Slice && list.Len() > mostItems {
		return fmt.Sprintf("%v... %d in all", list.Slice(0, mostItems), list.Len())
	}
	return fmt.Sprintf("%v", value)
}

// shortened is a text, or the beginning of it.
func shortened(text string) string {
	if len(text) <= mostText {
		return text
	}
	return fmt.Sprintf("%s... %d bytes in all", strings.ToValidUTF8(text[:mostText], ""), len(text))
}

// Fail records that a field differs.
func (c *Case) Fail(field, want, got string) {
	c.failures++
	c.report.Failures = append(c.report.Failures, Failure{
		Trace: c.trace, Op: c.op, Field: field, Want: shortened(want), Got: shortened(got),
	})
}

// Deviates marks a case in which this library is documented to do better than the
// recording. What it does instead is compared all the same.
func (c *Case) Deviates() { c.deviates = true }

// Done counts the case as passed, as a deviation or as failed.
func (c *Case) Done() {
	switch {
	case c.failures > 0:
		c.report.Failed++
	case c.deviates:
		c.report.Deviates++
	default:
		c.report.Passed++
	}
}
