package connector

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/store"
)

// Config is the user's configuration: vLLM's AuxOutputConfig (PR 45635).
type Config struct {
	// EnableReturnRoutedExperts turns the capture of rows on. It is off by default:
	// then there are no rows, so that neither a store nor a connector is needed,
	// and no rule of package guard applies (guard.Setup.Capture is this field).
	EnableReturnRoutedExperts bool

	// MaxBytes is the budget of the store, in bytes. 0 derives it from the KV cache.
	// It alone turns nothing on.
	MaxBytes int64
}

const (
	fieldEnable   = "enable_return_routed_experts"
	fieldMaxBytes = "max_bytes"
)

// ParseConfig reads the JSON form, for example
//
//	{"enable_return_routed_experts": true, "max_bytes": 1073741824}
//
// Absent fields have their defaults, which is capture off and a derived budget, and
// so has a max_bytes of null. Fields that
// are unknown or given twice, values of another type, a max_bytes below 1 and
// anything behind the object are an errors.ConfigError.
func ParseConfig(data []byte) (Config, error) {
	var c Config
	decoder := json.NewDecoder(bytes.NewReader(data))
	if token, err := decoder.Token(); err != nil || token != json.Delim('{') {
		return Config{}, malformed("config", "", "a JSON object")
	}
	seen := map[string]bool{}
	for decoder.More() {
		token, err := decoder.Token()
		if err != nil {
			return Config{}, malformed("config", err, "a JSON object")
		}
		name, _ := token.(string) // keys of an object are strings
		if seen[name] {
			return Config{}, malformed(name, "given twice", "each field once")
		}
		seen[name] = true
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return Config{}, malformed(name, err, "a JSON value")
		}
		if err := c.set(name, value); err != nil {
			return Config{}, err
		}
	}
	if _, err := decoder.Token(); err != nil {
		return Config{}, malformed("config", err, "a JSON object")
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return Config{}, malformed("config", "data behind the object", "one JSON object")
	}
	return c, nil
}

func (c *Config) set(name string, value json.RawMessage) error {
	switch name {
	case fieldEnable:
		var on *bool
		if err := json.Unmarshal(value, &on); err != nil || on == nil {
			return malformed(name, shorten(value), "true or false")
		}
		c.EnableReturnRoutedExperts = *on
	case fieldMaxBytes:
		var bytes *int64
		if err := json.Unmarshal(value, &bytes); err != nil {
			return malformed(name, shorten(value), "a whole number of bytes")
		}
		if bytes == nil {
			return nil
		}
		if *bytes < 1 {
			return &auxerrors.ConfigError{Field: name, Value: *bytes, Want: "at least 1", Reason: auxerrors.ErrTooSmall}
		}
		c.MaxBytes = *bytes
	default:
		return malformed(shorten([]byte(name)), "unknown field", fieldEnable+" and "+fieldMaxBytes)
	}
	return nil
}

func malformed(field string, value any, want string) error {
	return &auxerrors.ConfigError{Field: field, Value: value, Want: want, Reason: auxerrors.ErrMismatch}
}

// shorten keeps the text of an error readable.
func shorten(text []byte) string {
	const most = 40
	if len(text) <= most {
		return string(text)
	}
	return strings.ToValidUTF8(string(text[:most]), "") + "..."
}

// UnmarshalJSON is [ParseConfig].
func (c *Config) UnmarshalJSON(data []byte) error {
	parsed, err := ParseConfig(data)
	if err != nil {
		return err
	}
	*c = parsed
	return nil
}

// MarshalJSON writes what [ParseConfig] reads. A budget that is derived is left
// out; a negative one is an errors.ConfigError.
func (c Config) MarshalJSON() ([]byte, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if c.MaxBytes == 0 {
		return fmt.Appendf(nil, `{"%s":%t}`, fieldEnable, c.EnableReturnRoutedExperts), nil
	}
	return fmt.Appendf(nil, `{"%s":%t,"%s":%d}`, fieldEnable, c.EnableReturnRoutedExperts, fieldMaxBytes, c.MaxBytes), nil
}

// Validate reports a MaxBytes below 0 as an errors.ConfigError.
func (c Config) Validate() error {
	if c.MaxBytes < 0 {
		return &auxerrors.ConfigError{Field: fieldMaxBytes, Value: c.MaxBytes, Want: "at least 1, or 0 to derive it", Reason: auxerrors.ErrTooSmall}
	}
	return nil
}

// Budget is the budget of the store: MaxBytes, or a slot for each hash block of the
// KV pool, whose null block counts. blockBytes is the size of a block of rows. A
// budget that no int64 holds, or that is too small for a block, is an
// errors.ConfigError.
func (c Config) Budget(kvBlocks, hashesPerKVBlock, blockBytes int) (int64, error) {
	if err := c.Validate(); err != nil {
		return 0, err
	}
	derived, err := store.Budget(kvBlocks, hashesPerKVBlock, blockBytes)
	switch {
	case c.MaxBytes == 0:
		return derived, err
	case blockBytes < 1:
		return 0, err
	case c.MaxBytes < int64(blockBytes):
		return 0, &auxerrors.ConfigError{Field: fieldMaxBytes, Value: c.MaxBytes, Want: fmt.Sprintf("at least one block of %d bytes", blockBytes), Reason: auxerrors.ErrTooSmall}
	}
	return c.MaxBytes, nil
}
