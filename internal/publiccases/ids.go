package main

// idCases are about the ids themselves: their shape, their type and their forms.
var idCases = []publicCase{
	{
		id: "PC-017",
		sources: []string{
			"https://github.com/vllm-project/vllm/pull/41401",
		},
		met:    "A model had its top-k under another name, and reading the configuration failed with an attribute error.",
		answer: "A top-k that is not stated is a configuration error that names the fields it could have; there is no default.",
		tests: []test{
			{"routing/model", "ATopKThatIsNotStatedIsNotGuessed"},
			{"routing/model", "TestBadConfigurationsAreErrorsThatNameTheField"},
		},
	},
	{
		id: "PC-043",
		sources: []string{
			"https://github.com/sgl-project/sglang/pull/9499",
		},
		met:    "Two slots were always 255, which stood for an unset id and is an expert in a model with 256.",
		answer: "There is no id that means absence: 255 is an expert like any other.",
		tests: []test{
			{"routing", "255IsAnExpertAndNoSentinel"},
		},
	},
	{
		id: "PC-044",
		sources: []string{
			"https://github.com/NVIDIA-NeMo/RL/pull/3113",
		},
		met:    "Minus one for a missing route made everybody use signed types.",
		answer: "Negative ids are refused in every type, and an id that does not fit a narrower type is not narrowed; there is no signed mode.",
		tests: []test{
			{"routing", "NegativeIdsAreRefusedWhateverTheyMean"},
		},
	},
	{
		id: "PC-046",
		sources: []string{
			"https://github.com/radixark/miles/pull/2697",
			"https://github.com/PrimeIntellect-ai/prime-rl/pull/3350",
			"https://github.com/THUDM/slime/pull/941",
		},
		met:    "Padding tokens all went to the same few experts, and the rank that had them ran out of memory.",
		answer: "Padding rows have distinct ids and spread over the experts, whose counts differ by at most one.",
		tests: []test{
			{"routing", "PaddingSpreads"},
		},
	},
	{
		id: "PC-047",
		sources: []string{
			"https://github.com/ISEEKYAN/Megatron-LM/pull/175",
		},
		met:    "An expert that occurred twice in one top-k lost a part of its probability in a scatter.",
		answer: "It is reported with position, layer and slot; the check can be switched off for layers where it is meant.",
		tests: []test{
			{"routing", "AnExpertTwiceInOneTopKIsFlagged"},
		},
	},
	{
		id: "PC-049",
		sources: []string{
			"https://docs.vllm.ai/en/v0.21.0/training/routed_experts_replay/",
			"https://github.com/THUDM/slime/blob/main/slime/utils/types.py",
		},
		met:    "Of one model some rows had all 61 layers, and others only the 58 with a router.",
		answer: "Rows of the two layouts do not mix, the error has both shapes, and a documented mapping fills the dense layers.",
		tests: []test{
			{"routing", "LayoutsOfTheLayersDoNotMix"},
		},
	},
	{
		id: "PC-050",
		sources: []string{
			"https://github.com/PrimeIntellect-ai/prime-rl/pull/3051",
		},
		met:    "Every request to a model with 512 experts failed because ids were packed into one byte.",
		answer: "Ids have two bytes beyond 256 experts, and that follows from the profile.",
		tests: []test{
			{"routing", "512ExpertsNeedTwoBytes"},
		},
	},
	{
		id: "PC-052",
		sources: []string{
			"https://github.com/NVIDIA-NeMo/RL/pull/4240",
		},
		met:    "The range of two-byte ids could not be checked because the library had no maximum for the type.",
		answer: "The range is checked in every type, with the id and the number of experts in the error.",
		tests: []test{
			{"routing", "TheRangeOfWideIdsIsChecked"},
		},
	},
	{
		id: "PC-053",
		sources: []string{
			"https://github.com/verl-project/verl/pull/7880",
		},
		met:    "One-byte ids were widened for no reason, or read as signed, which broke those from 128 on.",
		answer: "Ids keep their value in every conversion, and their width unless a wider one is needed.",
		tests: []test{
			{"routing", "NoIdChangesItsSign"},
		},
	},
	{
		id: "PC-055",
		sources: []string{
			"https://github.com/InternLM/xtuner/pull/2046",
		},
		met:    "Rows took four times their memory in a learner that widened them to 64 bits.",
		answer: "Rows are kept in the narrowest type of the model, decoding makes no copy of them, and a read fills the caller's own buffer.",
		tests: []test{
			{"routing", "RowsTakeTheirOwnBytesAndNoMore"},
			{"store", "ReadingRowsTakesNoSecondCopyOfThem"},
		},
	},
	{
		id: "PC-056",
		sources: []string{
			"https://github.com/NovaSky-AI/SkyRL/blob/main/skyrl/backends/skyrl_train/utils/routed_experts.py",
		},
		met:    "A client had to tell payloads of odd types, ranks, lengths and ids from good ones.",
		answer: "Each of them is an error without a panic; a decoder rejects and never repairs.",
		tests: []test{
			{"routing", "DamagedPayloadsAreErrors"},
		},
	},
	{
		id: "PC-058",
		sources: []string{
			"https://github.com/rogersce/cnpy/issues/7",
			"https://github.com/rogersce/cnpy/pull/77",
		},
		met:    "Readers of the npy format took the order flag for its contrary and knew one version of the header only.",
		answer: "Versions 1 to 3, both orders and both byte orders are read right.",
		tests: []test{
			{"routing", "HeadersOfEveryVersionAndOrderAreRead"},
		},
	},
	{
		id: "PC-059",
		sources: []string{
			"https://github.com/LaurentMazare/npy-ocaml/issues/4",
			"https://github.com/numpy/numpy/issues/8784",
		},
		met:    "Shapes of one dimension were written without the comma that makes them tuples, so that others could not read the file.",
		answer: "Headers are what NumPy writes, aligned to 64 bytes, also for no rows; only shapes of three dimensions are rows.",
		tests: []test{
			{"routing", "HeadersAreAlignedAndZeroRowsAllowed"},
		},
	},
	{
		id: "PC-062",
		sources: []string{
			"https://github.com/PrimeIntellect-ai/prime-rl/blob/main/src/prime_rl/inference/patches.py",
		},
		met:    "A router refused an npy string where it expected an object with a shape.",
		answer: "Both forms of the field tell themselves apart, and anything else is an error that says what is wanted.",
		tests: []test{
			{"routing", "BothFormsOfTheFieldAreTold"},
		},
	},
	{
		id: "PC-065",
		sources: []string{
			"https://github.com/THUDM/slime/issues/2384",
			"https://github.com/THUDM/slime/pull/2385",
		},
		met:    "At the start of training each actor got a copy of the whole batch's rows, and the host ran out of memory.",
		answer: "Sizes follow from model and tokens before anything is sent: 37.8 GB as int32, 9.5 GB in the narrow type.",
		tests: []test{
			{"routing/model", "TheSizeOfABatchIsKnownBeforeItIsSent"},
		},
	},
	{
		id: "PC-110",
		sources: []string{
			"https://github.com/sgl-project/sglang/pull/31219",
		},
		met:    "Engines came to send ids in one, two or four bytes, and raw ones of one width were read as another.",
		answer: "Raw ids are decoded with the exact number of rows, and a captured step states its rows: any other number of bytes is an error with both counts.",
		tests: []test{
			{"routing", "RawIdsOfAnotherWidthAreRefused"},
			{"connector", "AStepInWiderItemsIsRefused"},
		},
	},
	{
		id: "PC-134",
		sources: []string{
			"https://github.com/sgl-project/sglang/pull/36404",
		},
		met:    "Padding was captured into a buffer that nobody cleared, and a replay had one row 67 times.",
		answer: "Rows of -1 and of zeros repeat an expert in one top-k, and a row that is there 40 times is found as a run of equal rows.",
		tests: []test{
			{"routing", "RowsOfABufferThatWasNotClearedAreFlagged"},
		},
	},
}
