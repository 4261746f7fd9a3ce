package store_test

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"github.com/auxoutput/auxoutput/blockhash"
	"github.com/auxoutput/auxoutput/store"
	"github.com/auxoutput/auxoutput/store/internal/arena"
)

// The benchmarks report "x-copy": how long the operation takes as a multiple of
// a bare copy of the same bytes between the same kinds of memory, measured in
// the same run, turn by turn.

const benchBudget = 256 << 20

// bareRegion is memory like the store's own, all of it touched.
func bareRegion(b *testing.B) []byte {
	region, err := arena.New(benchBudget, true)
	if err != nil {
		b.Fatal(err)
	}
	if err := region.Populate(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { region.Release() })
	return region.Bytes()
}

// touched is a buffer whose pages are there already.
func touched(n int) []byte {
	buffer := make([]byte, n)
	for i := range buffer {
		buffer[i] = 1
	}
	return buffer
}

func benchHashes(n int) []blockhash.Hash {
	hashes := make([]blockhash.Hash, n)
	for i := range hashes {
		digest := sha256.Sum256(binary.LittleEndian.AppendUint64(nil, uint64(i)))
		hashes[i], _ = blockhash.FromBytes(digest[:])
	}
	return hashes
}

// benchBlocks are blocks whose rows lie in a region larger than the caches.
func benchBlocks(hashes []blockhash.Hash, blockBytes int) []store.Block {
	region := touched(64 << 20)
	perRegion := len(region) / blockBytes
	blocks := make([]store.Block, len(hashes))
	for i := range blocks {
		at := i % perRegion * blockBytes
		blocks[i] = store.Block{Hash: hashes[i], Rows: region[at : at+blockBytes]}
	}
	return blocks
}

func BenchmarkPut(b *testing.B) {
	for _, blockBytes := range []int{6144, 59392} {
		slots := benchBudget / blockBytes
		blocks := benchBlocks(benchHashes(3*slots), blockBytes)
		for _, share := range []int{0, 50, 99} {
			b.Run(fmt.Sprintf("block=%d/retained=%d%%", blockBytes, share), func(b *testing.B) {
				s, err := store.New(store.Options{MaxBytes: benchBudget, BlockBytes: blockBytes, Populate: true})
				if err != nil {
					b.Fatal(err)
				}
				defer s.Close()
				held := slots * share / 100
				batch := 32
				if slots-held < batch {
					batch = slots - held
				}
				var retain []blockhash.Hash
				for _, block := range blocks[:held] {
					retain = append(retain, block.Hash)
				}
				if _, err := s.Put(store.Batch{Blocks: blocks[:held], Retain: retain}); err != nil {
					b.Fatal(err)
				}
				limit := bareRegion(b)
				rest := blocks[held:]
				var put, bare time.Duration
				at, slot := 0, 0
				b.SetBytes(int64(batch * blockBytes))
				for b.Loop() {
					if at+batch > len(rest) {
						at = 0
					}
					turn := rest[at : at+batch]
					at += batch
					// Rows that are as cold as those of the turn were before it.
					cold := rest[(at+len(rest)/2)%(len(rest)-batch):][:batch]
					start := time.Now()
					if _, err := s.Put(store.Batch{Blocks: turn}); err != nil {
						b.Fatal(err)
					}
					put += time.Since(start)
					start = time.Now()
					for i := range cold {
						copy(limit[slot*blockBytes:], cold[i].Rows)
						if slot++; slot == slots-held { // as many as the store can use in turn
							slot = 0
						}
					}
					bare += time.Since(start)
				}
				b.ReportMetric(float64(put)/float64(bare), "x-copy")
			})
		}
	}
}

func BenchmarkGet(b *testing.B) {
	for _, blockBytes := range []int{6144, 59392} {
		slots := benchBudget / blockBytes
		hashes := benchHashes(slots)
		s, err := store.New(store.Options{MaxBytes: benchBudget, BlockBytes: blockBytes, Populate: true})
		if err != nil {
			b.Fatal(err)
		}
		blocks := benchBlocks(hashes, blockBytes)
		for at := 0; at < slots; at += 32 {
			if _, err := s.Put(store.Batch{Blocks: blocks[at:min(at+32, slots)]}); err != nil {
				b.Fatal(err)
			}
		}
		limit := bareRegion(b)
		for _, n := range []int{64, 256, 1024, 2048} {
			b.Run(fmt.Sprintf("block=%d/hashes=%d", blockBytes, n), func(b *testing.B) {
				// Every 64th block, so that neighbours are not read together.
				list, places := make([]blockhash.Hash, n), make([]int, n)
				dst, other := touched(n * blockBytes)[:0], touched(n*blockBytes)
				var get, bare time.Duration
				from := 0
				b.SetBytes(int64(n * blockBytes))
				for b.Loop() {
					for i := range list {
						places[i] = (from + 64*i + i/(slots/64)) % slots
						list[i] = hashes[places[i]]
					}
					from = (from + 7) % slots
					start := time.Now()
					if _, err := s.Get(dst, list); err != nil {
						b.Fatal(err)
					}
					get += time.Since(start)
					start = time.Now()
					for i, place := range places {
						copy(other[i*blockBytes:(i+1)*blockBytes], limit[place*blockBytes:])
					}
					bare += time.Since(start)
				}
				b.ReportMetric(float64(get)/float64(bare), "x-copy")
			})
		}
		s.Close()
	}
}

func BenchmarkReset(b *testing.B) {
	const blockBytes = 64
	for _, slots := range []int{50_000, 1_000_000} {
		b.Run(fmt.Sprintf("used=%d", slots), func(b *testing.B) {
			s, err := store.New(store.Options{MaxBytes: int64(slots) * blockBytes, BlockBytes: blockBytes})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			blocks := benchBlocks(benchHashes(slots), blockBytes)
			for b.Loop() {
				b.StopTimer()
				if _, err := s.Put(store.Batch{Generation: s.Generation(), Blocks: blocks}); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
				if _, err := s.Reset(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkNew100GiB(b *testing.B) {
	for b.Loop() {
		s, err := store.New(store.Options{MaxBytes: 100 << 30, BlockBytes: 6144})
		if err != nil {
			b.Fatal(err)
		}
		s.Close()
	}
}
