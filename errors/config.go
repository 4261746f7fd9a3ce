package errors

import "fmt"

// ConfigError is a value that something cannot be built from.
type ConfigError struct {
	Field  string // the option or argument, as the caller knows it
	Value  any    // what was given
	Want   string // what is allowed
	Reason error  // one of the sentinels of this package
}

// Error names the field, the value and what is allowed.
func (e *ConfigError) Error() string {
	return fmt.Sprintf("auxoutput: %s = %v: %v: want %s", e.Field, e.Value, e.Reason, e.Want)
}

// Unwrap gives the reason to [errors.Is] and [errors.As].
func (e *ConfigError) Unwrap() error { return e.Reason }
