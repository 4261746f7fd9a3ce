package connector_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/connector"
)

// One goroutine schedules and begins steps, another one processes their outputs.
func TestTheTwoHalvesMayRunAtTheSameTime(t *testing.T) {
	const requests, steps, slots = 4, 400, 24
	b := newBench(t, slots, gated, func(o *connector.Options) { o.MaxStepTokens = 4 * requests })
	type sent struct {
		step  connector.Step
		batch connector.Batch
	}
	flying, through := make(chan sent), make(chan bool, 2)
	through <- true
	through <- true
	errs := make(chan error, 1)
	go func() {
		defer close(errs)
		var out connector.Output
		for s := range flying {
			err := b.worker.Process(s.step, s.batch, &out)
			for i := range out.Requests {
				if r := &out.Requests[i]; r.Err != nil || string(r.Rows) != string(s.batch.Rows[4*i:4*i+4]) {
					err = fmt.Errorf("%v: %q, %v", r.ID, r.Rows, r.Err)
				}
			}
			if err != nil {
				errs <- err
				return
			}
			through <- true
		}
	}()

	// Every step each request runs one block; after two it ends and another begins.
	ids := make([]string, requests)
	for step := range steps {
		<-through
		meta := &connector.Metadata{}
		batch := connector.Batch{Bounds: []int{0}}
		for i := range ids {
			begins := step%2 == 0
			hashes := hashesOf(fmt.Sprint(i, " ", step/2, " 0"), fmt.Sprint(i, " ", step/2, " 1"))
			if begins {
				if ids[i] != "" {
					meta.Finished = append(meta.Finished, connector.Update{ID: ids[i]})
				}
				ids[i] = fmt.Sprint("r", i, " ", step)
				_, err := b.worker.Gate().Admit(ids[i], nil)
				require.NoError(t, err)
			}
			ok, err := b.worker.Gate().Reserve(ids[i], hashes[:1+step%2])
			require.NoError(t, err)
			require.True(t, ok)
			meta.Scheduled = append(meta.Scheduled, connector.Scheduled{ID: ids[i], New: begins, Keys: hashes[step%2 : 1+step%2]})
			batch.IDs = append(batch.IDs, ids[i])
			batch.Starts = append(batch.Starts, 4*(step%2))
			batch.Bounds = append(batch.Bounds, 4*(i+1))
			batch.RowCount = 4 * (i + 1)
			batch.Sampled = append(batch.Sampled, 1)
			batch.Rejected = append(batch.Rejected, 0)
			batch.Rows = append(batch.Rows, []byte{byte(step), byte(step >> 8), byte(i), 'x'}...)
		}
		began, err := b.worker.Begin(meta)
		require.NoError(t, err)
		flying <- sent{began, batch}
	}
	close(flying)
	require.NoError(t, <-errs)
	var last connector.Metadata
	for _, id := range ids {
		last.Finished = append(last.Finished, connector.Update{ID: id})
	}
	b.begin(&last)
	b.empty()
	require.Equal(t, slots, b.worker.Gate().Room())
}
