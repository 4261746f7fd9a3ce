package guard

import (
	"errors"
	"fmt"
	"strings"
)

// What else can be wrong with a set-up, found by [errors.Is] beside the [Rule].
var (
	// ErrNotStated reports a number that is still zero, or a name that is still empty,
	// although a rule depends on it.
	ErrNotStated = errors.New("not stated")

	// ErrInvalid reports what does not exist: less than one rank, a third version of
	// the model runner, a role that no KV connector has.
	ErrInvalid = errors.New("makes no sense")
)

// What [Checked.Ready] reports.
var (
	// ErrNotChecked reports a set-up that no rules were applied to.
	ErrNotChecked = errors.New("auxoutput: the set-up was not checked: make it with guard.Check")

	// ErrCaptureOff reports that rows are not to be captured, so that nothing starts.
	ErrCaptureOff = errors.New("auxoutput: enable_return_routed_experts is off: no rows are captured")
)

// Error is one broken rule.
type Error struct {
	Rule     Rule
	Sentence string   // what is wrong; see the package's documentation for whose words
	Reason   string   // why that cannot work
	Setting  string   // the option concerned, as vLLM calls it
	Value    any      // what the set-up has
	Fault    error    // ErrNotStated or ErrInvalid, or nil: the value is one, and is refused
	WaysOut  []string // each is enough
	Nature   Nature   // whether the rule is essential, or due to the way rows are stored
}

// Error gives the sentence, the reason, the value, every way out and the rule's nature,
// in one line.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "auxoutput: %s %s = %v", e.Sentence, e.Setting, e.Value)
	if e.Fault != nil {
		fmt.Fprintf(&b, " (%v)", e.Fault)
	}
	fmt.Fprintf(&b, ": %s. Ways out: %s. ", e.Reason, strings.Join(e.WaysOut, "; or "))
	if e.Nature == Essential {
		b.WriteString("The rule is essential.")
	} else {
		fmt.Fprintf(&b, "The rule exists %v.", e.Nature)
	}
	return b.String()
}

// Unwrap gives the rule, and what is wrong with the value, to [errors.Is].
func (e *Error) Unwrap() []error {
	if e.Fault == nil {
		return []error{e.Rule}
	}
	return []error{e.Rule, e.Fault}
}

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
