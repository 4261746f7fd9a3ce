package golden

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/auxoutput/auxoutput/blockhash"
)

// hexBytes is a string of hexadecimal digits, which may be absent.
type hexBytes []byte

// UnmarshalJSON makes null nil and the empty string empty.
func (h *hexBytes) UnmarshalJSON(data []byte) error {
	var text *string
	if err := json.Unmarshal(data, &text); err != nil || text == nil {
		return err
	}
	decoded, err := hex.DecodeString(*text)
	if err != nil {
		return fmt.Errorf("%q: %w", *text, err)
	}
	*h = decoded
	return nil
}

// vectorHash is a digest.
type vectorHash struct{ blockhash.Hash }

// UnmarshalJSON makes null the zero Hash.
func (h *vectorHash) UnmarshalJSON(data []byte) (err error) {
	var text *string
	if err = json.Unmarshal(data, &text); err != nil || text == nil {
		return err
	}
	h.Hash, err = blockhash.Parse(*text)
	return err
}

// vectorAlgorithm is the name of an algorithm.
type vectorAlgorithm struct{ blockhash.Algorithm }

// UnmarshalJSON refuses null: no vector goes without an algorithm.
func (a *vectorAlgorithm) UnmarshalJSON(data []byte) (err error) {
	var text string
	if err = json.Unmarshal(data, &text); err != nil {
		return err
	}
	a.Algorithm, err = blockhash.ParseAlgorithm(text)
	return err
}

// vectorTokens is a list of tokens, of which some may be too wide.
type vectorTokens struct {
	list []uint32 // those that are not
	wide []string // those that are
}

// UnmarshalJSON takes whole numbers up to 2^64-1.
func (t *vectorTokens) UnmarshalJSON(data []byte) error {
	var numbers []json.Number
	if err := json.Unmarshal(data, &numbers); err != nil {
		return err
	}
	for i, number := range numbers {
		n, err := strconv.ParseUint(number.String(), 10, 64)
		if err != nil {
			return fmt.Errorf("token %d: %w", i, err)
		}
		if n > math.MaxUint32 {
			t.wide = append(t.wide, number.String())
			continue
		}
		t.list = append(t.list, uint32(n))
	}
	return nil
}

// refused reports whether there are tokens that cannot be hashed, and compares
// whether each is refused as it should be.
func (t *vectorTokens) refused(c *Case) bool {
	for _, text := range t.wide {
		_, err := blockhash.ParseToken(text)
		if !errors.Is(err, blockhash.ErrToken) || !errors.Is(err, strconv.ErrRange) {
			c.Fail("token "+text, "refused as out of range", fmt.Sprint(err))
		}
	}
	return len(t.wide) > 0
}

// vectorKeys are the extra keys of a block.
type vectorKeys struct {
	list  []blockhash.ExtraKey
	texts []string // of the keys that are bare text
}

// UnmarshalJSON reads a list of {"s": text}, {"b": hex} and {"mm": [text, int]}.
func (k *vectorKeys) UnmarshalJSON(data []byte) error {
	var entries []struct {
		S  *string
		B  hexBytes
		MM []json.RawMessage
	}
	if err := json.Unmarshal(data, &entries); err != nil {
		return err
	}
	for i, entry := range entries {
		switch {
		case entry.S != nil:
			// To vLLM's algorithms a text is a text, whatever it stands for.
			k.list = append(k.list, blockhash.LoRAKey(*entry.S))
			k.texts = append(k.texts, *entry.S)
		case entry.B != nil:
			k.list = append(k.list, blockhash.EmbedsKey(entry.B))
		case len(entry.MM) == 2:
			var identifier string
			var offset int64
			if err := json.Unmarshal(entry.MM[0], &identifier); err != nil {
				return fmt.Errorf("extra key %d: %w", i, err)
			}
			if err := json.Unmarshal(entry.MM[1], &offset); err != nil {
				return fmt.Errorf("extra key %d: %w", i, err)
			}
			k.list = append(k.list, blockhash.ImageKey(identifier, offset))
		default:
			return fmt.Errorf("extra key %d is of no known form", i)
		}
	}
	return nil
}

// shared marks all keys as sharing equal texts.
func (k vectorKeys) shared() []blockhash.ExtraKey {
	marked := slices.Clone(k.list)
	for i := range marked {
		marked[i] = marked[i].Shared()
	}
	return marked
}

// decodeField decodes a field that has several forms, if it is there.
func decodeField(name string, data json.RawMessage, into any) error {
	if data == nil {
		return nil
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// noError enters an error of the library as a failure of the field.
func (c *Case) noError(field string, err error) bool {
	if err != nil {
		c.Fail(field, "no error", err.Error())
	}
	return err == nil
}

// equalHash compares a digest and its integer.
func (c *Case) equalHash(at string, digest vectorHash, low64 string, h blockhash.Hash) {
	c.Equal("digest"+at, digest.String(), h.String())
	c.Equal("low64"+at, low64, strconv.FormatUint(h.Low64(), 10))
}

func hexList[H interface{ String() string }](hashes []H) []string {
	texts := make([]string, len(hashes))
	for i, h := range hashes {
		texts[i] = h.String()
	}
	return texts
}
