package guard

// Runner is the task that an engine runs: vLLM's runner type, resolved.
type Runner string

// The runner types.
const (
	Generate Runner = "generate"
	Pooling  Runner = "pooling"
	Draft    Runner = "draft"
)

// Setup is what the rules look at in an engine's configuration, after the engine has
// filled in its own defaults.
type Setup struct {
	// Capture is enable_return_routed_experts. If it is off, no rule applies.
	Capture bool

	GPU           bool   // the platform is CUDA or ROCm, not TPU or another
	ModelRunner   int    // version of the model runner: 1 or 2
	Runner        Runner // only Generate has rows to return
	MoE           bool   // the model has a router
	PrefixCaching bool

	// AdaptiveSpeculation is adaptive speculative verification: the number of drafts
	// to verify is chosen while the step runs. Speculation as such is fine.
	AdaptiveSpeculation bool

	// Sizes in ranks. 0 means what 1 does: not used.
	PipelineParallel       int // PP
	DecodeContextParallel  int // DCP
	PrefillContextParallel int // PCP

	// KVConnector is the engine's KV connector; nil if there is none.
	KVConnector *Connector

	// What only older versions look at.
	AsyncScheduling   bool
	SequenceParallel  bool
	NaiveDataParallel bool
	NoFullAttention   bool // every layer has a sliding window, attends in chunks, or keeps a state
}

// contextParallel reports whether either kind of context parallelism is in use.
func (s *Setup) contextParallel() bool {
	return parallel(s.DecodeContextParallel) || parallel(s.PrefillContextParallel)
}

// parallel reports whether a size is anything but one rank; so is one that makes no
// sense.
func parallel(ranks int) bool { return ranks != 0 && ranks != 1 }
