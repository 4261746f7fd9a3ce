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
	KindBuffer      Kind = "tail buffer"
	KindConnector   Kind = "connector"
	KindNpy         Kind = "npy files"
)

// ErrUnknownKind reports a file that is none of the kinds.
var ErrUnknownKind = errors.New("not a recording of block hashes, a prefix cache, a store, a tail buffer, a connector or npy files")

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
		KindBuffer:      Buffer,
		KindConnector:   Connector,
		KindNpy:         Npy,
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
			PoolBlocks  json.RawMessage `json:"pool_blocks"`
			Events      json.RawMessage `json:"events"`
		}
		Cases []struct {
			Npy json.RawMessage `json:"npy"`
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
	case len(file.Traces) > 0 && file.Traces[0].PoolBlocks != nil:
		return KindBuffer, nil
	case len(file.Traces) > 0 && file.Traces[0].Events != nil:
		return KindConnector, nil
	case len(file.Cases) > 0 && file.Cases[0].Npy != nil:
		return KindNpy, nil
	}
	return "", ErrUnknownKind
}
