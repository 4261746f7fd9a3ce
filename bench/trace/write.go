package trace

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"io"
	"time"

	auxerrors "github.com/auxoutput/auxoutput/errors"
)

// WriteMooncake writes turns as Mooncake JSONL with session_id, their blocks
// numbered in order of first appearance. With partialLast the last block of a
// prompt is listed even if it is not full, as Mooncake's own files do; without,
// full blocks only. Blocks get equal ids exactly if they and all blocks before
// them hold equal tokens: tokens are compared, not hashes of them.
//
// A block of no tokens is a [auxerrors.ConfigError]; other errors are the
// writer's.
func WriteMooncake(w io.Writer, turns []Turn, blockTokens int, partialLast bool) error {
	if blockTokens < 1 {
		return &auxerrors.ConfigError{Field: "blockTokens", Value: blockTokens, Want: "at least 1", Reason: auxerrors.ErrTooSmall}
	}
	out := bufio.NewWriter(w)
	chains := chains{ids: make(map[string]int), list: []int{}}
	for _, turn := range turns {
		ids := chains.blocks(turn.Prompt, blockTokens, partialLast)
		line, err := json.Marshal(writtenTurn{
			Timestamp: int64(turn.Arrival / time.Millisecond),
			Session:   turn.Session,
			Input:     len(turn.Prompt),
			Output:    len(turn.Output),
			IDs:       ids,
		})
		if err != nil {
			return err
		}
		if _, err := out.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return out.Flush()
}

// chains numbers blocks by their tokens and the block before.
type chains struct {
	ids  map[string]int
	key  []byte
	list []int
}

// blocks returns the ids of a prompt's blocks, in a slice that the next call
// uses again.
func (c *chains) blocks(prompt []uint32, blockTokens int, partialLast bool) []int {
	c.list = c.list[:0]
	parent := -1
	for len(prompt) >= blockTokens || partialLast && len(prompt) > 0 {
		length := min(len(prompt), blockTokens)
		c.key = binary.LittleEndian.AppendUint64(c.key[:0], uint64(parent+1))
		for _, token := range prompt[:length] {
			c.key = binary.LittleEndian.AppendUint32(c.key, token)
		}
		id, known := c.ids[string(c.key)]
		if !known {
			id = len(c.ids)
			c.ids[string(c.key)] = id
		}
		c.list = append(c.list, id)
		parent, prompt = id, prompt[length:]
	}
	return c.list
}

// writtenTurn is a line of the file, its fields in the order of the known ones.
type writtenTurn struct {
	Timestamp int64 `json:"timestamp"`
	Session   int   `json:"session_id"`
	Input     int   `json:"input_length"`
	Output    int   `json:"output_length"`
	IDs       []int `json:"hash_ids"`
}
