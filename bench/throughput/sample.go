package throughput

import "strconv"

// The phases, in the order in which a round goes through them.
const (
	PhaseCold   = "put cold"    // the first budget: every page is touched for the first time
	PhaseEvict  = "put evict"   // the second budget: the first blocks that have to give way
	PhaseSteady = "put steady"  // two more
	PhaseProbe  = "resident"    // which of the newest blocks, half a budget, are there
	PhasePair   = "two readers" // two goroutines that read at the same time
	PhaseReader = "reader beside writer"
	PhaseWriter = "writer beside reader"
	PhaseMix    = "mix" // chains by Zipf, written back when absent, beside blocks nobody reads
)

// PhaseRead is the phase of reads of n hashes.
func PhaseRead(n int) string { return "get " + strconv.Itoa(n) }

// PhaseRetained is the phase of puts while a share of the slots is held.
func PhaseRetained(percent int) string { return "put, " + strconv.Itoa(percent) + " % retained" }

// Sample is what one contestant did in one phase of one round. Reads that missed
// a block are counted, and no part of bytes and seconds; in the mix alone they
// belong to the work.
type Sample struct {
	Phase   string  `json:"phase"`
	Bytes   int64   `json:"bytes"`
	Seconds float64 `json:"seconds"`
	Ops     int     `json:"ops"`
	Reads   int     `json:"reads,omitempty"`
	Missed  int     `json:"missed,omitempty"`
}

// Rate is bytes a second, for the mix operations a second; 0 if there was
// nothing to measure.
func (s Sample) Rate() float64 {
	switch {
	case s.Seconds == 0:
		return 0
	case s.Phase == PhaseMix:
		return float64(s.Ops) / s.Seconds
	}
	return float64(s.Bytes) / s.Seconds
}

// HitShare is the share of reads that found all of their blocks, -1 without reads.
func (s Sample) HitShare() float64 {
	if s.Reads == 0 {
		return -1
	}
	return 1 - float64(s.Missed)/float64(s.Reads)
}

// Run is what one contestant did in one round.
type Run struct {
	Name    string   `json:"name"`
	Samples []Sample `json:"samples"`

	// Memory is there if the contestant had the process to itself, but for limits.
	Memory *Memory `json:"memory,omitempty"`

	// AllocsPut and AllocsRead are heap objects for a put of 32 blocks and a read
	// of 256, if they were counted.
	AllocsPut  float64 `json:"allocs_put"`
	AllocsRead float64 `json:"allocs_read"`

	// MetadataBytes is the book-keeping of one block, 0 if the cache cannot tell.
	MetadataBytes float64 `json:"metadata_bytes,omitempty"`
}

// Sample is the run's sample of a phase, an empty one if it has none.
func (r Run) Sample(phase string) Sample {
	for _, s := range r.Samples {
		if s.Phase == phase {
			return s
		}
	}
	return Sample{Phase: phase}
}
