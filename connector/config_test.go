package connector_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/connector"
	auxerrors "github.com/auxoutput/auxoutput/errors"
)

func TestTheConfigurationReadsAndWritesTheReferencesJSON(t *testing.T) {
	for text, want := range map[string]connector.Config{
		`{}`:                                     {},
		`{"enable_return_routed_experts": true}`: {EnableReturnRoutedExperts: true},
		`{"enable_return_routed_experts":true,"max_bytes":4096}`:          {EnableReturnRoutedExperts: true, MaxBytes: 4096},
		` {"max_bytes":null,"enable_return_routed_experts":false}` + "\n": {},
		`{"max_bytes":9223372036854775807}`:                               {MaxBytes: 1<<63 - 1},
		`{"max_bytes":1}`:                                                 {MaxBytes: 1}, // a budget turns nothing on
	} {
		got, err := connector.ParseConfig([]byte(text))
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)

		written, err := json.Marshal(got)
		require.NoError(t, err)
		var again connector.Config
		require.NoError(t, json.Unmarshal(written, &again))
		require.Equal(t, want, again, string(written))
	}
}

func TestAConfigurationThatMakesNoSenseIsAnError(t *testing.T) {
	for name, text := range map[string]string{
		"nothing":             ``,
		"no object":           `true`,
		"a list":              `[]`,
		"null":                `null`,
		"an unknown field":    `{"enabled": true}`,
		"a capital letter":    `{"Max_Bytes": 1}`,
		"a field given twice": `{"max_bytes": 1, "max_bytes": 2}`,
		"trailing data":       `{} {}`,
		"a trailing comma":    `{"max_bytes": 1,}`,
		"zero bytes":          `{"max_bytes": 0}`,
		"negative bytes":      `{"max_bytes": -1}`,
		"half a byte":         `{"max_bytes": 1.5}`,
		"too many bytes":      `{"max_bytes": 9223372036854775808}`,
		"bytes as text":       `{"max_bytes": "1"}`,
		"a number for a flag": `{"enable_return_routed_experts": 1}`,
		"null for a flag":     `{"enable_return_routed_experts": null}`,
		"cut off":             `{"max_bytes": 1`,
		"no value":            `{"max_bytes": }`,
		"a word for a value":  `{"max_bytes": much}`,
		"a long value":        `{"max_bytes": "` + strings.Repeat("é", 100) + `"}`,
		"a long name":         `{"` + strings.Repeat("é", 100) + `": 1}`,
	} {
		t.Run(name, func(t *testing.T) {
			_, err := connector.ParseConfig([]byte(text))
			var config *auxerrors.ConfigError
			require.ErrorAs(t, err, &config)
			require.Less(t, len(err.Error()), 200, "an error does not repeat what it was sent")
			require.True(t, utf8.ValidString(err.Error()))
			kept := connector.Config{MaxBytes: 7}
			require.Error(t, kept.UnmarshalJSON([]byte(text)))
			require.Equal(t, connector.Config{MaxBytes: 7}, kept)
		})
	}
	_, err := json.Marshal(connector.Config{MaxBytes: -1})
	require.ErrorIs(t, err, auxerrors.ErrTooSmall)
}

func TestTheBudgetIsDerivedFromTheKVCacheUnlessItIsGiven(t *testing.T) {
	derived, err := connector.Config{}.Budget(1000, 2, 6144)
	require.NoError(t, err)
	require.EqualValues(t, 1000*2*6144, derived)

	given, err := connector.Config{MaxBytes: 7000}.Budget(1000, 2, 6144)
	require.NoError(t, err)
	require.EqualValues(t, 7000, given)

	for name, budget := range map[string]func() (int64, error){
		"smaller than a block": func() (int64, error) { return connector.Config{MaxBytes: 6143}.Budget(1000, 2, 6144) },
		"negative":             func() (int64, error) { return connector.Config{MaxBytes: -1}.Budget(1000, 2, 6144) },
		"no KV blocks":         func() (int64, error) { return connector.Config{}.Budget(0, 2, 6144) },
		"an overflow":          func() (int64, error) { return connector.Config{}.Budget(math.MaxInt, math.MaxInt, math.MaxInt) },
		"no block bytes":       func() (int64, error) { return connector.Config{MaxBytes: 1}.Budget(1, 1, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			_, err := budget()
			var config *auxerrors.ConfigError
			require.ErrorAs(t, err, &config)
		})
	}
}

func FuzzParseConfig(f *testing.F) {
	f.Add([]byte(`{"enable_return_routed_experts": true, "max_bytes": 1073741824}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		config, err := connector.ParseConfig(data)
		if err != nil {
			require.Zero(t, config)
			return
		}
		written, err := json.Marshal(config)
		require.NoError(t, err)
		again, err := connector.ParseConfig(written)
		require.NoError(t, err)
		require.Equal(t, config, again)
	})
}

func TestModesAreReadAsTheyAreWritten(t *testing.T) {
	for _, mode := range []connector.Mode{connector.FailClosed, connector.RowGated, connector.Linked, connector.Reference} {
		got, err := connector.ParseMode(mode.String())
		require.NoError(t, err)
		require.Equal(t, mode, got)
	}
	_, err := connector.ParseMode("open")
	require.ErrorIs(t, err, auxerrors.ErrMismatch)
	require.Equal(t, "Mode(9)", connector.Mode(9).String())
	_, err = connector.NewScheduler(connector.SchedulerOptions{Checked: checked, Mode: 9})
	require.ErrorIs(t, err, auxerrors.ErrOutOfRange)
}

// FuzzParseMode reads names of modes.
func FuzzParseMode(f *testing.F) {
	for _, text := range []string{"fail-closed", "row-gated", "linked", "reference", "", "Linked", "Mode(4)", "linked "} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		mode, err := connector.ParseMode(text)
		if err != nil {
			var config *auxerrors.ConfigError
			require.ErrorAs(t, err, &config)
			require.Zero(t, mode)
			return
		}
		require.Equal(t, text, mode.String())
	})
}
