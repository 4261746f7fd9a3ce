// Package trace reads and makes request traces: who asked when, for how many
// tokens, and which KV blocks the prompt consists of.
//
// A [Reader] recognises the format by the first line:
//
//   - Mooncake JSONL, one request a line: timestamp (ms), input_length,
//     output_length, hash_ids, and perhaps session_id. AIPerf and Dynamo may have a
//     delay (ms) after the turn before in place of the timestamp, and no
//     output_length;
//   - Qwen-Bailian JSONL, the same with chat_id and parent_chat_id, and
//     timestamps in seconds;
//   - the run-length form: {"s":session,"a":agent,"t":ms,"in":n,"out":n,
//     "runs":[[first,count],...]}, ids local to the session;
//   - WEKA (kv-cache-tester, AIPerf): one JSON object a session, with block_size,
//     hash_id_scope and requests, sub-agents nested;
//   - Azure CSV: TIMESTAMP,ContextTokens,GeneratedTokens. It has no block ids, so
//     blocks are invented that no two requests share, and nothing ever hits.
//
// What differs between the files is made alike. Block ids become numbers 0, 1,
// 2, ... in order of first appearance, so that a consumer indexes flat arrays;
// ids local to a session are told apart by session; times become durations since
// the start of the trace, or of the session where the file says no more.
//
// # What the files do not say
//
// Mooncake lists ceil(input/block) ids, the last one possibly of a partial
// block; other files list floor(input/block). None of the JSONL forms names the
// block size. The reader compares every line's number of ids with both readings
// and reports what fits all of them ([Reader.Layout]).
//
// A Mooncake line without timestamp arrives its delay after the turn before of its
// session, or after the line before; one without output_length has an answer of unknown
// length. Each such [Request] says so, and [Reader.Gaps] counts them.
//
// # What is an error
//
// A line that cannot be what it claims is an [*Error] with file, line and, where
// it can be told, column: nothing is repaired, skipped or guessed. Blank lines, a
// byte order mark and CR LF line ends are harmless and accepted. Times may go
// backwards: the order of the file is the order of the replay. Nothing is
// allocated because a number in the file says so before that number has been
// checked against the limits below.
package trace
