package main

// conversationCases are about answers: which rows of a conversation a client gets, and when.
var conversationCases = []publicCase{
	{
		id: "PC-020",
		sources: []string{
			"https://github.com/sgl-project/sglang/pull/12162",
		},
		met:    "Answers had the rows of the prompt only, because lengths were taken without the generated tokens.",
		answer: "N tokens have N-1 rows, whether they came with the prompt or were sampled.",
		tests: []test{
			{"connector", "GeneratedTokensHaveRowsToo"},
			{"routing", "RowsOfOutputTokensCount"},
		},
	},
	{
		id: "PC-022",
		sources: []string{
			"https://github.com/vllm-project/vllm/pull/50721",
			"https://github.com/verl-project/verl/blob/main/verl/experimental/agent_loop/agent_loop.py",
		},
		met:    "Consumers were handed arrays that were read-only or shared with the engine.",
		answer: "What a read, a join or padding returns is the caller's own memory; a view is read-only and says so.",
		tests: []test{
			{"routing", "WhatIsJoinedOrPaddedIsTheConsumersOwn"},
			{"store", "WhatIsReadIsTheCallersOwn"},
		},
	},
	{
		id: "PC-023",
		sources: []string{
			"https://github.com/sgl-project/sglang/issues/20964",
		},
		met:    "A prompt that was only scored lost the row of its last token to a fixed minus one.",
		answer: "Who forwards 8 tokens gets 8 rows; the one that is missing otherwise is that of the token that was sampled and never ran.",
		tests: []test{
			{"routing", "APromptThatIsOnlyScoredHasARowForItsLastToken"},
		},
	},
	{
		id: "PC-025",
		sources: []string{
			"https://github.com/modelscope/ms-swift/issues/9799",
		},
		met:    "After a conversation had been encoded again, answers had neither N nor N-1 rows.",
		answer: "Exactly N-1 rows are accepted, one more only if the consumer says so, and the error has both counts.",
		tests: []test{
			{"routing", "TheNumberOfRowsIsTokensLessOne"},
		},
	},
	{
		id: "PC-026",
		sources: []string{
			"https://github.com/vllm-project/vllm/issues/55750",
			"https://github.com/vllm-project/vllm/pull/56844",
		},
		met:    "One request whose start was the length of its prompt brought the engine down for everybody.",
		answer: "Starts up to and including the prompt's length are fine; any other is an error of that request, and the next one works.",
		tests: []test{
			{"connector", "AStartBehindThePromptFailsNobodyElse"},
			{"routing", "APromptStartBeyondThePromptIsThatRequestsError"},
		},
	},
	{
		id: "PC-028",
		sources: []string{
			"https://github.com/strands-rl/strands-sglang/pull/64",
		},
		met:    "The rows of several turns had to fit together without a gap or an overlap.",
		answer: "A turn that starts at the last one's N-1 joins it exactly, and the joined rows are those of one whole answer.",
		tests: []test{
			{"connector", "ATurnThatStartsInsideAStoredBlockJoinsTheOneBefore"},
			{"routing", "SlicesOfTurnsJoinExactly"},
		},
	},
	{
		id: "PC-029",
		sources: []string{
			"https://github.com/NovaSky-AI/SkyRL/pull/2080",
		},
		met:    "A client asked for the end of the rows and got all of them, because the field was sent and never read.",
		answer: "An answer carries the position that it starts from, and one that does not fit the question is refused.",
		tests: []test{
			{"routing", "AnAnswerOfAllRowsIsNotASuffix"},
		},
	},
	{
		id: "PC-031",
		sources: []string{
			"https://github.com/NVIDIA-NeMo/RL/pull/3485",
		},
		met:    "A placeholder for the last token's row was trained on, because the next turn brought only rows of later tokens.",
		answer: "The next turn replaces a row that is marked as padding.",
		tests: []test{
			{"routing", "TheNextTurnReplacesTheBoundaryRow"},
		},
	},
	{
		id: "PC-032",
		sources: []string{
			"https://github.com/NVIDIA-NeMo/RL/pull/3144",
		},
		met:    "Surplus rows passed a check that looked for missing ones only.",
		answer: "Too many rows are as much an error as too few.",
		tests: []test{
			{"routing", "SurplusRowsAreAsWrongAsMissingOnes"},
		},
	},
	{
		id: "PC-034",
		sources: []string{
			"https://github.com/vllm-project/vllm/pull/37094",
		},
		met:    "A chunk of a stream with two tokens had all rows since the beginning.",
		answer: "The rows of chunks follow each other without gap or overlap, also when drafts were refused, and end at N-1.",
		tests: []test{
			{"connector", "EachChunkOfAStreamHasItsOwnRows"},
			{"routing", "ChunksOfAStreamHaveTheirOwnRows"},
		},
	},
	{
		id: "PC-035",
		sources: []string{
			"https://github.com/verl-project/verl/pull/6029",
		},
		met:    "A rollout that was resumed had its first rows twice.",
		answer: "Where answers overlap each position counts once.",
		tests: []test{
			{"routing", "AResumedCallThatReturnsAllRowsDoublesNone"},
		},
	},
	{
		id: "PC-037",
		sources: []string{
			"https://github.com/verl-project/verl/issues/5825",
			"https://github.com/NovaSky-AI/SkyRL/pull/1530",
		},
		met:    "In a loop of tool calls only the last turn's rows were kept.",
		answer: "Turns are joined, and a row is that of the first turn that produced it.",
		tests: []test{
			{"routing", "RowsComeFromTheFirstTurnThatProducedThem"},
		},
	},
	{
		id: "PC-038",
		sources: []string{
			"https://github.com/areal-project/AReaL/blob/main/areal/infra/remote_inf_engine.py",
		},
		met:    "A client put whole answers one behind the other although each had the full prefix.",
		answer: "More rows than the tokens have are refused.",
		tests: []test{
			{"routing", "ConcatenatedAnswersAreTooLong"},
		},
	},
	{
		id: "PC-041",
		sources: []string{
			"https://github.com/NVIDIA-NeMo/RL/blob/main/nemo_rl/models/generation/vllm/utils.py",
		},
		met:    "With a prefix cache and chunked prefill a rare sample came back with some rows missing.",
		answer: "A hit block without rows fails the request with the block's hash and number, and never shortens its answer.",
		tests: []test{
			{"connector", "AHitWithoutItsRowsIsAnErrorAndNotAShorterAnswer"},
		},
	},
	{
		id: "PC-061",
		sources: []string{
			"https://github.com/llm-d/llm-d-router/issues/1473",
		},
		met:    "When prefill and decode ran on different instances the rows of the prompt were dropped on the way.",
		answer: "The guard refuses connectors that leave rows behind, a block that was not imported is an error, and the two answers can be merged by the side that computed each.",
		tests: []test{
			{"connector", "RowsOfAnotherInstanceHaveToBeImported"},
			{"connector/guard", "ConnectorsThatLeaveTheRowsBehindAreRefused"},
			{"routing", "PromptRowsComeFromTheSideThatComputedThem"},
		},
	},
	{
		id: "PC-070",
		sources: []string{
			"https://github.com/vllm-project/vllm/issues/56402",
		},
		met:    "Sending the whole history of rows with every turn made answers slower than leaving them out did.",
		answer: "Who names what it has gets each row once: over 100 turns N-1 rows in all, where the sum is quadratic otherwise.",
		tests: []test{
			{"connector", "AClientThatNamesWhatItHasGetsEachRowOnce"},
			{"routing", "WhatTheClientHasIsNotSentAgain"},
		},
	},
	{
		id: "PC-074",
		sources: []string{
			"https://github.com/vllm-project/vllm/pull/57966",
			"https://github.com/vllm-project/vllm/pull/57025",
		},
		met:    "The position from which rows were wanted was taken anew from the cache after a preemption.",
		answer: "The start is the request's own and stays what it was, however much is cached when it comes back.",
		tests: []test{
			{"connector", "TheStartOfTheRowsSurvivesPreemption"},
		},
	},
}
