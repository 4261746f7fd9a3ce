package throughput

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"github.com/auxoutput/auxoutput/bench/machine"
)

// Memory is what a cache did to the memory of its process and to the garbage
// collector, over all phases.
type Memory struct {
	HeapBytes    int64   `json:"heap_bytes"`    // live on the Go heap at the end
	HeapObjects  int64   `json:"heap_objects"`  // likewise
	Mallocs      int64   `json:"mallocs"`       // heap objects made on the way
	Collections  int64   `json:"collections"`   // garbage collections
	MaxPauseMS   float64 `json:"max_pause_ms"`  // longest stop of the world
	GCCPUShare   float64 `json:"gc_cpu_share"`  // CPU time of the collector, of all that was used
	ForcedGCMS   float64 `json:"forced_gc_ms"`  // one collection of the full cache
	ResidentPeak int64   `json:"resident_peak"` // most memory resident, the work's own buffers left out; 0 where unknown
}

// reading is a state of the process.
type reading struct {
	stats            runtime.MemStats
	pauses           debug.GCStats
	forced           time.Duration
	gcCPU, usedCPU   float64
	resident, summit int64
}

// readMemory collects garbage and looks.
func readMemory() *reading {
	r := &reading{}
	start := time.Now()
	runtime.GC()
	r.forced = time.Since(start)
	runtime.ReadMemStats(&r.stats)
	debug.ReadGCStats(&r.pauses)
	cpu := []metrics.Sample{
		{Name: "/cpu/classes/gc/total:cpu-seconds"},
		{Name: "/cpu/classes/total:cpu-seconds"},
		{Name: "/cpu/classes/idle:cpu-seconds"},
	}
	metrics.Read(cpu)
	r.gcCPU, r.usedCPU = cpu[0].Value.Float64(), cpu[1].Value.Float64()-cpu[2].Value.Float64()
	r.resident, r.summit = machine.Resident()
	return r
}

// since is what has happened from one reading to another.
func (r *reading) since(before *reading) *Memory {
	m := &Memory{
		HeapBytes:   int64(r.stats.HeapAlloc) - int64(before.stats.HeapAlloc),
		HeapObjects: int64(r.stats.HeapObjects) - int64(before.stats.HeapObjects),
		Mallocs:     int64(r.stats.Mallocs - before.stats.Mallocs),
		Collections: int64(r.stats.NumGC - before.stats.NumGC),
		ForcedGCMS:  r.forced.Seconds() * 1e3,
	}
	for i, ended := range r.pauses.PauseEnd {
		if ended.After(before.pauses.LastGC) {
			m.MaxPauseMS = max(m.MaxPauseMS, r.pauses.Pause[i].Seconds()*1e3)
		}
	}
	if used := r.usedCPU - before.usedCPU; used > 0 {
		m.GCCPUShare = (r.gcCPU - before.gcCPU) / used
	}
	if before.resident > 0 {
		m.ResidentPeak = r.summit - before.resident
	}
	return m
}
