package guard_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/connector/guard"
)

func TestWhatNobodyCheckedIsNotReady(t *testing.T) {
	var forgotten guard.Checked
	require.ErrorIs(t, forgotten.Ready(), guard.ErrNotChecked)

	checked, err := guard.Check(good())
	require.NoError(t, err)
	require.NoError(t, checked.Ready())
	require.Equal(t, guard.Latest, checked.Version())

	older, err := guard.Main202608.Check(goodFor(guard.Main202608))
	require.NoError(t, err)
	require.NoError(t, older.Ready())
	require.Equal(t, guard.Main202608, older.Version())
}

func TestASetUpThatIsRefusedIsNotReady(t *testing.T) {
	setup := good()
	setup.MoE = false
	refused, err := guard.Check(setup)
	require.Error(t, err)
	require.ErrorIs(t, refused.Ready(), guard.ErrNotChecked)
}

func TestWithCaptureOffThereIsNothingToStart(t *testing.T) {
	setup := guard.Setup{PipelineParallel: -3, KVConnector: &guard.Connector{Name: "NixlConnector"}}
	for _, version := range versions {
		checked, err := version.Check(setup)
		require.NoError(t, err)
		require.ErrorIs(t, checked.Ready(), guard.ErrCaptureOff)
	}
}

// TestASetUpThatOnlyTurnsCaptureOnIsRefused leaves everything else at its zero value.
func TestASetUpThatOnlyTurnsCaptureOnIsRefused(t *testing.T) {
	err := check(guard.Setup{Capture: true})
	require.Equal(t, []guard.Rule{
		guard.ModelRunner, guard.GenerateRunner, guard.MoEModel, guard.PrefixCaching, guard.PipelineParallel, guard.ContextParallel,
	}, broken(t, err))
	var refusal *guard.Refusal
	require.ErrorAs(t, err, &refusal)
	for _, b := range refusal.Broken {
		switch b.Rule {
		case guard.ModelRunner, guard.GenerateRunner, guard.PipelineParallel, guard.ContextParallel:
			require.ErrorIs(t, b, guard.ErrNotStated, b.Rule)
			require.Equal(t, "state it", b.WaysOut[0])
		}
	}
}
