package blockhash

import (
	"fmt"
	"math"
)

// Request says what besides its tokens enters the hashes of a request. The zero
// Request is one of text alone.
type Request struct {
	LoRA string // name of the adapter, on every block; "" if there is none
	Salt string // cache salt, on the first block; "" if there is none

	// Images are the parts of the prompt that are not text, ordered by Offset.
	// Each enters every block that it overlaps.
	Images []Image

	// BareImages leaves the offsets out, for an engine before vLLM PR 36708.
	// See [BareImageKey].
	BareImages bool

	// SharedImages says that in the engine equal identifiers are one object.
	// See [ExtraKey.Shared].
	SharedImages bool

	// Embeds holds the prompt embeddings as the bytes of the engine's tensor,
	// EmbedBytes for each token from the first; nil if the prompt is none. Every
	// block of such a request carries the SHA-256 of its slice, which is short or
	// empty where the embeddings end.
	Embeds     []byte
	EmbedBytes int

	// PromptTokens is the length of the prompt, and 0 if it is not known.
	//
	// vLLM hashes the full blocks of the prompt when the request is made. For a
	// block that generated tokens complete, other than the first, it looks at
	// the last image only (get_request_block_hasher in v1/core/kv_cache_utils.py
	// starts at index -1), so of several images in the last stretch of a prompt
	// all but one are missing from the hash. With PromptTokens a [Chain] does the
	// same, however its tokens arrive; without, every overlapping image counts.
	PromptTokens int
}

// Image is a part of a prompt that is not text.
type Image struct {
	Identifier string // the engine's, most often a digest of the content
	Offset     int    // its first token, counted from the start of the prompt
	Tokens     int    // how many tokens it takes up, at least 1
}

func (m Image) end() int { return m.Offset + m.Tokens }

// check is a [*RequestError] if no request can be as described.
func (r *Request) check() error {
	bad := func(field string, format string, args ...any) error {
		return &RequestError{Field: field, Index: -1, Detail: fmt.Sprintf(format, args...)}
	}
	if err := checkText(r.LoRA); err != nil {
		return &RequestError{Field: "LoRA", Index: -1, Detail: err.Error(), Reason: ErrText}
	}
	if err := checkText(r.Salt); err != nil {
		return &RequestError{Field: "Salt", Index: -1, Detail: err.Error(), Reason: ErrText}
	}
	if r.PromptTokens < 0 {
		return bad("PromptTokens", "%d is negative", r.PromptTokens)
	}
	for i := range r.Images {
		if err := r.checkImage(i); err != nil {
			return err
		}
	}
	if r.Embeds == nil {
		return nil
	}
	if r.EmbedBytes < 1 {
		return bad("EmbedBytes", "%d bytes to a token, want at least 1", r.EmbedBytes)
	}
	tokens := len(r.Embeds) / r.EmbedBytes
	switch {
	case tokens == 0 || len(r.Embeds)%r.EmbedBytes != 0:
		return bad("Embeds", "%d bytes are not a whole number of tokens of %d bytes", len(r.Embeds), r.EmbedBytes)
	case r.PromptTokens > 0 && tokens > r.PromptTokens:
		return bad("Embeds", "%d tokens in a prompt of %d", tokens, r.PromptTokens)
	}
	return nil
}

func (r *Request) checkImage(i int) error {
	image := r.Images[i]
	bad := func(format string, args ...any) error {
		return &RequestError{Field: "Images", Index: i, Detail: fmt.Sprintf(format, args...)}
	}
	if err := checkText(image.Identifier); err != nil {
		return &RequestError{Field: "Images", Index: i, Detail: err.Error(), Reason: ErrText}
	}
	switch {
	case image.Offset < 0:
		return bad("offset %d is negative", image.Offset)
	case image.Tokens < 1:
		return bad("%d tokens, want at least 1", image.Tokens)
	case image.Offset > math.MaxInt-image.Tokens:
		return bad("offset %d and %d tokens are too large together", image.Offset, image.Tokens)
	case i > 0 && image.Offset < r.Images[i-1].Offset:
		return bad("offset %d is before that of the image before, %d", image.Offset, r.Images[i-1].Offset)
	case r.PromptTokens > 0 && image.end() > r.PromptTokens:
		return bad("ends at token %d of a prompt of %d", image.end(), r.PromptTokens)
	}
	return nil
}
