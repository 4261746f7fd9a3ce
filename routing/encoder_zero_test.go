package routing_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/routing"
)

func TestTheZeroEncoderTakesNoRows(t *testing.T) {
	for _, rows := range [][]byte{nil, {1}} {
		var e routing.Encoder
		_, err := e.Write(rows)
		require.ErrorIs(t, err, auxerrors.ErrClosed)
		var windowed routing.Encoder
		_, err = windowed.Window(1, 1).Write(rows)
		require.ErrorIs(t, err, auxerrors.ErrClosed)
		require.Zero(t, e.Size())
	}
	var e routing.Encoder
	require.NoError(t, e.Close())
}
