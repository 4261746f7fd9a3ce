package main

// keyCases are about keys, generations and traces.
var keyCases = []publicCase{
	{
		id: "PC-097",
		sources: []string{
			"https://github.com/vllm-project/vllm/issues/44701",
			"https://github.com/vllm-project/vllm/pull/44706",
		},
		met:    "A LoRA and a cache salt of the same name gave the same hash.",
		answer: "Names that only join to the same text are different keys under every algorithm; a LoRA that equals a salt is told apart by the private algorithm, and not by those whose bytes have to be the engine's.",
		tests: []test{
			{"blockhash", "NamesThatJoinToTheSameTextAreDifferentKeys"},
			{"blockhash", "TestNamespacesOfXXH64NeverMeet"},
			{"blockhash", "TestALoRAEqualsASaltWhereTheEngineSaysSo"},
		},
	},
	{
		id: "PC-098",
		sources: []string{
			"https://github.com/vllm-project/aibrix/issues/2329",
		},
		met:    "Two sequences counted as equal when their lengths and last hashes were.",
		answer: "Each block has its own key, which covers all tokens before it, and each is looked up by itself.",
		tests: []test{
			{"blockhash", "AHashStandsForAllTokensBeforeItToo"},
			{"store", "SequencesWithTheSameEndAreKeptApart"},
		},
	},
	{
		id: "PC-100",
		sources: []string{
			"https://github.com/LMCache/LMCache/issues/2979",
			"https://github.com/LMCache/LMCache/pull/1380",
			"https://github.com/vllm-project/vllm/issues/42625",
		},
		met:    "Nothing was ever hit across processes because a language's own hash differs in each.",
		answer: "Keys are the engine's bytes: the same in every process, on disc and on the wire.",
		tests: []test{
			{"blockhash", "AnotherProcessHasTheSameKeys"},
			{"blockhash", "TestEveryRecordedVectorIsReproduced"},
		},
	},
	{
		id: "PC-101",
		sources: []string{
			"https://github.com/openvinotoolkit/openvino.genai/issues/3722",
			"https://github.com/vllm-project/vllm/pull/54727",
		},
		met:    "When two prompts collided in one key, one got the other's data.",
		answer: "Whole digests are compared, the first rows stay, and with verification other rows under a hash are counted and told in the result of the put; it is no error there.",
		tests: []test{
			{"store", "OtherRowsUnderOneHashAreCountedAndTold"},
		},
	},
	{
		id: "PC-106",
		sources: []string{
			"https://github.com/InternLM/lmdeploy/issues/4917",
			"https://github.com/pytorch/rl/pull/4016",
		},
		met:    "After the weights had been updated, entries of the old ones were used.",
		answer: "A reset starts a generation in which nothing old is reachable: references are gone once, late batches are refused, and every row is of one set of weights.",
		tests: []test{
			{"bench/engine", "RequestsInFlightAtAResetGetRowsOfOneSetOfWeights"},
			{"connector", "AResetWithRequestsInFlightLeavesNothingOld"},
			{"store", "AResetLetsGoOfEverythingOnce"},
			{"store", "TestALeaseEndsWithItsGeneration"},
		},
	},
	{
		id: "PC-107",
		sources: []string{
			"https://github.com/ai-dynamo/aiperf/pull/839",
		},
		met:    "A tool wrote ids that begin anew in each session as if they were global, and sessions seemed to share everything.",
		answer: "Ids are local where the file or the caller says so, and then two sessions share nothing.",
		tests: []test{
			{"bench/capacity", "IdsOfOneSessionHitNothingInAnother"},
			{"bench/trace", "SessionsWithTheirOwnIdsShareNothing"},
			{"bench/trace", "TestIdsThatAreLocalToASessionAreNotShared"},
		},
	},
	{
		id: "PC-122",
		sources: []string{
			"https://github.com/vllm-project/vllm/pull/51614",
			"https://github.com/vllm-project/vllm/pull/43258",
		},
		met:    "Consumers of events got the fine hashes of a request for a group whose blocks are larger.",
		answer: "An event has the hashes and the block size of its own group: of a larger block the hash at its end.",
		tests: []test{
			{"prefixcache", "EventsOfACoarseGroupHaveItsOwnHashes"},
		},
	},
	{
		id: "PC-133",
		sources: []string{
			"https://github.com/vllm-project/vllm/issues/42125",
			"https://github.com/vllm-project/vllm/pull/48352",
		},
		met:    "An adapter that was loaded again under its old name was served blocks of the old one.",
		answer: "A namespace has a generation: in the next one every block has another key, so that nothing of the older weights is found, and other adapters and models in the same store are not touched.",
		tests: []test{
			{"store", "AnAdapterLoadedAgainUnderItsNameFindsNoneOfItsOldRows"},
			{"blockhash", "TestAKeyStandsForNamesGenerationAndHashWithItsSize"},
		},
	},
}
