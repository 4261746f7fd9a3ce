package routing_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/routing"
)

func TestStreamingGivesTheSameBytesAsMemory(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, f := range formats {
		for _, experts := range []int{64, 300} {
			for _, n := range []int{0, 1, 2, 3, 1000} {
				t.Run(fmt.Sprintf("%v of %d rows, %d experts", f, n, experts), func(t *testing.T) {
					rows := sample(t, profile(t, 5, 7, experts), 3, n, 0)
					want := encode(t, rows, f)

					var got bytes.Buffer
					enc, err := routing.NewEncoder(&got, f, rows.Profile, rows.Start, n)
					require.NoError(t, err)
					require.EqualValues(t, len(want), enc.Size())
					for data := rows.Data; len(data) > 0; {
						piece := min(random.IntN(100_000)%(1<<random.IntN(18)+1), len(data))
						wrote, err := enc.Write(data[:piece])
						require.NoError(t, err)
						require.Equal(t, piece, wrote)
						data = data[piece:]
					}
					require.NoError(t, enc.Close())
					require.Equal(t, want, got.Bytes())
				})
			}
		}
	}
}

func TestAppendingKeepsWhatIsThere(t *testing.T) {
	rows := sample(t, profile(t, 2, 2, 64), 0, 3, 0)
	for _, f := range formats {
		got, err := rows.Append([]byte("before"), f)
		require.NoError(t, err)
		require.Equal(t, "before"+string(encode(t, rows, f)), string(got))
	}
	got, err := rows.Append([]byte("before"), routing.Format(99))
	require.ErrorContains(t, err, "Format(99)")
	require.Equal(t, "before", string(got))
	_, err = routing.Rows{}.Append(nil, routing.FormatRaw)
	require.ErrorIs(t, err, auxerrors.ErrTooSmall)
	_, err = routing.Array{}.Append(nil, routing.FormatRaw, 0)
	require.Error(t, err)
	_, err = rows.Array().Append(nil, routing.FormatObjectJSON, -1)
	require.ErrorIs(t, err, auxerrors.ErrTooSmall)
}

func TestAWindowTakesPartOfBlocks(t *testing.T) {
	const blockTokens, tokens = 16, 75 // 4 blocks and a tail of 10 rows
	all := sample(t, profile(t, 6, 4, 64), 0, tokens-1, 0)
	full, tail := blocksOf(all, blockTokens)
	for _, start := range []int{0, 1, 15, 16, 17, 63, 64, 70, 74} {
		want, err := all.Slice(start, tokens-1)
		require.NoError(t, err)
		var got bytes.Buffer
		enc, err := routing.NewEncoder(&got, routing.FormatNpyJSON, all.Profile, start, want.Len())
		require.NoError(t, err)

		first := start / blockTokens // of the blocks that are looked up
		stored := len(full)*blockTokens - start
		if stored > 0 {
			_, err = full[first:].WriteTo(enc.Window(start%blockTokens, stored))
			require.NoError(t, err)
		}
		_, err = bytes.NewReader(tail).WriteTo(enc.Window(max(-stored, 0), len(tail)))
		require.NoError(t, err)
		require.NoError(t, enc.Close(), "start %d", start)
		require.Equal(t, encode(t, want, routing.FormatNpyJSON), got.Bytes(), "start %d", start)
	}
}

func TestAWindowDropsWhatFollows(t *testing.T) {
	all := sample(t, profile(t, 2, 2, 64), 0, 32, 0)
	full, _ := blocksOf(all, 8)
	var got bytes.Buffer
	enc, err := routing.NewEncoder(&got, routing.FormatRaw, all.Profile, 5, 20)
	require.NoError(t, err)
	_, err = full.WriteTo(enc.Window(5, 20))
	require.NoError(t, err)
	require.NoError(t, enc.Close())
	want, err := all.Slice(5, 25)
	require.NoError(t, err)
	require.Equal(t, want.Data, got.Bytes())
}

func TestAWindowBelowZeroIsRefused(t *testing.T) {
	enc, err := routing.NewEncoder(io.Discard, routing.FormatRaw, profile(t, 2, 2, 64), 0, 1)
	require.NoError(t, err)
	_, err = enc.Window(-1, 5).Write(make([]byte, 4))
	require.ErrorIs(t, err, auxerrors.ErrTooSmall)
	require.ErrorIs(t, enc.Close(), auxerrors.ErrTooSmall)
}

func TestAWindowMayBeWiderThanMemory(t *testing.T) {
	enc, err := routing.NewEncoder(io.Discard, routing.FormatRaw, profile(t, 64, 8, 64), 0, 1)
	require.NoError(t, err)
	_, err = enc.Window(0, math.MaxInt).Write(make([]byte, 512))
	require.NoError(t, err)
	_, err = enc.Window(math.MaxInt, 1).Write(make([]byte, 512))
	require.NoError(t, err)
	require.NoError(t, enc.Close())
}

func TestAnAnswerWithTooFewRowsIsNeverWellFormed(t *testing.T) {
	p := profile(t, 2, 2, 64)
	for _, f := range []routing.Format{routing.FormatNpyJSON, routing.FormatObjectJSON} {
		var got bytes.Buffer
		enc, err := routing.NewEncoder(&got, f, p, 0, 9)
		require.NoError(t, err)
		_, err = enc.Write(sample(t, p, 0, 8, 0).Data)
		require.NoError(t, err)
		for range 2 {
			err = enc.Close()
			require.EqualError(t, err, "auxoutput: rows: 8, expected 9")
			require.ErrorIs(t, err, auxerrors.ErrMismatch)
		}
		require.False(t, json.Valid(got.Bytes()))
	}
}

func TestRowsBeyondTheCountAreRefusedWhole(t *testing.T) {
	p := profile(t, 2, 2, 64)
	var got bytes.Buffer
	enc, err := routing.NewEncoder(&got, routing.FormatRaw, p, 0, 2)
	require.NoError(t, err)
	_, err = enc.Write(make([]byte, 4))
	require.NoError(t, err)
	n, err := enc.Write(make([]byte, 8))
	require.EqualError(t, err, "auxoutput: rows: 3, expected 2")
	require.Zero(t, n)
	require.Equal(t, 4, got.Len())
	_, err = enc.Write(make([]byte, 4))
	require.EqualError(t, err, "auxoutput: rows: 3, expected 2")

	enc, err = routing.NewEncoder(&got, routing.FormatRaw, p, 0, 2)
	require.NoError(t, err)
	_, err = enc.Write(make([]byte, 9))
	require.EqualError(t, err, "auxoutput: bytes of rows: 9, expected 8")
}

func TestAnEncoderThatCannotBeWritesNothing(t *testing.T) {
	p := profile(t, 2, 2, 64)
	for name, tc := range map[string]struct {
		f           routing.Format
		p           routing.Profile
		start, rows int
	}{
		"no format":           {0, p, 0, 1},
		"no profile":          {routing.FormatNpy, routing.Profile{}, 0, 1},
		"rows below 0":        {routing.FormatNpy, p, 0, -1},
		"a start below 0":     {routing.FormatNpy, p, -1, 1},
		"positions too large": {routing.FormatNpy, p, math.MaxInt, 1},
		"too many bytes":      {routing.FormatNpy, p, 0, math.MaxInt},
	} {
		var got bytes.Buffer
		_, err := routing.NewEncoder(&got, tc.f, tc.p, tc.start, tc.rows)
		require.Error(t, err, name)
		require.Zero(t, got.Len(), name)
	}
}

// A text that is longer than an int64 can count is refused, though the rows alone
// are not. No 32-bit int announces that many.
func TestATextThatCannotBeCountedIsRefused(t *testing.T) {
	if strconv.IntSize < 64 {
		t.Skip("LOUD: no int of this platform is large enough")
	}
	var got bytes.Buffer
	_, err := routing.NewEncoder(&got, routing.FormatNpyBase64, profile(t, 1, 1, 1), 0, math.MaxInt-1)
	require.ErrorIs(t, err, auxerrors.ErrTooLarge)
	require.Zero(t, got.Len())
}

// The text of 24,576 bytes fills the buffer of the encoder exactly, and that may
// happen in the middle of a group of three, or as the last group is padded.
func TestASinkThatFailsAsTheBufferFillsIsReported(t *testing.T) {
	const full = 24 << 10
	p := profile(t, 1, 1, 256)
	for _, tc := range []struct {
		name   string
		pieces []int
	}{
		{"in a group that came in two pieces", []int{full - 1, 1}},
		{"in the group that the end pads", []int{full - 1}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			rows := 0
			for _, n := range tc.pieces {
				rows += n
			}
			enc, err := routing.NewEncoder(&failing{room: 10}, routing.FormatRawBase64, p, 0, rows)
			require.NoError(t, err)
			for _, n := range tc.pieces {
				if _, err = enc.Write(make([]byte, n)); err != nil {
					break
				}
			}
			if err == nil {
				err = enc.Close()
			}
			require.ErrorIs(t, err, errDiskFull)
			require.ErrorIs(t, enc.Close(), errDiskFull, "the first error stays")
		})
	}
}

func TestAWindowReportsWhatTheSinkReports(t *testing.T) {
	enc, err := routing.NewEncoder(&failing{room: 5}, routing.FormatRaw, profile(t, 1, 2, 64), 0, 4)
	require.NoError(t, err)
	n, err := enc.Window(1, 4).Write(make([]byte, 12))
	require.ErrorIs(t, err, errDiskFull)
	require.Equal(t, 2+5, n, "what was dropped and what was written")
}

func TestAClosedEncoderSaysSo(t *testing.T) {
	enc, err := routing.NewEncoder(io.Discard, routing.FormatNpy, profile(t, 2, 2, 64), 0, 0)
	require.NoError(t, err)
	require.NoError(t, enc.Close())
	require.ErrorIs(t, enc.Close(), auxerrors.ErrClosed)
	_, err = enc.Write(nil)
	require.ErrorIs(t, err, auxerrors.ErrClosed)
}

// failing fails once so many bytes were written; short makes it lie about it.
type failing struct {
	room  int
	short bool
}

var errDiskFull = errors.New("disk full")

func (f *failing) Write(data []byte) (int, error) {
	n := min(f.room, len(data))
	f.room -= n
	if n < len(data) && !f.short {
		return n, errDiskFull
	}
	return n, nil
}

func TestAFailingSinkIsReported(t *testing.T) {
	rows := sample(t, profile(t, 48, 8, 64), 0, 400, 0)
	for _, f := range formats {
		size := len(encode(t, rows, f))
		for _, room := range []int{0, 1, 100, 129, 40_000, size - 1} {
			for _, sink := range []*failing{{room: room}, {room: room, short: true}} {
				want := errDiskFull
				if sink.short {
					want = io.ErrShortWrite
				}
				err := func() error {
					enc, err := routing.NewEncoder(sink, f, rows.Profile, 0, rows.Len())
					if err != nil {
						return err
					}
					full, tail := blocksOf(rows, 16)
					_, writeErr := full.WriteTo(enc)
					if writeErr == nil {
						_, writeErr = enc.Write(tail)
					}
					closeErr := enc.Close()
					if writeErr != nil {
						require.Equal(t, writeErr, closeErr, "the first error stays")
					}
					return closeErr
				}()
				require.ErrorIs(t, err, want, "%v with room for %d", f, room)
			}
		}
	}
}

func TestStreamingTakesConstantMemory(t *testing.T) {
	p := profile(t, 48, 8, 128)
	block := make([]byte, 16*p.RowBytes())
	for _, f := range formats {
		perRun := func(blocks int) float64 {
			return testing.AllocsPerRun(5, func() {
				enc, err := routing.NewEncoder(io.Discard, f, p, 0, 16*blocks)
				require.NoError(t, err)
				for range blocks {
					_, err = enc.Write(block)
					require.NoError(t, err)
				}
				require.NoError(t, enc.Close())
			})
		}
		// The race detector makes a few allocations of its own.
		require.InDelta(t, perRun(100), perRun(1000), 8, "%v", f)
	}
}

func ExampleEncoder() {
	p, _ := routing.NewProfile(1, 2, 64)
	stored := blocks{{10, 11, 20, 21}, {12, 13, 22, 23}} // two blocks of two tokens, as a view of a store writes them
	tail := []byte{14, 15}

	// Six tokens have five rows; the client has the first one already.
	const start, tokens = 1, 6
	rows, _ := routing.RowCount(tokens, start)
	enc, err := routing.NewEncoder(os.Stdout, routing.FormatObjectJSON, p, start, rows)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, _ = stored.WriteTo(enc.Window(start, rows)) // an error stays until Close
	_, _ = enc.Write(tail)
	fmt.Println("", enc.Close())
	// Output: {"shape":[4,1,2],"dtype":"uint8","start":1,"data":"FBUMDRYXDg8="} <nil>
}
