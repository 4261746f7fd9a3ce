package connector_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
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

func newLoad(t testing.TB, sequences, stepTokens int, check connector.CheckLevel) *load {
	blockBytes, err := qwen.BlockBytes(qwenBlock)
	require.NoError(t, err)
	s, err := store.New(store.Options{MaxBytes: int64(loadSlots * blockBytes), BlockBytes: blockBytes})
	require.NoError(t, err)
	w, err := connector.NewWorker(s, connector.Options{Checked: checked,
		Profile: qwen, BlockTokens: qwenBlock, MaxSequences: sequences, MaxStepTokens: stepTokens, MaxInFlight: 2, Check: check,
	})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, w.Close())
		require.NoError(t, s.Close())
	})
	return &load{worker: w, rowBytes: qwen.RowBytes()}
}

// captured are n rows that no check refuses, all different.
func (l *load) captured(n int) []byte {
	random := rand.New(rand.NewPCG(uint64(n), 7))
	rows := make([]byte, 0, n*l.rowBytes)
	for range n * qwen.Layers {
		for _, id := range random.Perm(qwen.Experts)[:qwen.TopK] {
			rows = append(rows, byte(id))
		}
	}
	return rows
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
	rows     []byte             // of some steps in turn
	hashes   [][]blockhash.Hash // one for each block, made before
	lifetime int
	turn     int
}

// decodeTurns is how many steps have rows of their own: enough that a request's rows
// do not repeat where they are compared, and few enough to stay in the cache.
const decodeTurns = 9

func newDecode(t testing.TB, requests int, check connector.CheckLevel) *decode {
	d := &decode{load: newLoad(t, requests, requests, check), lifetime: 64 * qwenBlock}
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
	d.batch.RowCount = requests
	d.rows = d.captured(decodeTurns * requests)
	return d
}

// next prepares a step. A block's hash comes with the step after the one that
// completed it, and a request that has reached its age makes room for another one.
func (d *decode) next() {
	d.meta.Finished = d.meta.Finished[:0]
	size := len(d.rows) / decodeTurns
	d.batch.Rows = d.rows[d.turn%decodeTurns*size:][:size]
	for i := range d.meta.Scheduled {
		s, at := &d.meta.Scheduled[i], &d.batch.Starts[i]
		s.New, s.EmitStart, s.Keys = false, *at, nil
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
			s.Keys = d.hashes[i][*at/qwenBlock-1 : *at/qwenBlock]
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
	forEachCheck(b, func(b *testing.B, check connector.CheckLevel) { benchmarkDecode(b, newDecode(b, 256, check)) })
}

// forEachCheck runs a benchmark for each amount of checking.
func forEachCheck(b *testing.B, run func(*testing.B, connector.CheckLevel)) {
	for name, check := range map[string]connector.CheckLevel{"sampled": connector.CheckSampled, "all": connector.CheckAll, "off": connector.CheckOff} {
		b.Run("check="+name, func(b *testing.B) { run(b, check) })
	}
}

func benchmarkDecode(b *testing.B, d *decode) {
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
func benchmarkPrefill(b *testing.B, sampled int, check connector.CheckLevel) {
	const tokens = 8192
	l := newLoad(b, 4, tokens, check)
	hashes := make([]blockhash.Hash, 2*loadSlots)
	for i := range hashes {
		hashes[i] = l.hash()
	}
	batch := connector.Batch{IDs: []string{"a"}, Starts: []int{0}, Bounds: []int{0, tokens}, Sampled: []int{sampled}, Rejected: []int{0}, RowCount: tokens, Rows: l.captured(tokens)}
	once := copies(batch.Rows)
	meta := connector.Metadata{Scheduled: []connector.Scheduled{{ID: "a", New: true}}}
	turn := 0
	run := func() {
		blocks := tokens / qwenBlock
		at := turn * blocks % (len(hashes) - blocks + 1) / blocks * blocks
		meta.Scheduled[0].Keys = hashes[at : at+blocks]
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
func BenchmarkPrefillChunkOf8192Tokens(b *testing.B) {
	forEachCheck(b, func(b *testing.B, check connector.CheckLevel) { benchmarkPrefill(b, 0, check) })
}

// A whole prompt is published and handed out.
func BenchmarkPromptOf8192Tokens(b *testing.B) {
	forEachCheck(b, func(b *testing.B, check connector.CheckLevel) { benchmarkPrefill(b, 1, check) })
}

func TestADecodeStepAllocatesNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("LOUD: pools drop what they hold at random under the race detector")
	}
	d := newDecode(t, 64, connector.CheckSampled)
	for range 2 * d.lifetime {
		d.run(t)
	}
	require.Zero(t, testing.AllocsPerRun(2*d.lifetime, func() { d.run(t) }))
}
