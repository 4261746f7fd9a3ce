package errors_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	auxerrors "github.com/auxoutput/auxoutput/errors"
)

func TestAnAbsentBlockIsAbsentWhateverTheReason(t *testing.T) {
	for _, reason := range []error{auxerrors.ErrEvicted, auxerrors.ErrNeverStored, auxerrors.ErrRemoved} {
		err := fmt.Errorf("request 7: %w", &auxerrors.BlockObjectStoreError{Op: "get", Reason: reason})
		require.ErrorIs(t, err, reason)
		require.ErrorIs(t, err, auxerrors.ErrAbsent)
		require.NotErrorIs(t, err, auxerrors.ErrCannotFit)
	}
	require.NotErrorIs(t, auxerrors.ErrEvicted, auxerrors.ErrRemoved)
	require.NotErrorIs(t, auxerrors.ErrAbsent, auxerrors.ErrEvicted)
}

func TestAStoreErrorTellsWhatTheNumbersAreAndWhatToDo(t *testing.T) {
	for _, tc := range []struct {
		name string
		err  auxerrors.BlockObjectStoreError
		want string
	}{
		{
			"everything known",
			auxerrors.BlockObjectStoreError{
				Op: "get", Reason: auxerrors.ErrEvicted, Hash: []byte{0xab, 0x01}, Index: 3,
				Used: 9, Limit: 10, Advice: "increase max_bytes",
			},
			"auxoutput: get: block was evicted: hash ab01 at index 3 (used 9 of 10 slots); increase max_bytes",
		},
		{
			"no hash concerned",
			auxerrors.BlockObjectStoreError{Op: "put", Reason: auxerrors.ErrCannotFit, Index: -1, Limit: 4, Detail: "5 new blocks"},
			"auxoutput: put: batch does not fit into the store: 5 new blocks (used 0 of 4 slots)",
		},
		{
			"a hash without a place",
			auxerrors.BlockObjectStoreError{Op: "get", Reason: auxerrors.ErrCorrupt, Hash: []byte{1}, Index: -1},
			"auxoutput: get: block does not match its checksum: hash 01",
		},
		{
			"nothing but the reason",
			auxerrors.BlockObjectStoreError{Op: "close", Reason: auxerrors.ErrClosed, Index: -1},
			"auxoutput: close: closed",
		},
	} {
		t.Run(tc.name, func(t *testing.T) { require.EqualError(t, &tc.err, tc.want) })
	}
}

func TestAConfigErrorNamesFieldValueAndWhatIsAllowed(t *testing.T) {
	err := error(&auxerrors.ConfigError{Field: "MaxBytes", Value: 4, Want: "at least one block of 8 bytes", Reason: auxerrors.ErrTooSmall})
	require.EqualError(t, err, "auxoutput: MaxBytes = 4: value is too small: want at least one block of 8 bytes")
	require.ErrorIs(t, err, auxerrors.ErrTooSmall)
	var config *auxerrors.ConfigError
	require.True(t, errors.As(err, &config))
	require.Equal(t, "MaxBytes", config.Field)
}
