package blockhash

import "fmt"

// LLMDRoot is the parent of the first key of a model in llm-d's index, from the
// seed that its token processor is configured with ("" by default): FNV-64a of
// the CBOR array [FNV-64a(seed), null, model]. A request with a LoRA has the
// adapter's name in place of the model's.
func LLMDRoot(seed, model string) uint64 {
	var room [128]byte
	b := append(room[:0], cborArray|3)
	b = appendCBORHead(b, cborUnsigned, fnv64a([]byte(seed)))
	b = append(b, cborNull)
	return fnv64a(appendCBORText(b, model))
}

// LLMDKey is the key of one block in llm-d's index: FNV-64a of the canonical
// CBOR of [parent, [token...], null], where a block that images overlap has the
// list of {"Hash": identifier} in place of null. llm-d hashes the tokens of KV
// events again, so its keys do not depend on the engine's root.
func LLMDKey(parent uint64, tokens []uint32, images ...string) uint64 {
	var room [512]byte
	b := append(room[:0], cborArray|3)
	b = appendCBORHead(b, cborUnsigned, parent)
	b = appendCBORHead(b, cborArray, uint64(len(tokens)))
	b = appendCBORTokens(b, tokens)
	if len(images) == 0 {
		return fnv64a(append(b, cborNull))
	}
	b = appendCBORHead(b, cborArray, uint64(len(images)))
	for _, identifier := range images {
		b = append(b, cborMap|1)
		b = appendCBORText(b, "Hash")
		b = appendCBORText(b, identifier)
	}
	return fnv64a(b)
}

// AppendLLMDKeys appends the key of every full block of the tokens that follow
// parent, of text alone. A block below 1 token is an error that wraps
// [ErrBlockTokens], and then dst comes back as it was.
func AppendLLMDKeys(dst []uint64, parent uint64, blockTokens int, tokens []uint32) ([]uint64, error) {
	if blockTokens < 1 {
		return dst, fmt.Errorf("%w: %d, want at least 1", ErrBlockTokens, blockTokens)
	}
	for ; len(tokens) >= blockTokens; tokens = tokens[blockTokens:] {
		parent = LLMDKey(parent, tokens[:blockTokens])
		dst = append(dst, parent)
	}
	return dst, nil
}

// fnv64a is hash/fnv's New64a without its state on the heap.
func fnv64a(b []byte) uint64 {
	const offset, prime = 14695981039346656037, 1099511628211
	h := uint64(offset)
	for _, c := range b {
		h = (h ^ uint64(c)) * prime
	}
	return h
}
