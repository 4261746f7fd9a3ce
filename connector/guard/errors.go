package guard

import (
	"fmt"
	"strings"
)

// Error is one broken rule.
type Error struct {
	Rule    Rule
	Reason  string // what the rule is for
	Setting string // the option concerned, as vLLM calls it
	Value   any    // what the set-up has
	Change  string // what to do
	Nature  Nature // whether the rule is essential, or due to the way rows are stored
}

// Error names the rule, its reason, the value, what to change and the rule's nature.
func (e *Error) Error() string {
	return fmt.Sprintf("auxoutput: %v: %s: %s = %v: %s (%v)", e.Rule, e.Reason, e.Setting, e.Value, e.Change, e.Nature)
}

// Unwrap gives the rule to [errors.Is].
func (e *Error) Unwrap() error { return e.Rule }

// Refusal is every rule that a set-up breaks.
type Refusal struct {
	Version Version  // whose rules they are
	Broken  []*Error // one for each rule, in the order of the rules; never empty
}

// Error has one line for each broken rule.
func (r *Refusal) Error() string {
	lines := make([]string, len(r.Broken))
	for i, broken := range r.Broken {
		lines[i] = broken.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap gives the broken rules to [errors.Is] and [errors.As].
func (r *Refusal) Unwrap() []error {
	errs := make([]error, len(r.Broken))
	for i, broken := range r.Broken {
		errs[i] = broken
	}
	return errs
}
