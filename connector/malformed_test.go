package connector_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/auxoutput/auxoutput/blockhash"
	"github.com/auxoutput/auxoutput/connector"
)

// Whatever steps somebody makes up, nothing panics, what is refused changes
// nothing, and when all requests have ended nothing is left.
func TestStepsThatMakeNoSenseNeverPanicAndLeaveNothing(t *testing.T) {
	ids := []string{"a", "b", "c", ""}
	names := []string{"0", "1", "2", "3", "4"}
	rapid.Check(t, func(rt *rapid.T) {
		mode := rapid.SampledFrom([]connector.Mode{connector.FailClosed, connector.Reference, connector.RowGated, connector.Linked}).Draw(rt, "mode")
		b := newBench(t, rapid.IntRange(1, 4).Draw(rt, "slots"), func(o *connector.Options) { o.Mode = mode })
		id := func(rt *rapid.T) string { return rapid.SampledFrom(ids).Draw(rt, "id") }
		small := func(rt *rapid.T) int {
			return rapid.OneOf(rapid.IntRange(0, 9), rapid.SampledFrom([]int{-1, math.MaxInt / 2, math.MaxInt, math.MinInt})).Draw(rt, "number")
		}
		hashes := func(rt *rapid.T) []blockhash.Hash {
			list := hashesOf(rapid.SliceOfN(rapid.SampledFrom(names), 0, 3).Draw(rt, "hashes")...)
			if rapid.IntRange(0, 20).Draw(rt, "zero") == 0 {
				list = append(list, blockhash.Hash{})
			}
			return list
		}
		updates := func(rt *rapid.T) (list []connector.Update) {
			for range rapid.IntRange(0, 2).Draw(rt, "updates") {
				list = append(list, connector.Update{ID: id(rt), Keys: hashes(rt)})
			}
			return list
		}
		var steps []connector.Step
		generation := uint64(0)
		rt.Repeat(map[string]func(*rapid.T){
			"begin": func(rt *rapid.T) {
				if rapid.IntRange(0, 9).Draw(rt, "reset") == 0 {
					generation += uint64(rapid.IntRange(0, 3).Draw(rt, "generations"))
				}
				meta := connector.Metadata{Generation: generation, Finished: updates(rt), Updates: updates(rt)}
				if rapid.IntRange(0, 9).Draw(rt, "removal") == 0 {
					meta.Removed = hashes(rt)
				}
				for range rapid.IntRange(0, 3).Draw(rt, "scheduled") {
					meta.Scheduled = append(meta.Scheduled, connector.Scheduled{ID: id(rt), New: rapid.Bool().Draw(rt, "new"), EmitStart: small(rt), Keys: hashes(rt)})
				}
				worker := b.worker.Stats()
				step, err := b.worker.Begin(&meta)
				if err == nil {
					steps = append(steps, step)
				} else if len(meta.Removed) == 0 {
					require.Equal(t, worker, b.worker.Stats())
				}
			},
			"process": func(rt *rapid.T) {
				if len(steps) == 0 {
					return
				}
				step := steps[rapid.IntRange(0, len(steps)-1).Draw(rt, "step")]
				batch := connector.Batch{Rows: make([]byte, rapid.IntRange(0, 20).Draw(rt, "rows")), Bounds: []int{0}}
				for range rapid.IntRange(0, 3).Draw(rt, "requests") {
					batch.IDs = append(batch.IDs, id(rt))
					batch.Starts = append(batch.Starts, small(rt))
					batch.Bounds = append(batch.Bounds, batch.Bounds[len(batch.Bounds)-1]+rapid.IntRange(-1, 8).Draw(rt, "tokens"))
					batch.Sampled = append(batch.Sampled, rapid.IntRange(-1, 2).Draw(rt, "sampled"))
					batch.Rejected = append(batch.Rejected, rapid.IntRange(-1, 3).Draw(rt, "rejected"))
				}
				batch.RowCount = batch.Bounds[len(batch.Bounds)-1]
				if rapid.IntRange(0, 3).Draw(rt, "misstated") == 0 {
					batch.RowCount = rapid.IntRange(-1, 20).Draw(rt, "stated")
				} else if rapid.Bool().Draw(rt, "of that size") {
					batch.Rows = make([]byte, max(0, batch.RowCount))
				}
				if err := b.worker.Process(step, batch, &b.out); err != nil {
					require.Empty(t, b.out.Requests)
				}
			},
			"abandon": func(rt *rapid.T) {
				if len(steps) > 0 {
					b.worker.Abandon(steps[rapid.IntRange(0, len(steps)-1).Draw(rt, "step")], &b.out)
				}
			},
			"admit": func(rt *rapid.T) {
				if gate := b.worker.Gate(); gate != nil {
					who, list := id(rt), hashes(rt)
					gate.Admit(who, list)
					gate.Reserve(who, append(list, hashesOf("5")...))
				}
			},
			"drop": func(rt *rapid.T) {
				if gate := b.worker.Gate(); gate != nil {
					require.NoError(t, gate.Drop(id(rt)))
				}
			},
			"": func(*rapid.T) {
				held, stored := b.worker.Stats(), b.store.Stats()
				require.Equal(t, held.PoolBlocks, held.PoolFree+held.Tails+held.Waiting)
				require.LessOrEqual(t, stored.Used, stored.Slots)
				if gate := b.worker.Gate(); gate != nil {
					require.GreaterOrEqual(t, gate.Room(), 0)
				}
			},
		})
		require.NoError(t, b.worker.Close())
		b.empty()
	})
}

func FuzzCapture(f *testing.F) {
	f.Add(0, 4, []byte("abcd"), 3, 1)
	f.Add(4, 2, []byte("ab"), 6, 2)
	f.Fuzz(func(t *testing.T, start, n int, rows []byte, next, more int) {
		pool, err := connector.NewTailPool(3, 4, 1)
		require.NoError(t, err)
		var tail connector.Tail
		if _, err := pool.Capture(&tail, start, n, rows, nil); err != nil {
			require.Equal(t, connector.Tail{}, tail)
			require.Equal(t, 3, pool.Free())
		}
		was := tail
		if _, err := pool.Capture(&tail, next, more, rows[:min(len(rows), max(more, 0))], nil); err != nil {
			require.Equal(t, was, tail)
		}
	})
}
