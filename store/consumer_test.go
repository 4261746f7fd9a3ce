package store_test

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/store"
)

// slowConsumer takes what it is given only when it is told to go on.
type slowConsumer struct {
	bytes.Buffer
	began chan struct{} // closed with the first write
	goOn  chan struct{}
}

func newSlowConsumer() *slowConsumer {
	return &slowConsumer{began: make(chan struct{}), goOn: make(chan struct{})}
}

func (c *slowConsumer) Write(rows []byte) (int, error) {
	select {
	case <-c.began:
	default:
		close(c.began)
	}
	<-c.goOn
	return c.Buffer.Write(rows)
}

// writes lets a consumer take a view and says how that ended.
func writes(view store.View, consumer io.Writer) chan error {
	ended := make(chan error, 1)
	go func() {
		_, err := view.WriteTo(consumer)
		ended <- err
	}()
	return ended
}

func TestASlowConsumerOfAViewHoldsUpNobodyElse(t *testing.T) {
	s := newStore(t, 4)
	put(t, s, 0, 1)
	want := append(rowsFor(0, 0, testBlock), rowsFor(1, 0, testBlock)...)
	view, err := s.View(hashesOf(0, 1))
	require.NoError(t, err)
	consumer := newSlowConsumer()
	ended := writes(view, consumer)
	<-consumer.began

	for n := 2; n < 500; n++ { // through the two slots that are left
		put(t, s, n)
		rows, err := s.Get(nil, hashesOf(n))
		require.NoError(t, err)
		require.Equal(t, rowsFor(n, 0, testBlock), rows)
	}
	rows, err := s.Get(nil, hashesOf(0, 1))
	require.NoError(t, err, "what is viewed is read by others too")
	require.Equal(t, want, rows)
	_, err = s.Reset()
	require.NoError(t, err, "not even a reset waits")
	put(t, s, 600, 601)

	close(consumer.goOn)
	require.NoError(t, <-ended)
	require.Equal(t, want, consumer.Bytes(), "whatever happened meanwhile")
	require.NoError(t, view.Close())
	put(t, s, 700, 701, 702, 703)
	stats := s.Stats()
	require.Equal(t, 4, stats.Used, "all slots are there again")
	require.Zero(t, stats.OpenViews+stats.Orphaned)
}

func TestCloseWaitsForASlowConsumerAndEverybodyElseIsTurnedAway(t *testing.T) {
	s, err := store.New(store.Options{MaxBytes: 4 * testBlock, BlockBytes: testBlock})
	require.NoError(t, err)
	put(t, s, 0)
	view, err := s.View(hashesOf(0))
	require.NoError(t, err)
	consumer := newSlowConsumer()
	ended := writes(view, consumer)
	<-consumer.began
	closed := make(chan error, 1)
	go func() { closed <- s.Close() }()
	for _, err = s.Get(nil, hashesOf(0)); err == nil; _, err = s.Get(nil, hashesOf(0)) {
		runtime.Gosched() // until Close has begun
	}
	require.ErrorIs(t, err, auxerrors.ErrClosed)
	_, err = s.Put(store.Batch{Blocks: blocksOf(1)})
	require.ErrorIs(t, err, auxerrors.ErrClosed)
	require.Empty(t, closed, "the memory is still being read")

	close(consumer.goOn)
	require.NoError(t, <-ended)
	require.Equal(t, rowsFor(0, 0, testBlock), consumer.Bytes())
	require.Empty(t, closed, "the view is still open")
	require.NoError(t, view.Close())
	require.NoError(t, <-closed)
}

// failingConsumer takes so many writes and then fails.
type failingConsumer struct {
	writes int
	fail   func(rows []byte) (int, error)
}

func (c *failingConsumer) Write(rows []byte) (int, error) {
	if c.writes--; c.writes < 0 {
		return c.fail(rows)
	}
	return len(rows), nil
}

func TestAConsumerThatFailsLeavesTheViewToItsOwnerAndTheStoreUnharmed(t *testing.T) {
	broken := errors.New("the consumer is broken")
	for name, tc := range map[string]struct {
		fail   func(rows []byte) (int, error)
		panics bool
		reason error
		wrote  int64 // of the first piece
	}{
		"it panics":               {func([]byte) (int, error) { panic(broken) }, true, nil, 0},
		"it returns an error":     {func([]byte) (int, error) { return 3, broken }, false, broken, 3},
		"it takes less than all":  {func([]byte) (int, error) { return 5, nil }, false, io.ErrShortWrite, 5},
		"it ends its own routine": {func([]byte) (int, error) { runtime.Goexit(); return 0, nil }, false, nil, 0},
	} {
		for before := range 2 {
			t.Run(name, func(t *testing.T) {
				s := newStore(t, 4)
				put(t, s, 0, 1, 2, 3)
				view, err := s.View(hashesOf(0, 2)) // two pieces, as they are no neighbours
				require.NoError(t, err)
				consumer := &failingConsumer{before, tc.fail}
				wrote, err := consume(view, consumer, tc.panics)
				require.Equal(t, tc.panics, errors.Is(err, errPanicked))
				if tc.reason != nil {
					require.ErrorIs(t, err, tc.reason)
					require.Equal(t, int64(before*testBlock)+tc.wrote, wrote)
				}

				require.Equal(t, 1, s.Stats().OpenViews, "it is still its owner's")
				rows, err := view.Block(1)
				require.NoError(t, err)
				require.Equal(t, rowsFor(2, 0, testBlock), rows)
				put(t, s, 4, 5)
				require.Equal(t, 1, s.Prefix(hashesOf(2)), "and still holds its blocks")
				var again bytes.Buffer
				_, err = view.WriteTo(&again)
				require.NoError(t, err, "another consumer can have them")
				require.Equal(t, append(rowsFor(0, 0, testBlock), rowsFor(2, 0, testBlock)...), again.Bytes())

				require.NoError(t, view.Close())
				require.Equal(t, hashesOf(5, 4, 2, 0), s.Snapshot().Evictable)
				put(t, s, 6, 7, 8, 9)
				require.Equal(t, 4, s.Stats().Used)
				require.Zero(t, s.Stats().OpenViews+s.Stats().Orphaned)
			})
		}
	}
}

var errPanicked = errors.New("panicked")

// consume lets a consumer take a view in a goroutine of its own, which the consumer
// may end.
func consume(view store.View, consumer io.Writer, panics bool) (wrote int64, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		if panics { // else recover would hide what is not meant to happen
			defer func() {
				if recover() != nil {
					err = errPanicked
				}
			}()
		}
		wrote, err = view.WriteTo(consumer)
	}()
	<-done
	return wrote, err
}
