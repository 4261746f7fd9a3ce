package golden

import (
	"encoding/json"
	"errors"
)

// Kind says what a file records.
type Kind string

// The kinds of files that can be replayed.
const (
	KindBlockHash   Kind = "block hashes"
	KindPrefixCache Kind = "prefix cache"
	KindStore       Kind = "store"
)

// ErrUnknownKind reports a file that is none of the kinds.
var ErrUnknownKind = errors.New("not a recording of block hashes, a prefix cache or a store")

// File recognises the kind of a file from its content and replays it.
func File(data []byte) (Kind, *Report, error) {
	kind, err := recognise(data)
	if err != nil {
		return "", nil, err
	}
	replays := map[Kind]func([]byte) (*Report, error){
		KindBlockHash:   BlockHash,
		KindPrefixCache: PrefixCache,
		KindStore:       Store,
	}
	report, err := replays[kind](data)
	return kind, report, err
}

// recognise looks for the fields that only one kind has.
func recognise(data []byte) (Kind, error) {
	var file struct {
		Vectors json.RawMessage
		SGLang  json.RawMessage
		LLMD    json.RawMessage
		Traces  []struct {
			NumBlocks   json.RawMessage `json:"num_blocks"`
			ObjectBytes json.RawMessage `json:"object_nbytes"`
		}
	}
	if err := decode(data, &file); err != nil {
		return "", err
	}
	switch {
	case file.Vectors != nil || file.SGLang != nil || file.LLMD != nil:
		return KindBlockHash, nil
	case len(file.Traces) > 0 && file.Traces[0].NumBlocks != nil:
		return KindPrefixCache, nil
	case len(file.Traces) > 0 && file.Traces[0].ObjectBytes != nil:
		return KindStore, nil
	}
	return "", ErrUnknownKind
}
