package routing_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/routing"
)

// answer32k is the answer to a long request: 32,768 tokens of Qwen3-30B-A3B.
func answer32k(b *testing.B) routing.Rows {
	b.Helper()
	return sample(b, profile(b, 48, 8, 128), 0, 32<<10, 0)
}

// BenchmarkEncode32k writes the answer in several ways. "x-base64" is the time
// relative to the bare base64 of the same bytes into memory that is there already,
// measured in the same run, turn by turn.
func BenchmarkEncode32k(b *testing.B) {
	rows := answer32k(b)
	full, tail := blocksOf(rows, 16)
	bare := make([]byte, base64.StdEncoding.EncodedLen(len(rows.Data)))
	buffer := make([]byte, 0, len(bare)+1<<10)
	stream := func(f routing.Format) error {
		enc, err := routing.NewEncoder(io.Discard, f, rows.Profile, 0, rows.Len())
		if err != nil {
			return err
		}
		if _, err := full.WriteTo(enc); err != nil {
			return err
		}
		if _, err := enc.Write(tail); err != nil {
			return err
		}
		return enc.Close()
	}
	for _, way := range []struct {
		name   string
		encode func() error
	}{
		{"append npy base64", func() error { _, err := rows.Append(buffer, routing.FormatNpyBase64); return err }},
		{"stream npy base64", func() error { return stream(routing.FormatNpyBase64) }},
		{"stream npy json", func() error { return stream(routing.FormatNpyJSON) }},
		{"stream object json", func() error { return stream(routing.FormatObjectJSON) }},
		{"encoding/json of a field", func() error { _, err := json.Marshal(routing.NpyField(rows)); return err }},
		{"encoding/json of bytes", func() error {
			file, err := rows.Append(nil, routing.FormatNpy)
			if err == nil {
				_, err = json.Marshal(file)
			}
			return err
		}},
	} {
		b.Run(way.name, func(b *testing.B) {
			b.SetBytes(int64(len(rows.Data)))
			b.ReportAllocs()
			var ours, base time.Duration
			for b.Loop() {
				b.StopTimer()
				from := time.Now()
				base64.StdEncoding.Encode(bare, rows.Data)
				base += time.Since(from)
				b.StartTimer()
				from = time.Now()
				err := way.encode()
				ours += time.Since(from)
				require.NoError(b, err)
			}
			b.ReportMetric(float64(ours)/float64(base), "x-base64")
		})
	}
}

// BenchmarkEncodeSizes shows that streaming takes the same memory for any answer.
func BenchmarkEncodeSizes(b *testing.B) {
	for _, tc := range []struct {
		name string
		rows int
	}{{"1k", 1 << 10}, {"32k", 32 << 10}, {"128k", 128 << 10}} {
		b.Run(tc.name, func(b *testing.B) {
			p := profile(b, 48, 8, 128)
			block := make([]byte, 16*p.RowBytes())
			b.ReportAllocs()
			for b.Loop() {
				enc, err := routing.NewEncoder(io.Discard, routing.FormatNpyJSON, p, 0, tc.rows)
				require.NoError(b, err)
				for range tc.rows / 16 {
					_, err = enc.Write(block)
					require.NoError(b, err)
				}
				require.NoError(b, enc.Close())
			}
		})
	}
}

func BenchmarkDecode32k(b *testing.B) {
	rows := answer32k(b)
	for _, f := range []routing.Format{routing.FormatNpyJSON, routing.FormatObjectJSON} {
		value := encode(b, rows, f)
		b.Run(f.String(), func(b *testing.B) {
			b.SetBytes(int64(len(rows.Data)))
			b.ReportAllocs()
			for b.Loop() {
				field, err := routing.DecodeField(value)
				require.NoError(b, err)
				_, err = field.Rows(rows.Profile, 0)
				require.NoError(b, err)
			}
		})
	}
}

func BenchmarkCheck32k(b *testing.B) {
	rows := answer32k(b)
	for name, check := range map[string]routing.Checks{
		"range": {Range: true}, "distinct": {Distinct: true}, "zero layers": {ZeroLayers: true}, "equal runs": {EqualRuns: true},
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(rows.Data)))
			b.ReportAllocs()
			for b.Loop() {
				require.NoError(b, check.Check(rows))
			}
		})
	}
}

// BenchmarkCheckRow is the check of one row on a hot path, in models of every kind.
func BenchmarkCheckRow(b *testing.B) {
	for name, p := range map[string]routing.Profile{
		"48x8of128": profile(b, 48, 8, 128), "58x8of256": profile(b, 58, 8, 256), "60x8of384": profile(b, 60, 8, 384),
		"36x4of128": profile(b, 36, 4, 128), "40x22of512": profile(b, 40, 22, 512),
	} {
		rows := sample(b, p, 0, 64, 0)
		b.Run(name, func(b *testing.B) {
			k, err := routing.AllChecks.Prepare(p)
			require.NoError(b, err)
			at := 0
			for b.Loop() {
				if err := k.CheckRow(at, rows.Row(at%64)); err != nil {
					b.Fatal(err)
				}
				at++
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*p.Layers), "ns/layer")
		})
	}
}

// BenchmarkCheckRun is the search for equal runs in a request that decodes a row a
// step, and in one of many rows.
func BenchmarkCheckRun(b *testing.B) {
	rows := sample(b, profile(b, 48, 8, 128), 0, 4096, 0)
	for _, step := range []int{1, 64, 4096} {
		b.Run(fmt.Sprintf("step=%d", step), func(b *testing.B) {
			k, err := routing.AllChecks.Prepare(rows.Profile)
			require.NoError(b, err)
			var run routing.RunState
			for b.Loop() {
				run.Reset()
				for at := 0; at < rows.Len(); at += step {
					if err := k.CheckRun(&run, at, rows.Data[at*384:(at+step)*384]); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*rows.Len()), "ns/row")
		})
	}
}
