package trace

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestMooncakeListsAPossiblyPartialLastBlock(t *testing.T) {
	got, r := mustRead(t, `{"timestamp": 0, "input_length": 6758, "output_length": 500, "hash_ids": [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13]}
{"timestamp": 27000, "input_length": 1025, "output_length": 4, "hash_ids": [0, 46, 47]}
`, Options{})
	assert.Equal(t, Mooncake, r.Format())
	assert.Equal(t, Layout{BlockTokens: 512, LastBlock: PartialListed}, r.Layout())
	assert.Equal(t, 16, r.UniqueBlocks())
	assert.Zero(t, r.Sessions())
	assert.Equal(t, Request{Line: 2, Session: -1, Arrival: 27 * time.Second, InputTokens: 1025, OutputTokens: 4, Blocks: []uint32{0, 14, 15}}, got[1])
}

func TestPlainLinesMayNameSessionsAndListFullBlocksOnly(t *testing.T) {
	got, r := mustRead(t, `{"timestamp":0.5,"session_id":"b","input_length":339,"output_length":202,"hash_ids":[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20]}
{"timestamp":1,"session_id":7,"input_length":15,"output_length":0,"hash_ids":[]}
{"timestamp":2,"session_id":"b","input_length":33,"output_length":0,"hash_ids":[18446744073709551615,18446744073709551614]}`, Options{})
	assert.Equal(t, Layout{BlockTokens: 16, LastBlock: FullOnly}, r.Layout())
	assert.Equal(t, 2, r.Sessions())
	assert.Equal(t, 500*time.Microsecond, got[0].Arrival)
	assert.Equal(t, []int{0, 1, 0}, []int{got[0].Session, got[1].Session, got[2].Session})
	assert.Empty(t, got[1].Blocks)
	assert.Equal(t, []uint32{21, 22}, got[2].Blocks)
}

func TestQwenChatsFollowTheirParentsAndCountSeconds(t *testing.T) {
	got, r := mustRead(t, `{"chat_id":159,"parent_chat_id":-1,"timestamp":61.5,"input_length":33,"output_length":132,"type":"text","turn":1,"hash_ids":[1089,1090,1091]}
{"chat_id":160,"parent_chat_id":-1,"timestamp":62,"input_length":16,"output_length":1,"type":"text","turn":1,"hash_ids":[5]}
{"chat_id":170,"parent_chat_id":159,"timestamp":70,"input_length":40,"output_length":1,"type":"text","turn":2,"hash_ids":[1089,1090,6]}`, Options{})
	assert.Equal(t, Qwen, r.Format())
	assert.Equal(t, Layout{BlockTokens: 16, LastBlock: PartialListed}, r.Layout())
	assert.Equal(t, 61500*time.Millisecond, got[0].Arrival)
	assert.Equal(t, []int{0, 1, 0}, []int{got[0].Session, got[1].Session, got[2].Session})
	assert.Equal(t, []uint32{0, 1, 4}, got[2].Blocks)
}

func TestRunsAreExpandedAndLocalToTheirSession(t *testing.T) {
	text := `{"s":1,"t":0,"in":400,"out":9,"runs":[[1,4],[100,2]]}
{"s":2,"t":0,"in":200,"out":9,"runs":[[1,3]]}
{"s":1,"a":1,"t":7,"in":321,"out":9,"runs":[[1,3],[62,2]]}
`
	got, r := mustRead(t, text, Options{})
	assert.Equal(t, Runs, r.Format())
	assert.Equal(t, Layout{BlockTokens: 64, LastBlock: FullOnly}, r.Layout())
	assert.Equal(t, []uint32{0, 1, 2, 3, 4, 5}, got[0].Blocks)
	assert.Equal(t, []uint32{6, 7, 8}, got[1].Blocks)
	assert.Equal(t, []uint32{0, 1, 2, 9, 10}, got[2].Blocks, "across a page of ids")
	assert.Equal(t, 7*time.Millisecond, got[2].Arrival)

	got, _ = mustRead(t, text, Options{Scope: Global})
	assert.Equal(t, []uint32{0, 1, 2}, got[1].Blocks)

	got, _ = mustRead(t, `{"s":"x","t":0,"in":4,"out":9,"runs":[[4294967294,4]]}
{"s":"x","t":0,"in":2,"out":9,"runs":[[4294967296,1],[4294967294,1]]}`, Options{BlockTokens: 1})
	assert.Equal(t, []uint32{2, 0}, got[1].Blocks, "where pages end and the map begins")
}

const wekaText = `{"id":"trace_1","block_size":64,"hash_id_scope":"local","requests":[
 {"t":0.0,"type":"n","in":130,"out":5,"hash_ids":[1,2]},
 {"t":4.0,"type":"n","in":192,"out":5,"hash_ids":[1,2,3]},
 {"t":1.0,"type":"subagent","requests":[
   {"t":1.5,"type":"n","in":70,"out":5,"hash_ids":[9]},
   {"t":2.0,"type":"subagent","requests":[{"t":2.5,"in":64,"out":1,"hash_ids":[9]}]}]}
]}
{"id":"trace_2","block_size":64,"hash_id_scope":"local","requests":[{"t":0,"in":64,"out":1,"hash_ids":[1]}]}
`

func TestWEKASessionsComeOutByTimeWithSubAgents(t *testing.T) {
	oneLine := strings.ReplaceAll(wekaText, "\n ", "")
	oneLine = strings.ReplaceAll(oneLine, "\n]}", "]}")
	require.Equal(t, 2, strings.Count(oneLine, "\n"))
	pretty := "{\n" + strings.TrimPrefix(wekaText, "{")
	for name, text := range map[string]string{"one session a line": oneLine, "laid out over lines": pretty} {
		t.Run(name, func(t *testing.T) {
			got, r := mustRead(t, text, Options{})
			assert.Equal(t, WEKA, r.Format())
			assert.Equal(t, Layout{BlockTokens: 64, LastBlock: FullOnly}, r.Layout())
			assert.Equal(t, 2, r.Sessions())
			var times []time.Duration
			var blocks [][]uint32
			for _, request := range got {
				times = append(times, request.Arrival)
				blocks = append(blocks, request.Blocks)
			}
			assert.Equal(t, []time.Duration{0, 1500 * time.Millisecond, 2500 * time.Millisecond, 4 * time.Second, 0}, times)
			assert.Equal(t, [][]uint32{{0, 1}, {2}, {2}, {0, 1, 3}, {4}}, blocks)
			assert.Equal(t, 1, got[4].Session)
			assert.Equal(t, strings.Count(text[:strings.Index(text, `"trace_2"`)], "\n")+1, got[4].Line)
		})
	}
	global, _ := mustRead(t, strings.ReplaceAll(oneLine, `"local"`, `"global"`), Options{})
	assert.Equal(t, []uint32{0}, global[4].Blocks)
}

func TestAzureGetsBlocksOfItsOwn(t *testing.T) {
	text := "TIMESTAMP,ContextTokens,GeneratedTokens\r\n2023-11-16 18:17:03.9799600,33,10\r\n2023-11-16 18:17:04.0319600,16,8\r\n"
	got, r := mustRead(t, text, Options{})
	assert.True(t, r.Format().InventsBlocks())
	assert.Equal(t, DefaultInventedTokens, r.Layout().BlockTokens)
	assert.Equal(t, Request{Line: 3, Session: -1, Arrival: 52 * time.Millisecond, InputTokens: 16, OutputTokens: 8, Blocks: []uint32{2}}, got[1])

	got, _ = mustRead(t, text, Options{BlockTokens: 32})
	assert.Equal(t, []uint32{0}, got[0].Blocks)
	assert.Empty(t, got[1].Blocks)

	_, _ = mustRead(t, "timestamp,contexttokens,generatedtokens\n2024-05-10 00:00:00.009930+00:00,1,1", Options{})
}

// TestIdsThatAreLocalToASessionAreNotShared is public case PC-107: a tool wrote
// local ids as if they were global, and sessions seemed to share everything.
func TestIdsThatAreLocalToASessionAreNotShared(t *testing.T) {
	line := `{"timestamp":%d,"session_id":%d,"input_length":160,"output_length":1,%s"hash_ids":[0,1,2,3,4,5,6,7,8,9]}` + "\n"
	for _, c := range []struct {
		name    string
		extra   string
		options Options
		unique  int
	}{
		{"local, says the file", `"hash_id_scope":"local",`, Options{}, 20},
		{"local, says the caller", ``, Options{Scope: Local}, 20},
		{"global by default", ``, Options{}, 10},
		{"global, says the file", `"hash_id_scope":"global",`, Options{}, 10},
		{"global, says the caller against the file", `"hash_id_scope":"local",`, Options{Scope: Global}, 10},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, r := mustRead(t, fmt.Sprintf(line, 0, 1, c.extra)+fmt.Sprintf(line, 1, 2, c.extra), c.options)
			assert.Equal(t, c.unique, r.UniqueBlocks())
		})
	}
}

func TestHarmlessOdditiesAreAccepted(t *testing.T) {
	line := `{"timestamp":5,"input_length":16,"output_length":1,"hash_ids":[ 3 ],"other":{"x":[null]}}`
	for name, text := range map[string]string{
		"a byte order mark":      "\ufeff" + line,
		"CR LF line ends":        line + "\r\n" + line + "\r\n",
		"blank lines":            "\n \t\n" + line + "\n\n\r\n" + line + "\n\n",
		"no line end at the end": line + "\n" + line,
		"spaces around":          "  " + line + "  \n",
		"time going backwards":   line + "\n" + strings.Replace(line, "5", "1", 1),
	} {
		t.Run(name, func(t *testing.T) {
			got, _ := mustRead(t, text, Options{})
			require.NotEmpty(t, got)
			assert.Equal(t, []uint32{0}, got[len(got)-1].Blocks)
		})
	}
	got, _ := mustRead(t, "\n\n"+line+"\n\n"+line, Options{})
	assert.Equal(t, 5, got[1].Line, "blank lines count")
}

func TestALineMayBeLongerThanTheBuffer(t *testing.T) {
	ids := strings.Repeat("12345678,", 100_000) + "1"
	got, _ := mustRead(t, `{"timestamp":5,"input_length":1600016,"output_length":1,"hash_ids":[`+ids+"]}\n"+`{"timestamp":5,"input_length":16,"output_length":1,"hash_ids":[1]}`, Options{})
	assert.Len(t, got[0].Blocks, 100_001)
	assert.Equal(t, 2, got[1].Line)
	assert.Equal(t, []uint32{1}, got[1].Blocks)
}

func TestALoopThatWasLeftCanBeTakenUpAgain(t *testing.T) {
	line := `{"timestamp":5,"input_length":16,"output_length":1,"hash_ids":[3]}` + "\n"
	r, err := NewReader(strings.NewReader(line+line+line), "f", Options{})
	require.NoError(t, err)
	for range r.All() {
		break
	}
	rest := 0
	for _, err := range r.All() {
		require.NoError(t, err)
		rest++
	}
	assert.Equal(t, 2, rest)
	for range r.All() {
		t.Fatal("the end is the end")
	}
	require.NoError(t, r.Close())
}
