package connector_test

import (
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/blockhash"
	"github.com/auxoutput/auxoutput/connector"
	"github.com/auxoutput/auxoutput/routing"
	"github.com/auxoutput/auxoutput/store"
)

// qwen is the profile of Qwen3-30B-A3B: 48 layers, top 8 of 128, 384 bytes a row.
var qwen = routing.Profile{Layers: 48, TopK: 8, Experts: 128}

const qwenBlock = 16

// loadSlots hold all blocks of the requests of a load, and more.
const loadSlots = 1 << 15

// load is a worker with rows to capture.
type load struct {
	worker   *connector.Worker
	out      connector.Output
	rowBytes int
	hashes   uint64
}

func newLoad(t testing.TB, sequences, stepTokens int) *load {
	blockBytes, err := qwen.BlockBytes(qwenBlock)
	require.NoError(t, err)
	s, err := store.New(store.Options{MaxBytes: int64(loadSlots * blockBytes), BlockBytes: blockBytes})
	require.NoError(t, err)
	w, err := connector.NewWorker(s, connector.Options{
		Profile: qwen, BlockTokens: qwenBlock, MaxSequences: sequences, MaxStepTokens: stepTokens, MaxInFlight: 2,
	})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, w.Close())
		require.NoError(t, s.Close())
	})
	return &load{worker: w, rowBytes: qwen.RowBytes()}
}

// hash is a new one.
func (l *load) hash() blockhash.Hash {
	l.hashes++
	var digest [32]byte
	binary.LittleEndian.PutUint64(digest[:], l.hashes*0x9e3779b97f4a7c15)
	hash, err := blockhash.FromBytes(digest[:])
	if err != nil {
		panic(err) // 32 bytes are a size
	}
	return hash
}

func (l *load) step(t testing.TB, meta *connector.Metadata, batch connector.Batch) {
	step, err := l.worker.Begin(meta)
	if err == nil {
		err = l.worker.Process(step, batch, &l.out)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// copies is how long it takes to copy rows once.
func copies(rows []byte) time.Duration {
	dst := make([]byte, len(rows))
	copy(dst, rows)
	n := max(100, 1<<28/len(rows))
	start := time.Now()
	for range n {
		copy(dst, rows)
	}
	return time.Since(start) / time.Duration(n)
}

// decode is a load of requests that run one token a step. Each begins at another
// place in its block, and lasts lifetime tokens.
type decode struct {
	*load
	meta     connector.Metadata
	batch    connector.Batch
	hashes   [][]blockhash.Hash // one for each block, made before
	lifetime int
	turn     int
}

func newDecode(t testing.TB, requests int) *decode {
	d := &decode{load: newLoad(t, requests, requests), lifetime: 64 * qwenBlock}
	d.batch.Bounds = append(d.batch.Bounds, 0)
	for i := range requests {
		id := fmt.Sprint("request-", i)
		d.batch.IDs = append(d.batch.IDs, id)
		d.batch.Starts = append(d.batch.Starts, 0)
		d.batch.Bounds = append(d.batch.Bounds, i+1)
		d.batch.Sampled = append(d.batch.Sampled, 1)
		d.batch.Rejected = append(d.batch.Rejected, 0)
		d.meta.Scheduled = append(d.meta.Scheduled, connector.Scheduled{ID: id, New: true})
		var hashes []blockhash.Hash
		for range d.lifetime / qwenBlock {
			hashes = append(hashes, d.hash())
		}
		d.hashes = append(d.hashes, hashes)
	}
	d.batch.Rows = make([]byte, requests*d.rowBytes)
	return d
}

// next prepares a step. A block's hash comes with the step after the one that
// completed it, and a request that has reached its age makes room for another one.
func (d *decode) next() {
	d.meta.Finished = d.meta.Finished[:0]
	for i := range d.meta.Scheduled {
		s, at := &d.meta.Scheduled[i], &d.batch.Starts[i]
		s.New, s.EmitStart, s.Hashes = false, *at, nil
		switch {
		case d.turn == 0 || *at == d.lifetime:
			if d.turn > 0 {
				d.meta.Finished = append(d.meta.Finished, connector.Update{ID: s.ID})
			}
			s.New, s.EmitStart, *at = true, 0, 0
		case d.turn < qwenBlock && i%qwenBlock >= d.turn: // starts later than others
			d.meta.Finished = append(d.meta.Finished, connector.Update{ID: s.ID})
			s.New, s.EmitStart, *at = true, 0, 0
		case *at%qwenBlock == 0:
			s.Hashes = d.hashes[i][*at/qwenBlock-1 : *at/qwenBlock]
		}
	}
	d.turn++
}

func (d *decode) run(t testing.TB) {
	d.next()
	d.step(t, &d.meta, d.batch)
	for i := range d.batch.Starts {
		d.batch.Starts[i]++
	}
}

// A decode step of 256 requests: 256 rows, 16 blocks published, 256 rows out.
func BenchmarkDecodeStepOf256Requests(b *testing.B) {
	d := newDecode(b, 256)
	for range 3 * d.lifetime {
		d.run(b)
	}
	once := copies(d.batch.Rows)
	b.ReportAllocs()
	b.SetBytes(int64(len(d.batch.Rows)))
	for b.Loop() {
		d.run(b)
	}
	b.ReportMetric(float64(b.Elapsed())/float64(b.N)/float64(once), "x-copy")
}

// prefill runs prompts in chunks of 8,192 tokens, whose hashes are known.
func benchmarkPrefill(b *testing.B, sampled int) {
	const tokens = 8192
	l := newLoad(b, 4, tokens)
	hashes := make([]blockhash.Hash, 2*loadSlots)
	for i := range hashes {
		hashes[i] = l.hash()
	}
	batch := connector.Batch{IDs: []string{"a"}, Starts: []int{0}, Bounds: []int{0, tokens}, Sampled: []int{sampled}, Rejected: []int{0}, Rows: make([]byte, tokens*l.rowBytes)}
	once := copies(batch.Rows)
	meta := connector.Metadata{Scheduled: []connector.Scheduled{{ID: "a", New: true}}}
	turn := 0
	run := func() {
		blocks := tokens / qwenBlock
		at := turn * blocks % (len(hashes) - blocks + 1) / blocks * blocks
		meta.Scheduled[0].Hashes = hashes[at : at+blocks]
		if turn++; turn == 2 {
			meta.Finished = []connector.Update{{ID: "a"}}
		}
		l.step(b, &meta, batch)
	}
	for range len(hashes) / (tokens / qwenBlock) {
		run()
	}
	b.ReportAllocs()
	b.SetBytes(int64(len(batch.Rows)))
	for b.Loop() {
		run()
	}
	b.ReportMetric(float64(b.Elapsed())/float64(b.N)/float64(once), "x-copy")
}

// A part of a prompt is published.
func BenchmarkPrefillChunkOf8192Tokens(b *testing.B) { benchmarkPrefill(b, 0) }

// A whole prompt is published and handed out.
func BenchmarkPromptOf8192Tokens(b *testing.B) { benchmarkPrefill(b, 1) }

func TestADecodeStepAllocatesNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("LOUD: pools drop what they hold at random under the race detector")
	}
	d := newDecode(t, 64)
	for range 2 * d.lifetime {
		d.run(t)
	}
	require.Zero(t, testing.AllocsPerRun(2*d.lifetime, func() { d.run(t) }))
}
