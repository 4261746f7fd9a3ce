package capacity

import (
	"fmt"
	"slices"
	"strings"

	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/routing"
)

// Preset is what sizes depend on in a known model.
type Preset struct {
	Name      string
	Layers    int // all hidden layers
	MoELayers int // layers with a router
	Experts   int // routed experts a router chooses from
	TopK      int // experts chosen per token and layer

	// KVBytesPerToken is the KV cache of the whole model for one token in
	// bf16; 0 if it was not computed. Of hybrid models it covers the
	// full-attention layers only. FP8 halves it.
	KVBytesPerToken int
}

// presets in order of their rows' size. Layers, experts and heads are those of
// the models' public configurations; Qwen3-Next and Qwen3.5 are taken to have
// full attention in one layer of four, and Nemotron's 40 MoE layers are the
// number in vLLM's own example.
var presets = []Preset{
	{"Mixtral-8x7B", 32, 32, 8, 2, 131072},
	{"gpt-oss-20b", 24, 24, 32, 4, 49152},
	{"Mixtral-8x22B", 56, 56, 8, 2, 229376},
	{"gpt-oss-120b", 36, 36, 128, 4, 73728},
	{"Moonlight-16B", 27, 26, 64, 6, 31104},
	{"DeepSeek-V2-Lite", 27, 26, 64, 6, 31104},
	{"GLM-4.7-Flash", 47, 46, 64, 4, 54144},
	{"Qwen3.5-35B-A3B", 40, 40, 256, 8, 20480},
	{"GLM-4.5-Air", 46, 45, 128, 8, 188416},
	{"Qwen3-30B-A3B", 48, 48, 128, 8, 98304},
	{"DeepSeek-V3", 61, 58, 256, 8, 70272},
	{"DeepSeek-R1", 61, 58, 256, 8, 70272},
	{"MiniMax-M2", 62, 62, 256, 8, 253952},
	{"GLM-5", 78, 75, 256, 8, 89856},
	{"GLM-4.5", 92, 89, 160, 8, 376832},
	{"Qwen3-235B-A22B", 94, 94, 128, 8, 192512},
	{"Qwen3-Next-80B-A3B", 48, 48, 512, 10, 24576},
	{"Kimi-K2", 61, 60, 384, 8, 70272},
	{"Nemotron-3-Super", 88, 40, 512, 22, 0},
}

// Presets lists the known models, those with the smallest rows first.
func Presets() []Preset { return slices.Clone(presets) }

// FindPreset finds a model by its name, upper and lower case alike. An unknown
// name is a [auxerrors.ConfigError] that lists the known ones.
func FindPreset(name string) (Preset, error) {
	names := make([]string, len(presets))
	for i, p := range presets {
		if strings.EqualFold(p.Name, name) {
			return p, nil
		}
		names[i] = p.Name
	}
	return Preset{}, &auxerrors.ConfigError{
		Field: "model", Value: fmt.Sprintf("%q", name),
		Want: "one of " + strings.Join(names, ", "), Reason: auxerrors.ErrMismatch,
	}
}

// Profile is the model's rows with its MoE layers only.
func (p Preset) Profile() (routing.Profile, error) {
	return routing.NewProfile(p.MoELayers, p.TopK, p.Experts)
}

// RowBytes is one token's row, MoE layers only, in the narrow item.
func (p Preset) RowBytes() int {
	return routing.Profile{Layers: p.MoELayers, TopK: p.TopK, Experts: p.Experts}.RowBytes()
}

// WideRowBytes is one token's row as SGLang sends it: int32, all hidden layers.
func (p Preset) WideRowBytes() int { return 4 * p.Layers * p.TopK }

// ShareOfKV is a size in bytes per token as a share of the KV cache's, 0 if
// that is not known.
func (p Preset) ShareOfKV(bytesPerToken int) float64 {
	if p.KVBytesPerToken == 0 {
		return 0
	}
	return float64(bytesPerToken) / float64(p.KVBytesPerToken)
}
