// Package blockhash computes the hashes by which a serving engine knows its KV
// blocks, byte for byte as vLLM does.
//
// # The hash of a block
//
// A full block of tokens is hashed as the triple
//
//	(hash of the block before, tokens, extra keys or None)
//
// so that a [Hash] stands for its tokens and for everything before them. How
// the triple becomes bytes, and the bytes a digest, is the [Algorithm]: vLLM's
// option --prefix-caching-hash-algo. Pickle with SHA-256 is the default since
// v0.10.2; canonical CBOR came with PR 20511, digests as bytes with PR 23673,
// XXH3-128 with PR 29163. A partial block has no hash. The model, its tokenizer
// and the block length enter no hash: keep what differs in them apart.
//
// Tokens have 32 bits without a sign. Wider ones cannot be expressed, and
// [ParseToken] and [AppendTokens] refuse them.
//
// # Roots
//
// The first block follows a root, vLLM's NONE_HASH. [SeedRoot] makes it of the
// engine's PYTHONHASHSEED, [DefaultRoot] is that of an engine without one (PR
// 51875), [FromBytes] takes a root that is known as bytes: 32 of them are a
// root under all of vLLM's algorithms. [FindSeed] learns the seed of an engine
// from one of its KV events.
//
// # Extra keys
//
// What else decides the content of a block enters as an [ExtraKey]: the LoRA
// name on every block, the images that overlap the block, the cache salt on the
// first block, a digest of its prompt embeddings on every block; in this order.
// A [Request] describes them, and a [Chain] derives those of each block while it
// follows the request's tokens. Images had no offset between PR 11646 and PR
// 36708. An integer LoRA id, of engines older still, cannot be expressed.
//
// # Other forms
//
// [Hash.Low64] and [Hash.First64] are the integers of KV events,
// [Hash.AppendGroupKey] is the key of vLLM's block pool, [CoarseView] and
// [ConcatView] name blocks longer than those hashed. [AppendSGLangPages] and
// [AppendLLMDKeys] are what SGLang and llm-d use instead.
//
// # Weights
//
// A hash stands for the name of a LoRA, and for no weights. [Namespace] makes keys
// that do, for stores that several adapters or models share.
//
// # Private stores
//
// [XXH64] is no engine's algorithm. It is the fastest, and its keys are tagged,
// so that a LoRA never equals a salt. Its 64 bits suffice for routing and for a
// store that can afford a wrong hit: among n blocks, two share a hash with odds
// of about n*n/2^65, which is 1 in 37 million for a million blocks and 1 in 3,700
// for a hundred million. Whoever chooses the prompts can make collisions at
// will, so it must not keep tenants apart.
package blockhash
