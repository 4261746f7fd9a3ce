// Package model knows what the sizes of routing rows and of the KV cache depend on in
// a model: from its own config.json ([Parse]), or by name for well-known ones ([Find]).
//
// # Two layer counts
//
// A MoE model may have dense layers, which have no router. A [Model] has both counts,
// Layers with the dense ones and MoELayers without, and [Model.Profile] asks for one:
// rows of the two kinds do not mix; [Model.LayerMap] makes one into the other. Who sends
// which is told in docs/rl.md#how-many-layers-a-row-has. Layers of a multi-token
// predictor are in neither count, because their routing is not captured.
//
// # Nothing is guessed
//
// Field names differ between model families. A number that decides the shape of rows
// and is missing is an error that lists the names it could have; so are two names that
// contradict each other, and fields known to place routers in a way that is not known
// here (vLLM PR 41401 is what guessing leads to). Errors are [auxerrors.ConfigError];
// their Reason is one of package errors, or of this package's.
//
// Attention is read apart from routers: where only the attention is not known, rows have
// their sizes, and the KV cache is an error instead of a number.
//
// What is known: the files of Qwen3-MoE, Qwen3-Next and Qwen3.5, DeepSeek-V2, V3 and
// Kimi-K2, GLM-4.5 and later, Mixtral, gpt-oss, MiniMax-M2 and M3, Granite-MoE,
// Nemotron-H, Llama 4, LFM2-MoE, AFMoE, Ling's hybrids, and multimodal models that hold
// one of them in a text_config.
//
// # The width of cached values
//
// A checkpoint may ask for a KV cache in 8-bit floats, and vLLM follows unless it is
// told otherwise (vLLM PR 29980). KVBytesPerToken takes the width from its caller;
// [Model] has the one that the file implies in KVItemBytes.
package model
