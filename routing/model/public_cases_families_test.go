package model_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/routing"
	"github.com/auxoutput/auxoutput/routing/model"
)

// counted is what a file must come to. The numbers were counted by hand from the fields:
// a row is routers x top-k bytes, twice that with more than 256 experts; a cached token
// is layers x KV heads x (key + value) values, or layers x (latent + rotary part), of
// the width that the file implies.
type counted struct {
	name, config string

	layers, routers, experts, topK int
	row                            int // bytes, MoE layers only

	full, window, state int
	kv                  int64  // bytes a token
	unknown             string // or the field that is not known
}

func (c counted) check(t *testing.T) {
	t.Helper()
	m, err := model.Parse([]byte(c.config))
	require.NoError(t, err)
	require.Equal(t, []int{c.layers, c.routers, c.experts, c.topK}, []int{m.Layers, m.MoELayers, m.Experts, m.TopK}, "layers, routers, experts, top-k")
	require.Len(t, m.Dense, c.layers-c.routers)
	profile, err := m.Profile(false)
	require.NoError(t, err)
	require.Equal(t, c.row, profile.RowBytes())
	a := m.Attention
	require.Equal(t, []int{c.full, c.window, c.state}, []int{a.FullLayers, a.WindowLayers, a.StateLayers}, "layers in full, within a window, with a state")
	require.Equal(t, c.unknown, a.Unknown)
	kv, err := m.KVBytesPerToken(m.KVItemBytes, 1)
	if c.unknown != "" {
		require.ErrorIs(t, err, model.ErrUnknown)
		return
	}
	require.NoError(t, err)
	require.Equal(t, c.kv, kv)
}

func TestPublicCase_PC_113_InfinityInAFieldThatNobodyNeedsIsNoDamage(t *testing.T) {
	super := nemotron(superPattern, 512, 22)
	want := counted{
		"Nemotron-3-Super", super, 88, 40, 512, 22, 1760, // 40 x 22 x 2: the letters E, not all 88 layers
		8, 0, 40, 8192, "", // 8 letters *: 8 x 2 x (128 + 128) x 2
	}
	want.check(t)
	for name, value := range map[string]string{
		"the negative":    `[-Infinity, 0]`,
		"not a number":    `NaN`,
		"alone":           `Infinity`,
		"in an object":    `{"a": [ NaN,Infinity,-Infinity ]}`,
		"the words":       `"Infinity, \"NaN\", \\"`,
		"beside the word": `["NaN\\", Infinity, "-Infinity"]`,
		"behind a quote":  `["\"", Infinity, {"Infinity": NaN}]`,
	} {
		t.Run(name, func(t *testing.T) {
			want.config = strings.Replace(super, "[0.0, Infinity]", value, 1)
			want.check(t)
		})
	}
	inner := want
	inner.config = `{"time": Infinity, "text_config": ` + super + `}`
	inner.check(t)

	known, err := model.Find("Nemotron-3-Super")
	require.NoError(t, err)
	kv, err := known.KVBytesPerToken(known.KVItemBytes, 1)
	require.NoError(t, err)
	require.Equal(t, want.kv, kv, "by name as by file")
}

func TestPublicCase_PC_113_InfinityInAFieldThatIsNeededIsAnErrorThatNamesIt(t *testing.T) {
	for field, as := range map[string]string{
		"num_hidden_layers": `%`, "num_experts": `%`, "num_experts_per_tok": `%`, "first_k_dense_replace": `%`,
		"mlp_only_layers": `[%]`, "moe_layer_freq": `[%]`, "layer_types": `[%]`, "mlp_layer_types": `[%]`,
		"hybrid_override_pattern": `%`, "full_attention_interval": `%`, "layer_group_size": `%`,
		"num_key_value_heads": `%`, "head_dim": `%`, "sliding_window": `%`, "use_sliding_window": `%`,
		"dtype": `%`, "model_type": `%`, "text_config": `%`, "quantization_config": `%`,
	} {
		for _, number := range []string{"Infinity", "-Infinity", "NaN"} {
			value := strings.Replace(as, "%", number, 1)
			fields := map[string]string{
				"num_hidden_layers": "12", "num_experts": "16", "num_experts_per_tok": "4",
				"num_key_value_heads": "2", "head_dim": "8", field: value,
			}
			var config []string
			for name, value := range fields {
				config = append(config, `"`+name+`": `+value)
			}
			text := "{" + strings.Join(config, ", ") + "}"
			_, err := model.Parse([]byte(text))
			var damage *auxerrors.ConfigError
			require.ErrorAs(t, err, &damage, text)
			require.ErrorIs(t, err, model.ErrMalformed, text)
			require.Equal(t, field, damage.Field)
			require.ErrorContains(t, err, number, "the error has what is written")
		}
	}
	for _, damaged := range []string{
		"infinity", "+Infinity", "--Infinity", "- Infinity", "-NaN", "1Infinity", "Infinity1", "Infinity.5", "1-Infinity",
		"Infinite", "nan", "NaNs", "InfinityNaN", "NaN NaN", ".NaN", "NaN-1",
	} {
		_, err := model.Parse([]byte(small(`"time": ` + damaged)))
		require.ErrorIs(t, err, model.ErrMalformed, damaged)
		_, err = model.Parse([]byte(small(`"time": 1, ` + damaged + `: 2`)))
		require.ErrorIs(t, err, model.ErrMalformed, damaged)
	}
}

func TestPublicCase_PC_115_OnlyTheLastLayerOfAGroupAndTheTailKeepALatent(t *testing.T) {
	// The case counts caches; how many layers of the tiny one are dense is our choice.
	for _, c := range []counted{
		{"Ling-3.0-flash", ling(42, 6, 2, 512), 42, 40, 512, 8, 640, 7, 0, 35, 8064, ""}, // 7 x (512 + 64) x 2
		{"Ling-3.0-tiny", ling(24, 4, 1, 128), 24, 23, 128, 8, 184, 6, 0, 18, 6912, ""},  // 6 x 576 x 2
		{"a tail of two", ling(44, 6, 2, 512), 44, 42, 512, 8, 672, 9, 0, 35, 10368, ""}, // 7 groups and 2 more: 9 x 576 x 2
		{"groups of one", ling(24, 1, 1, 128), 24, 23, 128, 8, 184, 24, 0, 0, 27648, ""}, // 24 x 576 x 2
		{"no whole group", ling(3, 4, 1, 128), 3, 2, 128, 8, 16, 3, 0, 0, 3456, ""},      // 3 x 576 x 2
	} {
		t.Run(c.name, c.check)
	}
	_, err := model.Parse([]byte(ling(42, 0, 2, 512)))
	require.ErrorIs(t, err, auxerrors.ErrTooSmall)
	_, err = model.Parse([]byte(strings.Replace(ling(24, 4, 1, 128), "{", `{"layer_types": `+repeat(24, `"full_attention"`)+`, `, 1)))
	require.ErrorIs(t, err, auxerrors.ErrMismatch, "a list that says otherwise")
}

func TestPublicCase_PC_116_AKindOfAttentionThatIsNotKnownCostsNoRows(t *testing.T) {
	for _, c := range []counted{
		{"GLM-5.2", glm52("deepseek_sparse_attention"), 78, 75, 256, 8, 600, 78, 0, 0, 89_856, ""}, // 78 x 576 x 2
		{"a kind of tomorrow", glm52("compressed_sparse_attention"), 78, 75, 256, 8, 600, 0, 0, 0, 0, "layer_types"},
		{"no name at all for the first", glm52(` `), 78, 75, 256, 8, 600, 0, 0, 0, 0, "layer_types"},
	} {
		t.Run(c.name, c.check)
	}
	for _, kind := range []string{"moe", "mlp", "dense", "sparse"} {
		_, err := model.Parse([]byte(small(`"layer_types": ` + repeat(12, `"full_attention"`, `"`+kind+`"`))))
		require.ErrorIs(t, err, model.ErrUnknown, "layers that are experts themselves: not every layer has a router")
	}
}

func TestPublicCase_PC_118_TheCheckpointTellsTheWidthOfItsCache(t *testing.T) {
	const latents = 61 * (512 + 64)
	for name, tc := range map[string]struct {
		quantisation string
		bytes        int
	}{
		"a scheme of 8-bit floats":        {eightBitCache, 1},
		"a scheme without a word of time": {`{"kv_cache_scheme": {"num_bits": 8, "type": "float"}}`, 1},
		"an algorithm":                    {`{"kv_cache_quant_algo": "FP8"}`, 1},
		"an algorithm one level deeper":   {`{"producer": {"name": "modelopt"}, "quantization": {"quant_algo": "NVFP4", "kv_cache_quant_algo": "fp8_e4m3"}}`, 1},
		"a scheme that is a name":         {`{"kv_cache_scheme": "fp8"}`, 1},
		"both alike":                      {`{"kv_cache_scheme": {"num_bits": 8, "type": "float"}, "kv_cache_quant_algo": "FP8"}`, 1},
		"weights alone":                   {`{"quant_method": "fp8", "weight_block_size": [128, 128]}`, 2},
		"neither":                         {`{"kv_cache_scheme": null, "kv_cache_quant_algo": null}`, 2},
		"no quantisation":                 {`null`, 2},
		"no quantisation of the cache":    {`{"kv_cache_quant_algo": "bfloat16"}`, 2},
		"4-bit floats":                    {`{"kv_cache_quant_algo": "NVFP4"}`, 0},
		"integers":                        {`{"kv_cache_scheme": {"num_bits": 8, "type": "int"}}`, 0},
		"other bits":                      {`{"kv_cache_scheme": {"num_bits": 4, "type": "float"}}`, 0},
		"a scale of each step":            {`{"kv_cache_scheme": {"num_bits": 8, "type": "float", "dynamic": true}}`, 0},
		"a scheme of nothing":             {`{"kv_cache_scheme": {}}`, 0},
		"a name and one that is unknown":  {`{"kv_cache_scheme": "fp8", "kv_cache_quant_algo": "turbo3"}`, 0},
		"an unknown one and a name":       {`{"kv_cache_scheme": "turbo3", "kv_cache_quant_algo": "fp8"}`, 0},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := model.Parse([]byte(kimi25(tc.quantisation)))
			require.NoError(t, err)
			require.Equal(t, tc.bytes, m.KVItemBytes)
			require.Equal(t, 2, m.ItemBytes, "the model's own")
			kv, err := m.KVBytesPerToken(m.KVItemBytes, 1)
			if tc.bytes == 0 {
				require.ErrorIs(t, err, auxerrors.ErrTooSmall, "not known, and no guess")
				_, err := m.Profile(false)
				require.NoError(t, err, "it is good for rows")
				return
			}
			require.NoError(t, err)
			require.Equal(t, int64(latents*tc.bytes), kv) // 35,136 in 8-bit floats
		})
	}
	for quantisation, field := range map[string]string{
		`7`:                                      "quantization_config",
		`[]`:                                     "quantization_config",
		`{"quantization": "FP8"}`:                "quantization_config.quantization",
		`{"kv_cache_scheme": 8}`:                 "quantization_config.kv_cache_scheme",
		`{"kv_cache_scheme": [8]}`:               "quantization_config.kv_cache_scheme",
		`{"kv_cache_quant_algo": true}`:          "quantization_config.kv_cache_quant_algo",
		`{"kv_cache_scheme": {"num_bits": "8"}}`: "quantization_config.kv_cache_scheme.num_bits",
		`{"kv_cache_scheme": {"num_bits": 8, "type": {}}}`: "quantization_config.kv_cache_scheme.type",
	} {
		_, err := model.Parse([]byte(kimi25(quantisation)))
		var damage *auxerrors.ConfigError
		require.ErrorAs(t, err, &damage, quantisation)
		require.ErrorIs(t, err, model.ErrMalformed)
		require.Equal(t, field, damage.Field)
	}
	_, err := model.Parse([]byte(kimi25(`{"kv_cache_scheme": "fp8", "kv_cache_quant_algo": "bfloat16"}`)))
	require.ErrorIs(t, err, auxerrors.ErrMismatch)

	inside := func(outer string) string {
		return strings.Replace(kimi25(outer), `"kv_cache_scheme": null`, `"kv_cache_scheme": "fp8"`, 1)
	}
	m, err := model.Parse([]byte(inside("null")))
	require.NoError(t, err)
	require.Equal(t, 1, m.KVItemBytes, "told for the text alone")
	_, err = model.Parse([]byte(inside(`{"kv_cache_quant_algo": "bfloat16"}`)))
	require.ErrorIs(t, err, auxerrors.ErrMismatch)
	require.ErrorContains(t, err, "text_config.quantization_config.kv_cache_scheme")
	m, err = model.Parse([]byte(`{"num_hidden_layers": 4, "num_experts": 8, "num_experts_per_tok": 2, "num_key_value_heads": 2, "head_dim": 8, "quantization_config": ` + eightBitCache + `}`))
	require.NoError(t, err)
	require.Equal(t, []int{0, 1}, []int{m.ItemBytes, m.KVItemBytes}, "known without the model's own")
}

func TestPublicCase_PC_119_FamiliesWithOneMoreRuleAreCounted(t *testing.T) {
	odd := "1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31, 33, 35, 37, 39, 41, 43, 45, 47"
	even := "0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32, 34, 36, 38, 40, 42, 44, 46"
	for _, c := range []counted{
		{"Llama 4 Maverick", llama4(2, 128, ""), 48, 24, 128, 1, 24, 0, 0, 0, 0, "text_config.attention_chunk_size"},
		{"Llama 4 Scout", llama4(1, 16, ""), 48, 48, 16, 1, 48, 0, 0, 0, 0, "text_config.attention_chunk_size"},
		{
			"Llama 4 Maverick with its layers listed",
			llama4(2, 128, `, "moe_layers": [`+odd+`], "layer_types": `+repeat(48, `"chunked_attention"`, `"chunked_attention"`, `"chunked_attention"`, `"full_attention"`)),
			48, 24, 128, 1, 24, 12, 36, 0, 196_608, "", // 48 x 8 x (128 + 128) x 2
		},
		{"LFM2-8B-A1B", lfm2(lfm2Kinds), 24, 22, 32, 4, 88, 6, 0, 18, 12_288, ""}, // 6 x 8 x (64 + 64) x 2
		{"LFM2-8B-A1B in the older form", lfm2(`"full_attn_idxs": [2, 6, 10, 14, 18, 21]`), 24, 22, 32, 4, 88, 6, 0, 18, 12_288, ""},
		{"LFM2 with neither", lfm2(`"conv_bias": false`), 24, 22, 32, 4, 88, 0, 0, 0, 0, "conv_L_cache"},
		{"AFMoE", afmoe(""), 32, 30, 128, 8, 240, 8, 24, 0, 65_536, ""}, // 32 x 4 x (128 + 128) x 2
		{
			"AFMoE with its layers listed",
			afmoe(`, "layer_types": ` + repeat(32, `"sliding_attention"`, `"sliding_attention"`, `"sliding_attention"`, `"full_attention"`)),
			32, 30, 128, 8, 240, 8, 24, 0, 65_536, "",
		},
	} {
		t.Run(c.name, c.check)
	}
	_, err := model.Parse([]byte(llama4(2, 128, `, "moe_layers": [0, 2]`)))
	require.ErrorIs(t, err, auxerrors.ErrMismatch)
	_, err = model.Parse([]byte(llama4(2, 128, `, "moe_layers": [`+even+`]`)))
	require.ErrorIs(t, err, auxerrors.ErrMismatch, "as many layers, and others")
	require.ErrorContains(t, err, "layer 0 among them")
}

func TestPublicCase_PC_121_PublishedFamiliesComeToWhatIsCountedApart(t *testing.T) {
	sized := strings.Replace(nemotron(nanoPattern, 128, 6), "{", `{"quantization_config": `+eightBitCache+`, `, 1)
	for _, c := range []counted{
		{"Qwen3-VL-235B-A22B", inside("qwen3_vl_moe", qwen3(94)), 94, 94, 128, 8, 752, 94, 0, 0, 192_512, ""}, // 94 x 4 x 256 x 2
		{"Qwen3.5-397B-A17B", qwen35Of(60, 512, 10), 60, 60, 512, 10, 1200, 15, 0, 45, 30_720, ""},            // 15 x 2 x 512 x 2
		{"Qwen3.6-35B-A3B", qwen35Of(40, 256, 8), 40, 40, 256, 8, 320, 10, 0, 30, 20_480, ""},                 // 10 x 2 x 512 x 2
		{"GLM-4.7", glm45(92, 3, 160), 92, 89, 160, 8, 712, 92, 0, 0, 376_832, ""},                            // 92 x 8 x 256 x 2
		{"GLM-5.1", deepseek(78, 3, 256, 8), 78, 75, 256, 8, 600, 78, 0, 0, 89_856, ""},                       // 78 x 576 x 2
		{"Kimi-K2.5", kimi25("null"), 61, 60, 384, 8, 960, 61, 0, 0, 70_272, ""},                              // 61 x 576 x 2
		{"Kimi-K3", kimiK3, 93, 92, 896, 16, 2944, 0, 0, 0, 0, "text_config.linear_attn_config"},              // rows 92 x 16 x 2
		{"MiniMax-M2.5", miniMax, 62, 62, 256, 8, 496, 62, 0, 0, 253_952, ""},                                 // 62 x 8 x 256 x 2
		{"MiniMax-M3", miniMaxM3, 60, 57, 128, 4, 228, 60, 0, 0, 122_880, ""},                                 // 60 x 4 x 256 x 2
		{"DeepSeek-V3.2", sparseDeepSeek(), 61, 58, 256, 8, 464, 61, 0, 0, 70_272, ""},                        // 61 x 576 x 2
		{"gpt-oss-120b", gptOSS(36, 128), 36, 36, 128, 4, 144, 18, 18, 0, 73_728, ""},                         // 36 x 8 x 128 x 2
		{"Gemma 4 26B-A4B", gemma4, 30, 30, 128, 8, 240, 0, 0, 0, 0, "text_config.global_head_dim"},           // heads differ
		{"MiMo-V2-Flash", mimoV2, 48, 47, 256, 8, 376, 0, 0, 0, 0, "hybrid_layer_pattern"},                    // heads differ
		{"Nemotron-3-Nano", nemotron(nanoPattern, 128, 6), 52, 23, 128, 6, 138, 6, 0, 23, 6144, ""},           // 6 x 2 x 256 x 2
		{"Nemotron-3-Nano in 8 bits", sized, 52, 23, 128, 6, 138, 6, 0, 23, 3072, ""},                         // 6 x 2 x 256 x 1
		{"Mixtral-8x22B", mixtral(56, 6144, 48), 56, 56, 8, 2, 112, 56, 0, 0, 229_376, ""},                    // 56 x 8 x 256 x 2
		{"Laguna-S", laguna, 48, 47, 256, 10, 470, 12, 36, 0, 98_304, ""},                                     // 48 x 8 x 256 x 1
		{"Step-3.7-Flash", step37, 45, 42, 288, 8, 672, 12, 33, 0, 184_320, ""},                               // 45 x 8 x 256 x 2
		{"Nemotron-H by name", blockNamed(nanoPattern, 128, 6), 52, 23, 128, 6, 138, 6, 0, 23, 6144, ""},      // as by letters
		{"Ling-mini-linear", groupedHeads(), 20, 19, 256, 8, 152, 4, 0, 16, 8192, ""},                         // 4 x 4 x 256 x 2
	} {
		t.Run(c.name, c.check)
	}
	for name, dense := range map[string]string{
		"Llama 3.3": `{"model_type": "llama", "num_hidden_layers": 80, "num_attention_heads": 64, "num_key_value_heads": 8, "hidden_size": 8192}`,
		"Qwen3":     `{"model_type": "qwen3", "num_hidden_layers": 64, "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 128, "num_experts": null}`,
		"Gemma 4":   inside("gemma4", `{"num_hidden_layers": 60, "enable_moe_block": false, "num_experts": null, "top_k_experts": null}`),
	} {
		_, err := model.Parse([]byte(dense))
		require.ErrorIs(t, err, model.ErrMissing, name)
	}
}

func TestPublicCase_PC_136_TheLayersWithRoutersFollowFromTheFile(t *testing.T) {
	for name, tc := range map[string]struct {
		config string
		dense  []int
	}{
		"DeepSeek-V3":                   {deepseek(61, 3, 256, 8), []int{0, 1, 2}},
		"a Qwen with dense layers":      {strings.Replace(qwen3(8), `"mlp_only_layers": []`, `"mlp_only_layers": [6, 2]`, 1), []int{2, 6}},
		"a pattern":                     {nemotron("M*EME-", 8, 2), []int{0, 1, 3, 5}},
		"every second layer":            {llama4(2, 128, ""), every(2, 48)},
		"a frequency counted from zero": {small(`"moe_layer_freq": 5`), []int{1, 2, 3, 4, 6, 7, 8, 9, 11}},
		"none dense":                    {mixtral(3, 4096, 32), nil},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := model.Parse([]byte(tc.config))
			require.NoError(t, err)
			require.Equal(t, tc.dense, m.Dense)
			layers, err := m.LayerMap()
			require.NoError(t, err)
			require.Equal(t, m.Layers, layers.All)
			require.Len(t, layers.MoE, m.MoELayers)
			for _, layer := range tc.dense {
				require.NotContains(t, layers.MoE, layer)
			}
			// A row of all layers whose ids name their layer keeps its neighbours apart.
			p, err := m.Profile(false)
			require.NoError(t, err)
			wide := make([]byte, m.Layers*m.TopK)
			for _, layer := range layers.MoE {
				for k := range m.TopK {
					wide[layer*m.TopK+k] = byte(layer % m.Experts)
				}
			}
			a, err := routing.DecodeRaw(wide, routing.RawForm{DType: routing.Uint8, Layers: m.Layers, TopK: m.TopK, Rows: 1})
			require.NoError(t, err)
			rows, err := layers.Rows(a, p, 0)
			require.NoError(t, err)
			for j, layer := range layers.MoE {
				require.Equal(t, layer%m.Experts, rows.At(0, j, m.TopK-1))
			}
		})
	}
	for _, bad := range []model.Model{
		{}, {Layers: 4, MoELayers: 2}, {Layers: 4, MoELayers: 2, Dense: []int{2, 0}}, {Layers: 4, MoELayers: 2, Dense: []int{0, 4}},
		{Layers: 4, MoELayers: 5}, {Layers: math.MaxInt, MoELayers: math.MaxInt}, {Layers: -4, MoELayers: -4},
	} {
		_, err := bad.LayerMap()
		var config *auxerrors.ConfigError
		require.ErrorAs(t, err, &config, "%+v", bad)
	}
}

// every lists the numbers from 0 in steps.
func every(step, below int) (list []int) {
	for n := 0; n < below; n += step {
		list = append(list, n)
	}
	return list
}
