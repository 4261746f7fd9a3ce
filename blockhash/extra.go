package blockhash

import (
	"fmt"
	"unicode/utf8"
)

// MaxText is the length in bytes of the longest name, salt, identifier, seed or
// other content that is hashed: 16 MiB. No engine takes one that long.
const MaxText = 16 << 20

type extraKind uint8

// The kinds double as the tags of the xxh64 layout, so their numbers are fixed.
const (
	loraKey extraKind = 1 + iota
	saltKey
	bareImageKey
	imageKey
	embedsKey
)

// ExtraKey is one of the things besides tokens that enter the hash of a block.
// It is comparable. The zero ExtraKey is none and cannot be hashed.
//
// vLLM writes a LoRA name, a salt and a bare image identifier as plain strings,
// without a tag: under its algorithms the LoRA "x" and the salt "x" give the
// first block one hash (vLLM issue 44701). That cannot be cured here, where the
// bytes have to be the engine's; only [XXH64] keeps them apart.
type ExtraKey struct {
	content string // text, or bytes for embedsKey
	offset  int64  // imageKey: first token of the image minus first of the block
	kind    extraKind
	shared  bool
}

// LoRAKey is the name of the adapter.
func LoRAKey(name string) ExtraKey { return ExtraKey{kind: loraKey, content: name} }

// SaltKey is the cache salt, which the first block of a request carries.
func SaltKey(salt string) ExtraKey { return ExtraKey{kind: saltKey, content: salt} }

// ImageKey is an image, or another item that is not text, with the place of its
// first token relative to the first token of the block: negative if the item
// began in an earlier block. vLLM does so since PR 36708 (merged March 2026).
func ImageKey(identifier string, offset int64) ExtraKey {
	return ExtraKey{kind: imageKey, content: identifier, offset: offset}
}

// BareImageKey is an image without its place, as vLLM has it between PR 11646
// and PR 36708 (v0.8 to about v0.17).
func BareImageKey(identifier string) ExtraKey {
	return ExtraKey{kind: bareImageKey, content: identifier}
}

// EmbedsKey is the digest of a block's slice of the prompt embeddings, 32 bytes
// in vLLM, which it copies.
func EmbedsKey(digest []byte) ExtraKey {
	return ExtraKey{kind: embedsKey, content: string(digest)}
}

// Shared marks a text as one Python object with every other marked key of equal
// text in its block. Pickle writes an object that it has met before as a
// reference, so an image that lies twice in one block has two possible hashes,
// by how the engine holds its identifier. CBOR and xxh64 know no objects: to
// them the mark means nothing.
func (k ExtraKey) Shared() ExtraKey {
	k.shared = true
	return k
}

// check refuses what the serialisers could not write: Python strings are
// Unicode, so no preimage holds other bytes as text.
func (k ExtraKey) check() error {
	switch k.kind {
	case loraKey, saltKey, bareImageKey, imageKey:
		return checkText(k.content)
	case embedsKey:
		if len(k.content) > MaxText {
			return fmt.Errorf("%w: %d bytes, at most %d", ErrText, len(k.content), MaxText)
		}
		return nil
	}
	return fmt.Errorf("%w: the zero ExtraKey is none", ErrText)
}

func checkText(text string) error {
	if len(text) > MaxText {
		return fmt.Errorf("%w: %d bytes, at most %d", ErrText, len(text), MaxText)
	}
	if !utf8.ValidString(text) {
		return fmt.Errorf("%w: not valid UTF-8", ErrText)
	}
	return nil
}
