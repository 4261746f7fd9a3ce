package guard

import "fmt"

// Checked is a set-up that keeps the rules of a version. Only [Check] makes one, so a
// constructor that takes it cannot be reached past the rules: the zero value is a
// set-up that nobody checked, and [Checked.Ready] says so.
type Checked struct {
	passed  bool
	capture bool
	version Version
}

// Check applies the newest rules: see [Version.Check].
func Check(setup Setup) (Checked, error) { return Latest.Check(setup) }

// Check applies the rules of the version. The error is a [*Refusal] with every rule
// that the set-up breaks. If capture is off nothing is looked at, and there is no
// error. What is no version is an error too.
func (v Version) Check(setup Setup) (Checked, error) {
	if !setup.Capture {
		return Checked{passed: true, version: v}, nil
	}
	if v >= versionCount {
		return Checked{}, fmt.Errorf("auxoutput: %v: want one of the versions of package guard", v)
	}
	var broken []*Error
	for _, c := range versionTable[v].checks {
		if found := c.find(&setup); found.broken {
			broken = append(broken, c.error(found))
		}
	}
	if broken != nil {
		return Checked{}, &Refusal{Version: v, Broken: broken}
	}
	return Checked{passed: true, capture: true, version: v}, nil
}

// Ready returns nil if the set-up was checked and captures rows. It returns
// [ErrNotChecked] for the zero value, and [ErrCaptureOff] if capture is off: there is
// nothing to start then.
func (c Checked) Ready() error {
	switch {
	case !c.passed:
		return ErrNotChecked
	case !c.capture:
		return ErrCaptureOff
	}
	return nil
}

// Version is the version whose rules were applied.
func (c Checked) Version() Version { return c.version }
