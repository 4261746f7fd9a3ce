package trace

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	auxerrors "github.com/auxoutput/auxoutput/errors"
)

const (
	goodPlain = `{"timestamp":0,"input_length":32,"output_length":1,"hash_ids":[1,2]}` + "\n"
	goodQwen  = `{"chat_id":1,"parent_chat_id":-1,"timestamp":0,"input_length":32,"output_length":1,"hash_ids":[1,2]}` + "\n"
	goodRuns  = `{"s":1,"t":0,"in":32,"out":1,"runs":[[1,2]]}` + "\n"
	goodWEKA  = `{"id":"a","block_size":16,"hash_id_scope":"local","requests":[{"t":0,"in":32,"out":1,"hash_ids":[1,2]}]}` + "\n"
	goodAzure = "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03.9799600,32,1\n"
)

func TestDamageIsReportedWithItsPlace(t *testing.T) {
	for _, c := range []struct {
		name    string
		text    string
		options Options
		want    string // the whole message
	}{
		{"an empty file", "", Options{}, "f:1: the file is empty"},
		{"a file of blank lines", "\n\n \n", Options{}, "f:3: the file is empty"},
		{"a file with nothing but a byte order mark", "\ufeff", Options{}, "f:1: the file is empty"},
		{"prose", "hello\n", Options{}, `f:1: not a trace: the first line is neither a JSON object nor "TIMESTAMP,ContextTokens,GeneratedTokens"`},
		{"a lone vertical tab", "\v", Options{}, `f:1: not a trace: the first line is neither a JSON object nor "TIMESTAMP,ContextTokens,GeneratedTokens"`},
		{"a JSON list", "[1,2]\n", Options{}, `f:1: not a trace: the first line is neither a JSON object nor "TIMESTAMP,ContextTokens,GeneratedTokens"`},
		{"an object of something else", `{"prompt":"hi"}`, Options{}, "f:1: not a trace: the first line has no hash_ids, runs or requests"},
		{"a first line cut off", `{"timestamp":0,"inp`, Options{}, "f:1:19: the JSON ends early: the file is truncated, or a line was broken in two"},
		{"another CSV", "TIMESTAMP,ContextTokens\n", Options{}, `f:1: not a trace: the first line is neither a JSON object nor "TIMESTAMP,ContextTokens,GeneratedTokens"`},

		{"a line cut off", goodPlain + `{"timestamp":0,"input_length":32,"hash_ids":[1,`, Options{}, "f:2:47: the JSON ends early: the file is truncated, or a line was broken in two"},
		{"two objects on a line", goodPlain + goodPlain[:len(goodPlain)-1] + goodPlain, Options{}, "f:2:69: invalid character '{' after top-level value"},
		{"bytes that are not UTF-8", goodPlain + "{\"timestamp\":\"\xff\xfe\"}", Options{}, "f:2:15: byte 0xff is not UTF-8 text"},
		{"a file in UTF-16", "\xff\xfe{\x00", Options{}, "f:1:1: byte 0xff is not UTF-8 text"},
		{"a NUL", goodPlain + "\x00", Options{}, `f:2:1: invalid character '\x00' looking for beginning of value`},
		{"a list of requests", goodPlain + "[]", Options{}, `f:2:1: the line: found "array", want an object`},

		{"no input_length", `{"timestamp":0,"output_length":1,"hash_ids":[1,2]}`, Options{}, "f:1: input_length is missing"},
		{"a negative delay", goodPlain + `{"delay":-1,"input_length":32,"hash_ids":[1,2]}`, Options{}, "f:2: delay: -1 is not a time from 0 to 292 years in milliseconds"},
		{"a negative delay beside a timestamp", `{"timestamp":5,"delay":-1,"input_length":32,"hash_ids":[1,2]}`, Options{}, "f:1: delay: -1 is not a time from 0 to 292 years in milliseconds"},
		{"a huge delay", `{"delay":1e308,"input_length":32,"hash_ids":[1,2]}`, Options{}, "f:1: delay: 1e+308 is not a time from 0 to 292 years in milliseconds"},
		{"a delay beyond floats", `{"delay":1e999,"input_length":32,"hash_ids":[1,2]}`, Options{}, `f:1:14: delay: found "number 1e999", want a number`},
		{"a delay that is text", `{"delay":"1","input_length":32,"hash_ids":[1,2]}`, Options{}, `f:1:12: delay: found "string", want a number`},
		{"a delay of no number", `{"delay":Infinity,"input_length":32,"hash_ids":[1,2]}`, Options{}, "f:1:10: invalid character 'I' looking for beginning of value"},
		{"delays that add up to more than a time", strings.Repeat(`{"session_id":1,"delay":9e12,"input_length":32,"hash_ids":[1,2]}`+"\n", 2), Options{}, "f:2: delay: 2500000h0m0s after 2500000h0m0s is more than 292 years"},
		{"delays without session that add up to more than a time", strings.Repeat(`{"delay":9e12,"input_length":32,"hash_ids":[1,2]}`+"\n", 2), Options{}, "f:2: delay: 2500000h0m0s after 2500000h0m0s is more than 292 years"},
		{"a time of another kind", `{"timestamp":"0","delay":1,"input_length":32,"hash_ids":[1,2]}`, Options{}, `f:1:16: timestamp: found "string", want a number`},
		{"an output length that is text", `{"delay":1,"input_length":32,"output_length":"1","hash_ids":[1,2]}`, Options{}, `f:1:48: output_length: found "string", want a whole number of 64 bits`},
		{"no hash_ids", `{"timestamp":0,"input_length":32,"output_length":1}`, Options{}, "f:1: hash_ids is missing"},
		{"null for hash_ids", `{"timestamp":0,"input_length":32,"output_length":1,"hash_ids":null}`, Options{}, "f:1: hash_ids is missing"},
		{"null for a length", `{"timestamp":0,"input_length":null,"output_length":1,"hash_ids":[1]}`, Options{}, "f:1: input_length is missing"},
		{"a negative input length", `{"timestamp":0,"input_length":-1,"output_length":1,"hash_ids":[]}`, Options{}, "f:1: input_length: -1 is not a number of tokens from 0 to 1073741824"},
		{"a negative output length", `{"timestamp":0,"input_length":1,"output_length":-7,"hash_ids":[]}`, Options{}, "f:1: output_length: -7 is not a number of tokens from 0 to 1073741824"},
		{"a length beyond the limit", `{"timestamp":0,"input_length":9223372036854775807,"output_length":1,"hash_ids":[1]}`, Options{}, "f:1: input_length: 9223372036854775807 is not a number of tokens from 0 to 1073741824"},
		{"a length beyond 64 bits", `{"timestamp":0,"input_length":1e308,"output_length":1,"hash_ids":[1]}`, Options{}, `f:1:35: input_length: found "number 1e308", want a whole number of 64 bits`},
		{"a length that is text", `{"timestamp":0,"input_length":"32","output_length":1,"hash_ids":[1]}`, Options{}, `f:1:34: input_length: found "string", want a whole number of 64 bits`},
		{"a negative time", `{"timestamp":-1,"input_length":32,"output_length":1,"hash_ids":[1]}`, Options{}, "f:1: timestamp: -1 is not a time from 0 to 292 years in milliseconds"},
		{"a huge time", `{"timestamp":1e308,"input_length":32,"output_length":1,"hash_ids":[1]}`, Options{}, "f:1: timestamp: 1e+308 is not a time from 0 to 292 years in milliseconds"},
		{"a time beyond floats", `{"timestamp":1e999,"input_length":32,"output_length":1,"hash_ids":[1]}`, Options{}, `f:1:18: timestamp: found "number 1e999", want a number`},
		{"a session that is a list", `{"timestamp":0,"session_id":[1],"input_length":32,"output_length":1,"hash_ids":[1]}`, Options{}, `f:1: session_id: found "[1]", want a string or a number`},
		{"an unknown scope", `{"timestamp":0,"hash_id_scope":"world","input_length":32,"output_length":1,"hash_ids":[1]}`, Options{}, `f:1: hash_id_scope: found "world", want "local" or "global"`},
		{"local ids without a session", goodPlain, Options{Scope: Local}, "f:1: session_id is missing: block ids that are local to a session need one"},

		{"a negative id", `{"timestamp":0,"input_length":32,"output_length":1,"hash_ids":[1,-2]}`, Options{}, `f:1: hash_ids: after 1 numbers found "-2", want a whole number from 0 to 2^64-1`},
		{"an id beyond 64 bits", `{"timestamp":0,"input_length":32,"output_length":1,"hash_ids":[18446744073709551616]}`, Options{}, `f:1: hash_ids: after 0 numbers found "18446744073709551616", want a whole number from 0 to 2^64-1`},
		{"an id with a fraction", `{"timestamp":0,"input_length":32,"output_length":1,"hash_ids":[1.5]}`, Options{}, `f:1: hash_ids: after 0 numbers found "1.5", want a whole number from 0 to 2^64-1`},
		{"an id with an exponent", `{"timestamp":0,"input_length":32,"output_length":1,"hash_ids":[1e308]}`, Options{}, `f:1: hash_ids: after 0 numbers found "1e308", want a whole number from 0 to 2^64-1`},
		{"an id that is text", `{"timestamp":0,"input_length":32,"output_length":1,"hash_ids":["a"]}`, Options{}, `f:1: hash_ids: after 0 numbers found "\"a\"", want a whole number from 0 to 2^64-1`},
		{"an id that is null", `{"timestamp":0,"input_length":32,"output_length":1,"hash_ids":[1,null]}`, Options{}, `f:1: hash_ids: after 1 numbers found "null", want a whole number from 0 to 2^64-1`},
		{"ids in lists", `{"timestamp":0,"input_length":32,"output_length":1,"hash_ids":[[1,2]]}`, Options{}, `f:1: hash_ids: after 0 numbers found "[1", want a whole number from 0 to 2^64-1`},
		{"ids that are no list", `{"timestamp":0,"input_length":32,"output_length":1,"hash_ids":7}`, Options{}, `f:1: hash_ids: after 0 numbers found "7", want a list`},
		{"ids in an object", `{"timestamp":0,"input_length":32,"output_length":1,"hash_ids":{"a":1}}`, Options{}, `f:1: hash_ids: after 0 numbers found "{\"a\":1}", want a list`},
		{"fewer ids than the lines before allow", goodPlain + `{"timestamp":0,"input_length":3200,"output_length":1,"hash_ids":[1,2]}`, Options{}, "f:2: 2 block ids for 3200 tokens fit no block size: the lines before allow blocks of 11 to 31 tokens"},
		{"ids that do not fit the stated size", goodPlain, Options{BlockTokens: 512}, "f:1: 2 block ids for 32 tokens: blocks of 512 make 0 full ones, 1 with a partial one"},
		{"ids for no tokens", `{"timestamp":0,"input_length":0,"output_length":1,"hash_ids":[1]}`, Options{}, "f:1: 1 block ids for 0 tokens fit no block size: the lines before allow blocks of at least 1 tokens"},

		{"a chat without timestamp", strings.Replace(goodQwen, `"timestamp"`, `"delay"`, 1), Options{}, "f:1: timestamp is missing"},
		{"a chat without output_length", strings.Replace(goodQwen, `"output_length"`, `"o"`, 1), Options{}, "f:1: output_length is missing"},
		{"a chat without an id", goodQwen + goodPlain, Options{}, "f:2: chat_id is missing"},
		{"a chat with half an id", `{"chat_id":1.5}`, Options{}, `f:1:14: chat_id: found "number 1.5", want a whole number of 64 bits`},
		{"a late time in seconds", strings.Replace(goodQwen, `"timestamp":0`, `"timestamp":1e10`, 1), Options{}, "f:1: timestamp: 1e+10 is not a time from 0 to 292 years in seconds"},

		{"runs of another line's form", goodRuns + goodPlain, Options{}, "f:2: t is missing"},
		{"no session", `{"t":0,"in":32,"out":1,"runs":[[1,2]]}`, Options{}, "f:1: s is missing"},
		{"a session in an object", `{"s":{},"t":0,"in":32,"out":1,"runs":[[1,2]]}`, Options{}, `f:1: s: found "{}", want a string or a number`},
		{"no runs", goodRuns + `{"s":1,"t":0,"in":32,"out":1}`, Options{}, "f:2: runs is missing"},
		{"no in", `{"s":1,"t":0,"out":1,"runs":[]}`, Options{}, "f:1: in is missing"},
		{"no out", `{"s":1,"t":0,"in":1,"runs":[]}`, Options{}, "f:1: out is missing"},
		{"a negative in", `{"s":1,"t":0,"in":-32,"out":1,"runs":[]}`, Options{}, "f:1: in: -32 is not a number of tokens from 0 to 1073741824"},
		{"a run of one number", `{"s":1,"t":0,"in":32,"out":1,"runs":[[1]]}`, Options{}, "f:1: runs: a run of 1 numbers, want [first, count]"},
		{"a run of three numbers", `{"s":1,"t":0,"in":32,"out":1,"runs":[[1,2,3]]}`, Options{}, "f:1: runs: a run of 3 numbers, want [first, count]"},
		{"runs that are numbers", `{"s":1,"t":0,"in":32,"out":1,"runs":[1,2]}`, Options{}, `f:1: runs: after 0 numbers found "1", want a list`},
		{"runs nested too deep", `{"s":1,"t":0,"in":32,"out":1,"runs":[[[1,2]]]}`, Options{}, `f:1: runs: after 0 numbers found "[1", want a whole number from 0 to 2^64-1`},
		{"an empty run", `{"s":1,"t":0,"in":32,"out":1,"runs":[[1,0]]}`, Options{}, "f:1: runs: the run from 1 is empty"},
		{"a negative count", `{"s":1,"t":0,"in":32,"out":1,"runs":[[1,-5]]}`, Options{}, `f:1: runs: after 1 numbers found "-5", want a whole number from 0 to 2^64-1`},
		{"a huge count", `{"s":1,"t":0,"in":1073741824,"out":1,"runs":[[1,18446744073709551615]]}`, Options{}, "f:1: runs: a run of 18446744073709551615 ids from 1 on: a request has at most 4194304 blocks"},
		{"more blocks than tokens", `{"s":1,"t":0,"in":32,"out":1,"runs":[[1,4000000]]}`, Options{}, "f:1: 4000000 block ids for 32 tokens fit no block size: the lines before allow blocks of at least 1 tokens"},
		{"a run past 64 bits", `{"s":1,"t":0,"in":32,"out":1,"runs":[[18446744073709551615,2]]}`, Options{}, "f:1: runs: the run of 2 ids from 18446744073709551615 leaves 64 bits"},

		{"a session cut off", goodWEKA + goodWEKA[:50], Options{}, "f:2: the session ends early: the file is truncated"},
		{"a session that is a number", goodWEKA + "7\n", Options{}, `f:2:1: the line: found "number", want an object`},
		{"a session with bad JSON", goodWEKA + "{\"a\" 1}\n", Options{}, "f:2:6: invalid character '1' after object key"},
		{"no requests", goodWEKA + `{"id":"b"}`, Options{}, "f:2: requests is missing"},
		{"null for requests", `{"id":"b","requests":null}`, Options{}, "f:1: requests is missing"},
		{"another block size", goodWEKA + strings.Replace(goodWEKA, ":16", ":32", 1), Options{}, "f:2: block_size: found 32, where 16 was stated before"},
		{"a block size against the caller's", goodWEKA, Options{BlockTokens: 64}, "f:1: block_size: found 16, where 64 was stated before"},
		{"a negative block size", strings.Replace(goodWEKA, ":16", ":-16", 1), Options{}, "f:1: block_size: -16 is not a number of tokens from 1 to 2147483647"},
		{"a session with an unknown scope", strings.Replace(goodWEKA, `"local"`, `"x"`, 1), Options{}, `f:1: hash_id_scope: found "x", want "local" or "global"`},
		{"a request without ids", strings.Replace(goodWEKA, `"hash_ids"`, `"h"`, 1), Options{}, "f:1: requests[0]: hash_ids is missing"},
		{"a request without time", strings.Replace(goodWEKA, `"t"`, `"x"`, 1), Options{}, "f:1: requests[0]: t is missing"},
		{"a request without out", strings.Replace(goodWEKA, `"out"`, `"x"`, 1), Options{}, "f:1: requests[0]: out is missing"},
		{"a sub-agent's negative length", `{"requests":[{"t":0,"requests":[{"t":0,"in":-32,"out":1,"hash_ids":[1]}]}]}`, Options{}, "f:1: requests[0].requests[0]: in: -32 is not a number of tokens from 0 to 1073741824"},
		{"an id of a laid-out session", "{\n\"block_size\": 16,\n\"requests\": [\n{\"t\": \"x\"}]}", Options{}, `f:4:9: requests.t: found "string", want a number`},

		{"two fields", goodAzure + "2023-11-16 18:17:03.9799600,32\n", Options{}, "f:3: 2 fields, want the 3 of TIMESTAMP,ContextTokens,GeneratedTokens"},
		{"four fields", goodAzure + "2023-11-16 18:17:03.9799600,32,1,\n", Options{}, "f:3: 4 fields, want the 3 of TIMESTAMP,ContextTokens,GeneratedTokens"},
		{"a bad date", goodAzure + "2023-13-16 18:17:03.9799600,32,1\n", Options{}, `f:3: TIMESTAMP: found "2023-13-16 18:17:03.9799600", want a time like 2023-11-16 18:17:03.9799600`},
		{"a negative number of tokens", goodAzure + "2023-11-16 18:17:03.9799600,-32,1\n", Options{}, "f:3: ContextTokens: -32 is not a number of tokens from 0 to 1073741824"},
		{"tokens that are no number", goodAzure + "2023-11-16 18:17:03.9799600,32,x\n", Options{}, `f:3: GeneratedTokens: found "x", want a whole number of tokens`},
		{"tokens beyond 64 bits", goodAzure + "2023-11-16 18:17:03.9799600,99999999999999999999,1\n", Options{}, `f:3: ContextTokens: found "99999999999999999999", want a whole number of tokens`},
		{"tokens that make too many blocks", goodAzure + "2023-11-16 18:17:03.9799600,1073741824,1\n", Options{}, "f:3: ContextTokens: 1073741824 tokens make 67108864 blocks of 16: a request has at most 4194304"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, err := readAll(c.text, c.options)
			var damage *Error
			require.ErrorAs(t, err, &damage)
			assert.Equal(t, c.want, err.Error())
		})
	}
}

func TestAnErrorEndsTheTrace(t *testing.T) {
	r, err := NewReader(strings.NewReader(goodPlain+"{\n"+goodPlain), "f", Options{})
	require.NoError(t, err)
	var failures int
	for range 2 {
		for _, err := range r.All() {
			if err != nil {
				failures++
			}
		}
	}
	assert.Equal(t, 1, failures)
}

func TestAFailingReadIsReportedWithItsCause(t *testing.T) {
	broken := errors.New("disk on fire")
	r, err := NewReader(io.MultiReader(strings.NewReader(goodPlain+goodPlain), iotest.ErrReader(broken)), "f", Options{})
	require.NoError(t, err)
	var last error
	for _, err := range r.All() {
		last = err
	}
	require.ErrorIs(t, last, broken)
	assert.Equal(t, "f:2: reading after this line: disk on fire", last.Error())
	_, err = Open(filepath.Join(t.TempDir(), "absent"), Options{})
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = Open(t.TempDir(), Options{})
	var damage *Error
	require.ErrorAs(t, err, &damage)
}

func TestANegativeBlockSizeIsRefused(t *testing.T) {
	_, err := NewReader(strings.NewReader(goodPlain), "f", Options{BlockTokens: -1})
	require.ErrorIs(t, err, auxerrors.ErrTooSmall)
}

// repeated is an endless line.
type repeated byte

func (r repeated) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(r)
	}
	return len(p), nil
}

func TestALineWithoutEndIsGivenUp(t *testing.T) {
	_, err := NewReader(repeated('7'), "f", Options{})
	require.EqualError(t, err, "f:1: the line is longer than 67108864 bytes")
}

func TestNoNumberInAFileDrivesAnAllocation(t *testing.T) {
	for name, text := range map[string]string{
		"a huge run":           `{"s":1,"t":0,"in":1073741824,"out":1,"runs":[[1,18446744073709551615]]}`,
		"many large runs":      `{"s":1,"t":0,"in":1073741824,"out":1,"runs":[` + strings.Repeat("[1,4194304],", 100) + `[1,1]]}`,
		"more ids than tokens": `{"s":1,"t":0,"in":1,"out":1,"runs":[[1,4194304]]}`,
		"a huge prompt":        goodAzure + "2023-11-16 18:17:03.9799600,1073741824,1\n",
		"a huge block":         strings.Replace(goodWEKA, ":16", ":9223372036854775807", 1),
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, _, err := readAll(text, Options{})
			runtime.ReadMemStats(&after)
			require.Error(t, err)
			assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(2<<20))
		})
	}
}

func TestAShortFileCannotNameAnyNumberOfBlocks(t *testing.T) {
	line := `{"s":%d,"t":0,"in":4194304,"out":1,"runs":[[1,4194304]]}` + "\n"
	text := fmt.Sprintf(line, 1) + fmt.Sprintf(line, 2)
	_, _, err := readAll(text, Options{})
	require.EqualError(t, err, "f:2: more than 4308992 different blocks, which is the limit for a trace of this length")
	_, _, err = readAll(fmt.Sprintf(line, 1)+fmt.Sprintf(line, 1), Options{})
	require.NoError(t, err, "the same blocks again are no news")

	long := "2023-11-16 18:17:03.9799600,67108864,1\n"
	_, _, err = readAll(goodAzure+long+long, Options{})
	require.ErrorContains(t, err, "f:4: more than")
}

func TestSubAgentsThatNestTooDeepAreRefused(t *testing.T) {
	depth := MaxNesting + 2
	text := `{"requests":` + strings.Repeat(`[{"requests":`, depth) + "[]" + strings.Repeat("}]", depth) + "}"
	_, _, err := readAll(text, Options{})
	require.ErrorContains(t, err, "nested more than 16 deep")
}
