package store_test

import (
	"bytes"
	"errors"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/store"
)

// pausing is a consumer that stops in its first Write until it may go on.
type pausing struct {
	started, goOn chan struct{}
	once          sync.Once
	got           bytes.Buffer
}

func newPausing() *pausing {
	return &pausing{started: make(chan struct{}), goOn: make(chan struct{})}
}

func (p *pausing) Write(rows []byte) (int, error) {
	p.got.Write(rows)
	p.once.Do(func() {
		close(p.started)
		<-p.goOn
	})
	return len(rows), nil
}

// written is what WriteTo returned.
type written struct {
	n   int64
	err error
}

// writeBeside writes a view on a goroutine of its own and waits until the consumer has
// been reached.
func writeBeside(view store.View, to *pausing) chan written {
	ended := make(chan written, 1)
	go func() {
		n, err := view.WriteTo(to)
		ended <- written{n, err}
	}()
	<-to.started
	return ended
}

func TestAViewClosedWhileItIsWrittenNeverShowsAnotherBlock(t *testing.T) {
	s := newStore(t, 4)
	put(t, s, 0, 1, 2, 3)
	view, err := s.View(hashesOf(1, 3)) // slots that are no neighbours: two Writes
	require.NoError(t, err)
	consumer := newPausing()
	ended := writeBeside(view, consumer)

	require.NoError(t, view.Close(), "Close waits for nobody")
	require.Zero(t, view.Len())
	_, err = view.Block(0)
	require.ErrorIs(t, err, auxerrors.ErrClosed, "no use begins any more")
	n, err := view.WriteTo(&bytes.Buffer{})
	require.ErrorIs(t, err, auxerrors.ErrClosed)
	require.Zero(t, n)
	require.ErrorIs(t, view.Close(), auxerrors.ErrClosed)

	// Others want the slots, and other views the pooled state.
	put(t, s, 10, 11)
	_, err = s.Put(store.Batch{Blocks: blocksOf(12, 13, 14)})
	require.ErrorIs(t, err, auxerrors.ErrCannotFit, "the blocks stay until the consumer is through with them")
	for range 100 {
		other, err := s.View(hashesOf(10, 11))
		require.NoError(t, err)
		require.NoError(t, other.Close())
	}

	close(consumer.goOn)
	got := <-ended
	require.ErrorIs(t, got.err, auxerrors.ErrClosed, "it stops before its next Write")
	var typed *auxerrors.BlockObjectStoreError
	require.ErrorAs(t, got.err, &typed)
	require.EqualValues(t, testBlock, got.n)
	require.Equal(t, rowsFor(1, 0, testBlock), consumer.got.Bytes())

	require.Zero(t, s.Stats().OpenViews)
	result, err := s.Put(store.Batch{Blocks: blocksOf(12, 13, 14, 15)})
	require.NoError(t, err, "every slot is there again")
	require.Equal(t, 4, result.Stored)
}

func TestAViewClosedDuringItsLastWriteHasBeenWritten(t *testing.T) {
	s := newStore(t, 2)
	put(t, s, 0)
	view, err := s.View(hashesOf(0))
	require.NoError(t, err)
	consumer := newPausing()
	ended := writeBeside(view, consumer)
	require.NoError(t, view.Close())
	close(consumer.goOn)
	require.Equal(t, written{testBlock, nil}, <-ended, "nothing is missing")
	require.Equal(t, rowsFor(0, 0, testBlock), consumer.got.Bytes())
	require.Zero(t, s.Stats().OpenViews)
}

func TestAConsumerThatNeverReturnsHoldsItsBlocksAndNothingElse(t *testing.T) {
	s := newStore(t, 2)
	put(t, s, 0)
	view, err := s.View(hashesOf(0))
	require.NoError(t, err)
	stuck := newPausing()
	ended := writeBeside(view, stuck)
	require.NoError(t, view.Close())
	for n := 1; n < 100; n++ { // as long as one likes
		put(t, s, n)
		rows, err := s.Get(nil, hashesOf(n))
		require.NoError(t, err)
		require.Equal(t, rowsFor(n, 0, testBlock), rows)
	}
	_, err = s.Put(store.Batch{Blocks: blocksOf(200, 201)})
	require.ErrorIs(t, err, auxerrors.ErrCannotFit)
	require.Equal(t, 1, s.Stats().OpenViews, "a closed view counts as long as it is used")
	require.Equal(t, rowsFor(0, 0, testBlock), stuck.got.Bytes())
	close(stuck.goOn) // or the store could not be closed
	<-ended
}

// closing is a consumer that closes the view that is being written to it.
type closingConsumer struct {
	view store.View
	got  bytes.Buffer
	err  error
}

func (c *closingConsumer) Write(rows []byte) (int, error) {
	c.err = errors.Join(c.err, c.view.Close())
	return c.got.Write(rows)
}

func TestAConsumerMayCloseItsView(t *testing.T) {
	s := newStore(t, 4)
	put(t, s, 0, 1, 2, 3)
	view, err := s.View(hashesOf(1, 3))
	require.NoError(t, err)
	c := &closingConsumer{view: view}
	n, err := view.WriteTo(c)
	require.ErrorIs(t, err, auxerrors.ErrClosed)
	require.EqualValues(t, testBlock, n)
	require.NoError(t, c.err)
	require.Equal(t, rowsFor(1, 0, testBlock), c.got.Bytes())
	require.Zero(t, s.Stats().OpenViews)
}

func TestAConsumerThatPanicsWhileItsViewIsClosedLeavesNothingPinned(t *testing.T) {
	for name, fail := range map[string]func(store.View){
		"after closing it":  func(view store.View) { _ = view.Close(); panic("the consumer failed") },
		"and it is open":    func(store.View) { panic("the consumer failed") },
		"and the goroutine": func(view store.View) { _ = view.Close(); runtime.Goexit() },
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t, 2)
			put(t, s, 0, 1)
			view, err := s.View(hashesOf(0, 1))
			require.NoError(t, err)
			var wg sync.WaitGroup
			wg.Go(func() {
				defer func() { _ = recover() }()
				_, _ = view.WriteTo(writerFunc(func([]byte) (int, error) { fail(view); return 0, nil }))
			})
			wg.Wait()
			_ = view.Close()
			require.Zero(t, s.Stats().OpenViews)
			put(t, s, 2, 3)
		})
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(rows []byte) (int, error) { return f(rows) }

func TestAConsumerThatCountsWrongIsAnError(t *testing.T) {
	s := newStore(t, 4)
	put(t, s, 0, 1, 2, 3)
	view, err := s.View(hashesOf(1, 3))
	require.NoError(t, err)
	defer view.Close()
	for _, claim := range []int{-1, testBlock + 1} {
		n, err := view.WriteTo(writerFunc(func([]byte) (int, error) { return claim, nil }))
		require.Error(t, err, "a Write of %d bytes", claim)
		require.Zero(t, n)
	}
}

// TestViewsThatAreClosedWhileTheyAreUsedShowTheirOwnBlocks lets users of a view race
// with the one who closes it, while others open views and take slots. Every use is
// right, or fails.
func TestViewsThatAreClosedWhileTheyAreUsedShowTheirOwnBlocks(t *testing.T) {
	const rounds, users = 400, 3
	s := newStore(t, 6)
	put(t, s, 0, 1, 2, 3)
	want := append(rowsFor(1, 0, testBlock), rowsFor(3, 0, testBlock)...)
	for round := range rounds {
		put(t, s, 0, 1, 2, 3)
		view, err := s.View(hashesOf(1, 3))
		require.NoError(t, err)
		var wg sync.WaitGroup
		for user := range users {
			wg.Go(func() {
				for {
					switch (round + user) % 3 {
					case 0:
						var got bytes.Buffer
						n, err := view.WriteTo(&got)
						if !bytes.Equal(got.Bytes(), want[:n]) || err == nil && int(n) < len(want) {
							t.Errorf("WriteTo gave %x and %v", got.Bytes(), err)
						}
						if err != nil {
							return
						}
					case 1:
						if n := view.Len(); n == 0 {
							return
						} else if n != 2 {
							t.Errorf("a view of 2 blocks has %d", n)
						}
					default:
						if _, err := view.Block(1); err != nil {
							if !errors.Is(err, auxerrors.ErrClosed) {
								t.Errorf("Block: %v", err)
							}
							return
						}
					}
				}
			})
		}
		runtime.Gosched()
		require.NoError(t, view.Close())
		other, err := s.View(hashesOf(0))
		require.NoError(t, err)
		put(t, s, 20+round, 1000+round)
		wg.Wait()
		require.NoError(t, other.Close())
		require.Zero(t, s.Stats().OpenViews)
	}
}
