package main

// storeCases are about the store: what it keeps, what it lets go, and what it costs.
var storeCases = []publicCase{
	{
		id: "PC-040",
		sources: []string{
			"https://github.com/vllm-project/vllm/pull/57968",
		},
		met:    "After an eviction a block that was computed again could have other rows under the same key.",
		answer: "The first rows win while they are present; once they are evicted the next ones are the first.",
		tests: []test{
			{"store", "TheFirstRowsWinWhileTheyArePresent"},
		},
	},
	{
		id: "PC-064",
		sources: []string{
			"https://github.com/sgl-project/sglang/pull/36562",
		},
		met:    "Of 20.4 GiB that were asked for 32 GiB were pinned, because the allocator rounds up to a power of two.",
		answer: "Slots are the budget divided by the block and rounded down; rows stay below it, and book-keeping is a stated 88 bytes a slot.",
		tests: []test{
			{"store", "TheBudgetIsNeverRoundedUp"},
		},
	},
	{
		id: "PC-067",
		sources: []string{
			"https://github.com/vllm-project/vllm/issues/56871",
		},
		met:    "A host cache held a fraction of its size because its capacity was divided by the number of KV groups.",
		answer: "Groups share hashes and hashes name rows, so the number of groups changes neither slots nor what is stored.",
		tests: []test{
			{"bench/engine", "MoreKVGroupsTakeNoMoreSlots"},
			{"store", "GroupsThatShareHashesShareTheirRows"},
		},
	},
	{
		id: "PC-068",
		sources: []string{
			"https://github.com/vllm-project/production-stack/issues/687",
		},
		met:    "A router ran out of memory because its index of prefixes never dropped anything.",
		answer: "Everything that is kept for a block goes with the block, and what is remembered of evicted ones is bounded.",
		tests: []test{
			{"store", "BookKeepingIsBoundedByWhatIsStored"},
			{"store", "TestTenMillionHashesThroughAThousandSlotsAreReadRightAndCostNoMemory"},
		},
	},
	{
		id: "PC-071",
		sources: []string{
			"https://github.com/vllm-project/vllm/pull/28284",
			"https://github.com/vllm-project/vllm/pull/39568",
		},
		met:    "Returning rows made an engine ten times slower, with a lock file and a copy within each step.",
		answer: "A background writer with a bounded queue publishes: puts are held back when it is full and never dropped, and there is no file.",
		tests: []test{
			{"store", "PublishingIsBoundedAndLeavesNoFiles"},
			{"store", "TestAWaitThatIsCancelledLeavesItsBatchUnpublishedAndTheWriterUsable"},
		},
	},
	{
		id: "PC-079",
		sources: []string{
			"https://github.com/llm-d/llm-d-inference-sim/issues/704",
		},
		met:    "All blocks of a request had one age, and the head of a chain was evicted before its tail.",
		answer: "Lists are in prefix order and touched from the back, so tails go first, in the store as in the KV cache.",
		tests: []test{
			{"prefixcache", "TheLastBlockOfARequestIsReusedFirst"},
			{"store", "TheTailOfAChainIsEvictedBeforeItsHead"},
		},
	},
	{
		id: "PC-080",
		sources: []string{
			"https://github.com/llm-d/llm-d-router/pull/2661",
		},
		met:    "Blocks were inserted head first, so that a batch beyond the capacity pushed out its own head.",
		answer: "Such a batch is refused, or cut at its tail if the caller says so or releases it in the same step.",
		tests: []test{
			{"store", "ABatchTooLargeNeverCostsItsHead"},
		},
	},
	{
		id: "PC-082",
		sources: []string{
			"https://github.com/lightseekorg/tokenspeed/pull/1125",
		},
		met:    "A limit below the length of one prompt left nothing of it that could be hit.",
		answer: "The head is kept as far as there is room, and who needs a block behind it gets an error.",
		tests: []test{
			{"connector", "APromptLongerThanTheStoreIsServedFromItsHead"},
			{"store", "APromptLongerThanTheStoreKeepsItsHead"},
		},
	},
	{
		id: "PC-083",
		sources: []string{
			"https://github.com/llm-d/llm-d-inference-sim/issues/705",
		},
		met:    "A count of hits went on behind a block that was gone.",
		answer: "A prefix ends at the first block that is absent, in the store, in the gate and in the KV cache.",
		tests: []test{
			{"connector", "AHitEndsBeforeTheFirstBlockWithoutRows"},
			{"prefixcache", "AHitEndsAtTheFirstGap"},
			{"store", "APrefixEndsAtTheFirstGap"},
		},
	},
	{
		id: "PC-086",
		sources: []string{
			"https://github.com/LMCache/LMCache/pull/3130",
		},
		met:    "Evicting in batches went past the reference counts and freed memory that a reader was using.",
		answer: "A block that is viewed or retained is not evicted, and a copy does not depend on it.",
		tests: []test{
			{"store", "EvictionNeverTakesMemoryFromUnderAReader"},
		},
	},
	{
		id: "PC-088",
		sources: []string{
			"https://github.com/LMCache/LMCache/issues/2942",
		},
		met:    "A put that could not evict anything tried for ever.",
		answer: "It fails at once, nothing of it is left, and it works as soon as something is released.",
		tests: []test{
			{"store", "APutWithoutRoomFailsAtOnce"},
		},
	},
	{
		id: "PC-089",
		sources: []string{
			"https://github.com/LMCache/LMCache/pull/3189",
			"https://github.com/LMCache/LMCache/issues/1756",
		},
		met:    "One pinned entry stopped the search for something to evict.",
		answer: "Retained blocks are not in the list that eviction walks, so the next oldest one goes.",
		tests: []test{
			{"store", "ARetainedBlockDoesNotStopTheEvictionOfOthers"},
		},
	},
	{
		id: "PC-091",
		sources: []string{
			"https://github.com/kvcache-ai/Mooncake/issues/180",
		},
		met:    "A second put of the same prefix was an error.",
		answer: "It is none: the block is there once, and counted as present.",
		tests: []test{
			{"store", "TheSameBlockFromTwoRequestsIsOneObject"},
		},
	},
	{
		id: "PC-092",
		sources: []string{
			"https://github.com/LMCache/LMCache/pull/497",
		},
		met:    "An absent key was answered with no bytes, as if it had none.",
		answer: "An absent block is an error, and so is a payload that is not one block long.",
		tests: []test{
			{"store", "NothingIsNeverTakenForRows"},
		},
	},
	{
		id: "PC-094",
		sources: []string{
			"https://github.com/kvcache-ai/Mooncake/issues/3076",
		},
		met:    "Of some thousand keys each failed because of the time between the look and the fetch.",
		answer: "A prefix can be looked up and retained in one step, and an error tells evicted from never stored, or says that it no longer knows.",
		tests: []test{
			{"store", "AReadSaysWhetherABlockWasEvictedOrNeverStored"},
		},
	},
	{
		id: "PC-095",
		sources: []string{
			"https://github.com/sgl-project/SpecForge/pull/832",
		},
		met:    "Deleting a key that was absent counted as a failure and was tried again.",
		answer: "Removing what is not there is fine, and the result says how much was.",
		tests: []test{
			{"store", "RemovingWhatIsAbsentIsFine"},
		},
	},
	{
		id: "PC-104",
		sources: []string{
			"https://github.com/ovg-project/kvcached/issues/362",
		},
		met:    "A block whose slot was used again could still be found by its old hash.",
		answer: "A hash goes with its block, before anything else is written into the slot.",
		tests: []test{
			{"store", "AnEvictedBlockIsGoneWhoeverHasItsSlot"},
		},
	},
	{
		id: "PC-109",
		sources: []string{
			"https://github.com/vllm-project/vllm/pull/53902",
			"https://github.com/LMCache/LMCache/issues/2641",
		},
		met:    "Users could not see how much a host tier holds, nor what happens when it is too small.",
		answer: "Stats tells slots, bytes, evictions and misses by kind; the capacity command tells tokens, and who would lose rows with fewer slots.",
		tests: []test{
			{"bench/capacity", "ACapacityIsToldInBlocksTokensAndBytes"},
			{"store", "TheStoreTellsItsCapacityAndWhatBecameOfIt"},
		},
	},
	{
		id: "PC-125",
		sources: []string{
			"https://github.com/VictoriaMetrics/fastcache/pull/77",
			"https://github.com/cockroachdb/pebble/issues/1588",
		},
		met:    "Caches outside the Go heap were dropped without Close, and the process ran out of memory that no Go tool shows.",
		answer: "The collector gives the memory of a dropped store back; one figure tells what all stores of the process have mapped, and how many were dropped.",
		tests: []test{
			{"store", "AStoreDroppedWithoutCloseGivesItsMemoryBack"},
		},
	},
	{
		id: "PC-127",
		sources: []string{
			"https://github.com/orca-zhang/ecache/issues/7",
			"https://github.com/allegro/bigcache/issues/205",
		},
		met:    "A cache panicked at a capacity of 65,535, another one for a size that came out negative.",
		answer: "Slots around a power of two are all there, and eviction is exact; sizes that make no sense are typed errors.",
		tests: []test{
			{"store", "SlotsAroundAPowerOfTwoAreAllThereAndOddSizesAreRefused"},
		},
	},
}
