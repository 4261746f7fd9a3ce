package main

// capturedCases are about rows as the model runner captures them, step by step.
var capturedCases = []publicCase{
	{
		id: "PC-001",
		sources: []string{
			"https://github.com/vllm-project/vllm/pull/39568",
		},
		met:    "KV blocks that came from elsewhere were answered with the rows of whoever had used their KV slot before.",
		answer: "Rows are found by block hash alone, so a block that nobody published is an error that names it.",
		tests: []test{
			{"connector", "KVFromOutsideBringsNobodyElsesRows"},
			{"store", "AHashWithoutRowsNeverGetsThoseOfAnother"},
		},
	},
	{
		id: "PC-002",
		sources: []string{
			"https://github.com/sgl-project/sglang/issues/26975",
		},
		met:    "After a host tier had loaded KV back into other slots, a hit returned the rows of an unrelated request.",
		answer: "Where the KV lies means nothing to the store: rows stay under their hash, whatever moves.",
		tests: []test{
			{"bench/engine", "KVThatIsLoadedBackElsewhereHasItsOwnRows"},
			{"store", "RowsFollowTheirHashFromSlotToSlot"},
			{"bench/engine", "TestAnOffloadTierNeedsAStoreThatFollowsIt"},
		},
	},
	{
		id: "PC-004",
		sources: []string{
			"https://github.com/sgl-project/sglang/pull/23885",
		},
		met:    "One of several ways back from the runner skipped the copy, and every row of the prompt was zero.",
		answer: "Nothing is there before it is published: a hash that is only retained is absent, and a step whose rows never came fails its requests.",
		tests: []test{
			{"connector", "AStepWhoseRowsNeverCameIsNoStepOfZeros"},
			{"store", "AHashThatIsOnlyRetainedIsAbsentAndNotZeros"},
		},
	},
	{
		id: "PC-005",
		sources: []string{
			"https://github.com/vllm-project/vllm/issues/44116",
			"https://github.com/vllm-project/vllm/issues/54730",
		},
		met:    "A fused kernel went past the capture hook, so that answers had the right shape and only zeros in it.",
		answer: "The checks of package routing refuse an expert that occurs twice in one top-k and layers of zeros; with the checks off rows are stored as they are given, and an absent block is still an error.",
		tests: []test{
			{"routing", "RowsThatNobodyCapturedAreZero"},
			{"store", "TheStoreKeepsWhatItIsGivenAndJudgesNoIds"},
		},
	},
	{
		id: "PC-007",
		sources: []string{
			"https://github.com/vllm-project/vllm-ascend/pull/13882",
		},
		met:    "Ids were captured after they had been mapped to physical experts, and a broad handler swallowed what went wrong.",
		answer: "Ids beyond the model's experts are refused, and the first failure of a background put reaches every later call with its cause.",
		tests: []test{
			{"routing", "PhysicalIdsAreNotLogicalOnes"},
			{"store", "AFailedBackgroundPutReachesTheNextCall"},
		},
	},
	{
		id: "PC-008",
		sources: []string{
			"https://github.com/vllm-project/vllm/pull/48622",
			"https://github.com/sgl-project/sglang/pull/26980",
		},
		met:    "A draft model wrote its routes over those of the target model's first layer.",
		answer: "The first rows published for a hash stay; others are counted as a conflict if the store verifies.",
		tests: []test{
			{"store", "ASecondWriterOfOneLayerOverwritesNothing"},
		},
	},
	{
		id: "PC-010",
		sources: []string{
			"https://github.com/THUDM/slime/blob/main/slime/observability/rollout_data_utils.py",
		},
		met:    "Pipeline stages kept their captures to themselves, and a trainer found whole layers of zeros.",
		answer: "A zero layer is reported by its number unless it is exempt as a dense one, and the guard does not let an engine with several stages start.",
		tests: []test{
			{"connector/guard", "StagesThatSeeTheirOwnLayersOnlyAreRefused"},
			{"routing", "AZeroLayerIsNamed"},
		},
	},
	{
		id: "PC-011",
		sources: []string{
			"https://github.com/vllm-project/vllm-ascend/issues/15451",
		},
		met:    "With the tokens of a step split over ranks only one rank's share was captured, and a check of the wrong total let it pass.",
		answer: "A request needs a row for each token that it executed, and the error has both numbers; a single row for a single token is fine.",
		tests: []test{
			{"connector", "OneShardOfTheTokensIsNotAllOfThem"},
		},
	},
	{
		id: "PC-013",
		sources: []string{
			"https://github.com/sgl-project/sglang/pull/26123",
			"https://github.com/sgl-project/sglang/pull/23999",
		},
		met:    "On every data-parallel rank but the first the capture ran past the end of its buffer.",
		answer: "Bounds beyond the captured rows refuse the step and change nothing; rows at an offset are found by their bounds.",
		tests: []test{
			{"connector", "RowsBeyondTheCapturedOnesAreNoneAndNoPanic"},
		},
	},
	{
		id: "PC-014",
		sources: []string{
			"https://github.com/sgl-project/sglang/issues/26860",
		},
		met:    "A prefill of 8,192 tokens in one step crashed a scheduler whose capture buffer had 2,048 rows.",
		answer: "Blocks whose hashes are known need no buffer and are taken whole; blocks that have to wait for a hash are refused with the number too many and the size of the pool, and the next step works.",
		tests: []test{
			{"connector", "AStepLargerThanPlannedIsTakenWholeOrRefusedWhole"},
		},
	},
	{
		id: "PC-016",
		sources: []string{
			"https://github.com/ovg-project/kvcached/pull/451",
		},
		met:    "Groups with blocks of different sizes lost the finer hashes, and hashes came out wrong.",
		answer: "A KV block of several hash blocks has all of their keys, a request is read by the fine ones, and what is left over is its tail.",
		tests: []test{
			{"blockhash", "CoarseBlocksKeepTheirFineHashes"},
			{"connector", "AKVBlockOfFourHashBlocksHasFourKeys"},
			{"prefixcache", "AKVBlockIsHitWholeAndHashesStayFine"},
		},
	},
	{
		id: "PC-019",
		sources: []string{
			"https://github.com/vllm-project/vllm/pull/42148",
		},
		met:    "Throughput fell although the feature was off, because the hot path was entered all the same.",
		answer: "The connector is off by default, and an idle worker allocates nothing, starts nothing and returns before its lock.",
		tests: []test{
			{"connector", "AConnectorThatIsOffCostsNothing"},
		},
	},
	{
		id: "PC-073",
		sources: []string{
			"https://github.com/vllm-project/vllm/pull/48245",
			"https://github.com/vllm-project/vllm/pull/49620",
		},
		met:    "An output that arrived after a preemption was counted from the cursor that the preemption had reset.",
		answer: "Outputs are processed in the order of their steps and belong to the life that they were scheduled in; those of an older generation are refused.",
		tests: []test{
			{"connector", "ALateOutputOfAPreemptedRequestStaysInItsOldLife"},
		},
	},
	{
		id: "PC-076",
		sources: []string{
			"https://github.com/vllm-project/vllm/pull/45635",
		},
		met:    "Rows of drafts that were then rejected could have been stored, because capture comes before acceptance.",
		answer: "Rejected rows are cut before anything is published, and the rows of the next step attach where the accepted ones end.",
		tests: []test{
			{"connector", "RejectedRowsAreNeverStored"},
		},
	},
	{
		id: "PC-077",
		sources: []string{
			"https://github.com/InternLM/xtuner/pull/2064",
			"https://github.com/InternLM/xtuner/pull/1290",
			"https://github.com/InternLM/xtuner/issues/1941",
		},
		met:    "Rows of aborted samples were never freed, or freed twice, because nobody was their owner.",
		answer: "When a request ends, however it ends, its references, its tail and its waiting blocks are gone, and a second end is an error.",
		tests: []test{
			{"connector", "AThousandRequestsAbortedInABlockLeaveNothing"},
			{"connector", "TestARunOfAThousandAbortedRequestsLeavesNothingBehind"},
			{"bench/engine", "TestAThousandAbortedRequestsLeaveNothingBehind"},
		},
	},
	{
		id: "PC-085",
		sources: []string{
			"https://github.com/LMCache/LMCache/issues/1034",
		},
		met:    "Entries that were looked up but never fetched stayed pinned for ever.",
		answer: "A request's references are given back when it ends or its lease is closed, whether it read anything or not.",
		tests: []test{
			{"connector", "ARequestThatNeverSamplesPinsNothing"},
			{"store", "ARequestThatNeverReadsPinsNothingForEver"},
		},
	},
	{
		id: "PC-103",
		sources: []string{
			"https://github.com/ai-dynamo/dynamo/pull/6569",
		},
		met:    "One malformed event cleared the whole index of a worker.",
		answer: "What is wrong with a batch or a step refuses that one alone, and nothing has changed.",
		tests: []test{
			{"connector", "AMalformedStepCostsNobodyElseTheirRows"},
			{"store", "ABadBlockFailsItsBatchAndNothingElse"},
			{"connector", "TestABadStepIsRefusedWholeAndCanBeProcessedAgain"},
		},
	},
	{
		id: "PC-128",
		sources: []string{
			"https://github.com/vllm-project/vllm/pull/42858",
		},
		met:    "A dense model with the capture turned on was loaded, and crashed then.",
		answer: "The guard and the reader of the model's own configuration both refuse it before anything starts, and say that there is no router.",
		tests: []test{
			{"connector/guard", "ADenseModelIsRefusedBeforeAnythingStarts"},
			{"routing/model", "ADenseModelIsAnErrorThatSaysSo"},
		},
	},
}
