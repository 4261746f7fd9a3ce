package guard

// Runner is the task that an engine runs: vLLM's runner type, resolved.
type Runner string

// The runner types.
const (
	Generate Runner = "generate"
	Pooling  Runner = "pooling"
	Draft    Runner = "draft"
)

// Attention is what the layers of a KV cache group do, in the words of the layer_types
// of a config.json. Anything but AttendsInFull keeps some of the tokens only, or none.
type Attention string

// The kinds of groups.
const (
	AttendsInFull  Attention = "full_attention" // latent attention (MLA) included
	AttendsWindow  Attention = "sliding_attention"
	AttendsChunked Attention = "chunked_attention"
	KeepsState     Attention = "linear_attention" // Mamba, gated delta nets
)

// Setup is what the rules look at in an engine's configuration, after the engine has
// filled in its own defaults. With capture on the zero value states nothing, and is
// refused: model runner, runner and the three sizes have to be stated.
type Setup struct {
	// Capture is enable_return_routed_experts. If it is off, nothing is looked at.
	Capture bool

	NoGPU         bool   // the platform is neither CUDA nor ROCm: TPU, say
	ModelRunner   int    // version of the model runner: 1 or 2
	Runner        Runner // only Generate has rows to return
	MoE           bool   // the model has a router
	PrefixCaching bool

	// AdaptiveSpeculation is adaptive speculative verification: the number of drafts
	// to verify is chosen while the step runs. Speculation as such is fine.
	AdaptiveSpeculation bool

	// Sizes in ranks: 1 where that kind of parallelism is not used.
	PipelineParallel       int // PP
	DecodeContextParallel  int // DCP
	PrefillContextParallel int // PCP

	// KVConnector is the engine's KV connector; nil if there is none.
	KVConnector *Connector

	// KVGroups is what each group of the KV cache does. Nil is one group that attends
	// in full. An engine that learns its groups later than the rest checks again.
	KVGroups []Attention

	// What only older versions look at.
	AsyncScheduling   bool
	SequenceParallel  bool
	NaiveDataParallel bool
}

// SingleRank is the set-up of most engines: capture on, one rank of each kind, a MoE
// model that generates with Model Runner V2 and prefix caching, and no KV connector. It
// keeps the rules of every version but those that Model Runner V1 stands for. State in
// it what is different.
func SingleRank() Setup {
	return Setup{
		Capture: true, ModelRunner: 2, Runner: Generate, MoE: true, PrefixCaching: true,
		PipelineParallel: 1, DecodeContextParallel: 1, PrefillContextParallel: 1,
	}
}
