package main

// modelCases are about a model's own file, and about traces of requests.
var modelCases = []publicCase{
	{
		id: "PC-112",
		sources: []string{
			"https://github.com/sgl-project/sglang/pull/38963",
			"https://github.com/vllm-project/vllm/pull/46474",
		},
		met:    "A shared expert was fused into the top-k, and rows were captured with it as one more column.",
		answer: "A decoder knows the top-k and the experts of the profile: the column is refused by its shape, by its id, which is no expert's, or by the count of rows.",
		tests: []test{
			{"routing", "ASharedExpertInTheTopKIsRefused"},
			{"connector", "ASharedExpertAsOneMoreColumnIsRefused"},
		},
	},
	{
		id: "PC-113",
		sources: []string{
			"https://github.com/ai-dynamo/dynamo/pull/11445",
			"https://github.com/ai-dynamo/dynamo/issues/2882",
			"https://github.com/ai-dynamo/aiconfigurator/blob/095f58a51/aic-core/src/aiconfigurator_core/model_configs/nvidia--NVIDIA-Nemotron-3-Super-120B-A12B-FP8_config.json",
			"https://github.com/manjunathshiva/turboquant-mlx/pull/52",
		},
		met:    "A model could not be registered because Python had written Infinity into a field that nobody needed, or had its KV cache charged for layers that keep none.",
		answer: "Infinity and NaN are accepted where nothing depends on them and an error that names the field elsewhere; the layers that attend are those of the pattern.",
		tests: []test{
			{"routing/model", "InfinityInAFieldThatNobodyNeedsIsNoDamage"},
			{"routing/model", "InfinityInAFieldThatIsNeededIsAnErrorThatNamesIt"},
		},
	},
	{
		id: "PC-115",
		sources: []string{
			"https://github.com/AtomicBot-ai/atomic-llama-cpp-turboquant/pull/63",
			"https://github.com/vllm-project/vllm-metal/pull/607",
		},
		met:    "The KV cache of a hybrid was charged for every layer, though one in each group keeps a latent.",
		answer: "The last layer of each group and those behind the last whole group keep a latent, the others a state.",
		tests: []test{
			{"routing/model", "OnlyTheLastLayerOfAGroupAndTheTailKeepALatent"},
		},
	},
	{
		id: "PC-116",
		sources: []string{
			"https://github.com/vllm-project/vllm/pull/48711",
			"https://github.com/ai-dynamo/aiconfigurator/blob/095f58a51/aic-core/src/aiconfigurator_core/model_configs/nvidia--GLM-5.2-NVFP4_config.json",
		},
		met:    "Start-up failed on a name for sparse attention that a new release writes into layer_types.",
		answer: "DeepSeek's sparse attention keeps every token; a kind that is not known makes the KV cache an error and leaves the rows their sizes.",
		tests: []test{
			{"routing/model", "AKindOfAttentionThatIsNotKnownCostsNoRows"},
		},
	},
	{
		id: "PC-118",
		sources: []string{
			"https://github.com/vllm-project/vllm/pull/29980",
			"https://github.com/1CatAI/1Cat-vLLM/pull/613",
			"https://github.com/ai-dynamo/aiconfigurator/blob/095f58a51/aic-core/src/aiconfigurator_core/model_configs/nvidia--Kimi-K2.5-NVFP4_config.json",
		},
		met:    "The KV cache had half or twice the blocks expected, because the engine takes its type from the checkpoint.",
		answer: "Model.KVItemBytes is the width that kv_cache_scheme or kv_cache_quant_algo asks for, or else the model's own; 0 if it is not known.",
		tests: []test{
			{"routing/model", "TheCheckpointTellsTheWidthOfItsCache"},
		},
	},
	{
		id: "PC-119",
		sources: []string{
			"https://github.com/ai-dynamo/aiconfigurator/blob/095f58a51/aic-core/src/aiconfigurator_core/model_configs/meta-llama--Llama-4-Maverick-17B-128E-Instruct_config.json",
			"https://huggingface.co/LiquidAI/LFM2-8B-A1B",
		},
		met:    "Families have rules of their own for which layers have routers, and which attend.",
		answer: "Interleaved routers, first dense layers by another name, convolutions and windows among full layers are counted; rules that disagree, layer by layer, are an error.",
		tests: []test{
			{"routing/model", "FamiliesWithOneMoreRuleAreCounted"},
			{"routing/model", "TestRoutersAreCountedByTheFamilysRule"},
			{"routing/model", "TestCachesAreCountedByTheFamilysRule"},
		},
	},
	{
		id: "PC-121",
		sources: []string{
			"https://github.com/ai-dynamo/aiconfigurator/tree/095f58a51/aic-core/src/aiconfigurator_core/model_configs",
		},
		met:    "Dozens of published files say the same few numbers in many ways.",
		answer: "For each family, layers, routers, experts, top-k, row bytes and KV bytes are what a count by hand gives; dense models are errors, and a layout that is not known says so.",
		tests: []test{
			{"routing/model", "PublishedFamiliesComeToWhatIsCountedApart"},
			{"routing/model", "TestKnownModelsHaveThePublishedSizes"},
			{"routing/model", "TestAConfigurationGivesWhatIsKnownByName"},
		},
	},
	{
		id: "PC-130",
		sources: []string{
			"https://github.com/ai-dynamo/aiperf/blob/db4f6397/docs/benchmark_modes/trace_replay.md",
			"https://github.com/ai-dynamo/dynamo/pull/8998",
		},
		met:    "Traces of multi-turn sessions have a delay in place of a timestamp, or no length of the answer.",
		answer: "Such lines are read in the order of the file, delays add up within a session, and what was not told is marked and counted; the hit curve depends on neither.",
		tests: []test{
			{"bench/capacity", "LinesWithoutTimesOrOutputsHaveAHitCurve"},
			{"bench/trace", "ATurnMayHaveADelayInPlaceOfATime"},
			{"bench/trace", "TestDamageIsReportedWithItsPlace"},
		},
	},
	{
		id: "PC-131",
		sources: []string{
			"https://github.com/callanjfox/kv-cache-tester",
		},
		met:    "Session files have sub-agents, ids of their own and blocks of 64 tokens.",
		answer: "Requests, tokens, references, hits and unique blocks of such sessions are what a count apart gives.",
		tests: []test{
			{"bench/capacity", "SessionsWithTheirOwnIdsComeToWhatIsCountedApart"},
		},
	},
	{
		id: "PC-136",
		sources: []string{
			"https://github.com/verl-project/verl/pull/5037",
		},
		met:    "Rows of all layers were mapped by an offset, and every router behind a dense layer got its neighbour's rows.",
		answer: "The map between rows of all layers and rows of MoE layers follows from the file, layer by layer.",
		tests: []test{
			{"routing/model", "TheLayersWithRoutersFollowFromTheFile"},
		},
	},
}
