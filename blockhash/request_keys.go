package blockhash

import "crypto/sha256"

// requestKeys gives the extra keys of a request's blocks, one block after the
// other from the first.
type requestKeys struct {
	request     Request // Images is a copy, Embeds is nil
	blockTokens int

	// embeds holds the digests of the blocks' slices of the embeddings, so that
	// the tensor itself need not be kept. It is nil if there are none.
	embeds []ExtraKey

	image int // the first image that a coming block may overlap
}

// noEmbeds is the key of a block past the end of the embeddings.
var noEmbeds = func() ExtraKey {
	digest := sha256.Sum256(nil)
	return EmbedsKey(digest[:])
}()

// reset takes on a request that has been checked.
func (k *requestKeys) reset(request Request, blockTokens int) {
	images := append(k.request.Images[:0], request.Images...)
	embeds := k.embeds[:0]
	for rest, bytes := request.Embeds, request.EmbedBytes; len(rest) > 0; {
		slice := rest
		// Compared by division: the product may be too large for an int.
		if blockTokens <= len(rest)/bytes {
			slice = rest[:blockTokens*bytes]
		}
		digest := sha256.Sum256(slice)
		embeds = append(embeds, EmbedsKey(digest[:]))
		rest = rest[len(slice):]
	}
	k.request = request
	k.request.Images = images
	k.request.Embeds = nil
	k.blockTokens = blockTokens
	k.embeds = embeds
	k.image = 0
}

// append appends the keys of a block in vLLM's order: LoRA, images, salt,
// embeddings. Blocks must come in order, each once.
func (k *requestKeys) append(keys []ExtraKey, block int) []ExtraKey {
	if k.request.LoRA != "" {
		keys = append(keys, LoRAKey(k.request.LoRA))
	}
	if len(k.request.Images) > 0 {
		keys = k.appendImages(keys, block*k.blockTokens)
	}
	if block == 0 && k.request.Salt != "" {
		keys = append(keys, SaltKey(k.request.Salt))
	}
	if len(k.embeds) > 0 {
		if block < len(k.embeds) {
			keys = append(keys, k.embeds[block])
		} else {
			keys = append(keys, noEmbeds)
		}
	}
	return keys
}

// appendImages follows _gen_mm_extra_hash_keys of vLLM, also where it matters
// that the walk stops at the first image that goes on past the block: an item
// that lies within another one (audio within its video) is met only then.
func (k *requestKeys) appendImages(keys []ExtraKey, start int) []ExtraKey {
	images := k.request.Images
	end := start + k.blockTokens
	last := len(images) - 1
	if images[last].end() <= start {
		return keys
	}
	if prompt := k.request.PromptTokens; start > 0 && prompt > 0 && end > prompt {
		k.image = last
	}
	for ; k.image <= last && images[k.image].Offset < end; k.image++ {
		image := images[k.image]
		if image.end() <= start {
			continue
		}
		key := ImageKey(image.Identifier, int64(image.Offset-start))
		if k.request.BareImages {
			key = BareImageKey(image.Identifier)
		}
		if k.request.SharedImages {
			key = key.Shared()
		}
		keys = append(keys, key)
		if end < image.end() {
			break
		}
	}
	return keys
}
