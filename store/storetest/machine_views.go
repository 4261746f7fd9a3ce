package storetest

import (
	"bytes"
	"slices"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	auxerrors "github.com/auxoutput/auxoutput/errors"
)

// viewPair is a view of the store and the same view of the model.
type viewPair struct{ real, model View }

func (mc *machine) openView(t *rapid.T) {
	hashes := mc.drawPresent(t, "hashes", 3)
	want, wantErr := mc.model.OpenView(hashes)
	got, err := mc.real.(Viewer).OpenView(hashes)
	sameReason(t, wantErr, err)
	if err == nil {
		mc.views = append(mc.views, viewPair{got, want})
		mc.opened = append(mc.opened, got)
	}
}

func (mc *machine) closeView(t *rapid.T) {
	if len(mc.views) == 0 {
		return
	}
	at := rapid.IntRange(0, len(mc.views)-1).Draw(t, "view")
	view := mc.views[at]
	mc.views = slices.Delete(mc.views, at, at+1)
	if rapid.Bool().Draw(t, "in use") {
		mc.closeInUse(t, view)
		return
	}
	sameView(t, view)
	mc.closeBoth(t, view)
}

func sameView(t *rapid.T, view viewPair) {
	require.Equal(t, view.model.Len(), view.real.Len())
	for i := range view.model.Len() {
		want, _ := view.model.Block(i)
		got, err := view.real.Block(i)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	var want, got bytes.Buffer
	_, err := view.model.WriteTo(&want)
	require.NoError(t, err)
	n, err := view.real.WriteTo(&got)
	require.NoError(t, err)
	require.EqualValues(t, got.Len(), n)
	require.True(t, bytes.Equal(want.Bytes(), got.Bytes()))
	_, err = view.real.Block(view.model.Len())
	require.ErrorIs(t, err, auxerrors.ErrOutOfRange)
}

// closeInUse closes a view in the middle of writing it, as another goroutine may,
// and goes on with the store before the writing goes on.
func (mc *machine) closeInUse(t *rapid.T, view viewPair) {
	model := view.model.(*openModelView)
	want := rowsOf(model.view.blocks)
	require.NoError(t, model.begin("view write"))
	var got bytes.Buffer
	used := false
	n, err := view.real.WriteTo(consumer(func(rows []byte) (int, error) {
		if !used {
			used = true
			mc.closeBoth(t, view)
			mc.put(t)
			mc.check(t)
		}
		return got.Write(rows)
	}))
	if !used {
		require.NoError(t, err, "a view of no blocks")
		mc.closeBoth(t, view)
	}
	require.EqualValues(t, got.Len(), n)
	sameStart(t, want, got.Bytes(), err)
	model.end()
}

func (mc *machine) closeBoth(t *rapid.T, view viewPair) {
	require.NoError(t, view.model.Close())
	require.NoError(t, view.real.Close())
	require.ErrorIs(t, view.real.Close(), auxerrors.ErrClosed)
	_, err := view.real.Block(0)
	require.ErrorIs(t, err, auxerrors.ErrClosed)
	n, err := view.real.WriteTo(&bytes.Buffer{})
	require.ErrorIs(t, err, auxerrors.ErrClosed)
	require.Zero(t, n)
	require.Zero(t, view.real.Len())
}

// sameStart compares what was written of a view that was closed meanwhile: its own
// rows, all of them or the first ones and ErrClosed.
func sameStart(t require.TestingT, want, got []byte, err error) {
	require.True(t, bytes.HasPrefix(want, got), "rows of another block: %x, want %x", got, want)
	if err == nil {
		require.Len(t, got, len(want), "a part, and no error")
		return
	}
	require.ErrorIs(t, err, auxerrors.ErrClosed)
	require.Less(t, len(got), len(want), "all of it, and an error")
}
