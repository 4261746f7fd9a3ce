package golden

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"strconv"

	"github.com/auxoutput/auxoutput/blockhash"
)

// hashFile is a file of block hash vectors. A 64-bit integer is a decimal
// string in it, bytes are hexadecimal.
type hashFile struct {
	Vectors []json.RawMessage
	SGLang  []json.RawMessage
	LLMD    []json.RawMessage
}

// BlockHash replays a file of block hash vectors: one case per vector, in which
// the roots, the preimages as far as they are recorded, the digests and their
// 64-bit forms are compared.
//
// Tokens of this library have 32 bits. A vector with a wider one passes exactly
// if the token is refused as out of range: that is so for 8 of the 210 vectors,
// width/*/4294967296 and mixed16/*.
//
// Damaged JSON, bytes that are no hexadecimal digits and kinds or algorithms
// that nobody knows are an error that says where.
func BlockHash(data []byte) (*Report, error) {
	var file hashFile
	if err := json.Unmarshal(data, &file); err != nil {
		if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
			return nil, fmt.Errorf("block hash vectors: byte %d: %w", syntax.Offset, err)
		}
		return nil, fmt.Errorf("block hash vectors: %w", err)
	}
	if len(file.Vectors)+len(file.SGLang)+len(file.LLMD) == 0 {
		return nil, errors.New("block hash vectors: none in this file")
	}
	report := new(Report)
	for _, section := range []struct {
		name    string
		vectors []json.RawMessage
		replay  func(*Report, []byte) error
	}{
		{"vectors", file.Vectors, replayHashVector},
		{"sglang", file.SGLang, replaySGLang},
		{"llmd", file.LLMD, replayLLMD},
	} {
		for i, vector := range section.vectors {
			if err := section.replay(report, vector); err != nil {
				return nil, fmt.Errorf("block hash vectors: %s[%d]: %w", section.name, i, err)
			}
		}
	}
	return report, nil
}

// hashVectorReplays holds the replay of each kind.
var hashVectorReplays = map[string]func(*Report, []byte) error{
	"none_hash":           replayRoot,
	"block":               replayBlock,
	"block_pickle_shared": replayBlock,
	"chain":               replayChain,
	"view":                replayView,
	"group_key":           replayGroupKey,
	"truncate":            replayTruncate,
}

func replayHashVector(report *Report, data []byte) error {
	var vector struct{ Kind string }
	if err := json.Unmarshal(data, &vector); err != nil {
		return err
	}
	replay, known := hashVectorReplays[vector.Kind]
	if !known {
		return fmt.Errorf("unknown kind %q", vector.Kind)
	}
	return replay(report, data)
}

// hashVector holds the fields of the vectors of one block and of a chain.
type hashVector struct {
	ID          string
	Kind        string
	Algo        vectorAlgorithm
	Seed        *string
	Parent      vectorHash
	BlockSize   int `json:"block_size"`
	Tokens      vectorTokens
	Extra       json.RawMessage // a list of keys; for a chain, one list per block
	Preimage    hexBytes
	PreimageLen *int `json:"preimage_len"`
	Digest      vectorHash
	Digests     []vectorHash
	Low64       json.RawMessage // a decimal; for a chain, a list of them
}

func replayRoot(report *Report, data []byte) error {
	var v hashVector
	var low64 string
	if err := errors.Join(json.Unmarshal(data, &v), decodeField("low64", v.Low64, &low64)); err != nil {
		return fmt.Errorf("%q: %w", v.ID, err)
	}
	if v.Seed == nil {
		return fmt.Errorf("%q: no seed", v.ID)
	}
	c := report.Case(v.ID, -1)
	defer c.Done()
	preimage, err := blockhash.AppendSeedPreimage(nil, v.Algo.Algorithm, *v.Seed)
	c.noError("preimage", err)
	c.Equal("preimage", hex.EncodeToString(v.Preimage), hex.EncodeToString(preimage))
	root, err := blockhash.SeedRoot(v.Algo.Algorithm, *v.Seed)
	c.noError("root", err)
	c.equalHash("", v.Digest, low64, root)
	if *v.Seed == blockhash.DefaultSeed && v.Algo.Size() == blockhash.MaxSize {
		root, err = blockhash.DefaultRoot(v.Algo.Algorithm)
		c.noError("default root", err)
		c.Equal("default root", v.Digest.String(), root.String())
	}
	return nil
}

func replayBlock(report *Report, data []byte) error {
	var v hashVector
	var low64 string
	var keys vectorKeys
	err := json.Unmarshal(data, &v)
	err = errors.Join(err, decodeField("low64", v.Low64, &low64), decodeField("extra", v.Extra, &keys))
	if err != nil {
		return fmt.Errorf("%q: %w", v.ID, err)
	}
	c := report.Case(v.ID, -1)
	defer c.Done()
	if v.Seed != nil {
		root, err := blockhash.SeedRoot(v.Algo.Algorithm, *v.Seed)
		c.noError("root", err)
		c.Equal("parent", v.Parent.String(), root.String())
	}
	if v.Tokens.refused(c) {
		return nil
	}
	extra := keys.list
	if v.Kind == "block_pickle_shared" {
		extra = keys.shared()
	}
	preimage, err := blockhash.AppendPreimage(nil, v.Algo.Algorithm, v.Parent.Hash, v.Tokens.list, extra...)
	c.noError("preimage", err)
	if v.PreimageLen != nil {
		c.Equal("preimage_len", *v.PreimageLen, len(preimage))
	}
	if v.Preimage != nil {
		c.Equal("preimage", hex.EncodeToString(v.Preimage), hex.EncodeToString(preimage))
	}
	h, err := blockhash.HashBlock(v.Algo.Algorithm, v.Parent.Hash, v.Tokens.list, extra...)
	c.noError("digest", err)
	c.equalHash("", v.Digest, low64, h)
	return nil
}

// replayChain hashes block by block with the keys as recorded, and again with a
// Chain where they are what a LoRA and a salt give.
func replayChain(report *Report, data []byte) error {
	var v hashVector
	var low64 []string
	var keys []vectorKeys
	err := json.Unmarshal(data, &v)
	err = errors.Join(err, decodeField("low64", v.Low64, &low64), decodeField("extra", v.Extra, &keys))
	switch {
	case err != nil:
		return fmt.Errorf("%q: %w", v.ID, err)
	case v.Seed == nil || v.BlockSize < 1 || len(low64) != len(v.Digests):
		return fmt.Errorf("%q: a chain needs a seed, a block_size and as many low64 as digests", v.ID)
	case keys != nil && len(keys) != len(v.Digests):
		return fmt.Errorf("%q: %d lists of extra keys for %d digests", v.ID, len(keys), len(v.Digests))
	}
	c := report.Case(v.ID, -1)
	defer c.Done()
	if v.Tokens.refused(c) {
		return nil
	}
	root, err := blockhash.SeedRoot(v.Algo.Algorithm, *v.Seed)
	c.noError("root", err)
	if !c.Equal("blocks", len(v.Digests), len(v.Tokens.list)/v.BlockSize) {
		return nil
	}
	request, described := describeKeys(keys)
	chain, err := blockhash.NewChain(v.Algo.Algorithm, root, v.BlockSize, request)
	if !c.noError("chain", err) {
		return nil
	}
	chained := chain.Append(v.Tokens.list...)
	parent := root
	for i := range v.Digests {
		var extra vectorKeys
		if keys != nil {
			extra = keys[i]
		}
		block := v.Tokens.list[i*v.BlockSize:][:v.BlockSize]
		parent, err = blockhash.HashBlock(v.Algo.Algorithm, parent, block, extra.list...)
		c.noError("digest", err)
		at := fmt.Sprintf("[%d]", i)
		c.equalHash(at, v.Digests[i], low64[i], parent)
		if described {
			c.equalHash(at+" of a chain", v.Digests[i], low64[i], chained[i])
		}
	}
	c.Equal("pending tokens", len(v.Tokens.list)%v.BlockSize, len(chain.Pending()))
	return nil
}

// describeKeys gives the request that has these keys, if it is one of text
// alone or of a LoRA with a salt.
func describeKeys(keys []vectorKeys) (request blockhash.Request, ok bool) {
	for i, key := range keys {
		switch {
		case len(key.texts) != len(key.list):
			return request, false
		case i == 0 && len(key.texts) == 2:
			request.LoRA, request.Salt = key.texts[0], key.texts[1]
		case len(key.texts) != 1 || key.texts[0] != request.LoRA:
			return request, false
		}
	}
	return request, true
}

func replayView(report *Report, data []byte) error {
	var v struct {
		ID            string
		Algo          vectorAlgorithm
		Seed          string
		HashBlockSize int `json:"hash_block_size"`
		Tokens        vectorTokens
		Fine          []vectorHash
		View          map[string][]string
		Concat        map[string][]string `json:"view_legacy_concat"`
		Low64         map[string][]string
		Direct        string `json:"not_equal_direct_hash_of_32"`
	}
	if err := json.Unmarshal(data, &v); err != nil {
		return fmt.Errorf("%q: %w", v.ID, err)
	}
	root, err := blockhash.SeedRoot(v.Algo.Algorithm, v.Seed)
	if err != nil {
		return fmt.Errorf("%q: %w", v.ID, err)
	}
	chain, err := blockhash.NewChain(v.Algo.Algorithm, root, v.HashBlockSize, blockhash.Request{})
	if err != nil {
		return fmt.Errorf("%q: hash_block_size: %w", v.ID, err)
	}
	c := report.Case(v.ID, -1)
	defer c.Done()
	if v.Tokens.refused(c) {
		return nil
	}
	fine := chain.Append(v.Tokens.list...)
	c.Equal("fine", hexList(v.Fine), hexList(fine))
	compare := func(field string, recorded map[string][]string, view func(ratio int) ([]string, error)) error {
		for size, want := range recorded {
			tokens, err := strconv.Atoi(size)
			if err != nil {
				return fmt.Errorf("%q: %s: %w", v.ID, field, err)
			}
			got, err := view(tokens / v.HashBlockSize)
			if err != nil {
				return fmt.Errorf("%q: %s: %w", v.ID, field, err)
			}
			c.Equal(field+" "+size, want, got)
		}
		return nil
	}
	return errors.Join(
		compare("view", v.View, func(ratio int) ([]string, error) {
			view, err := blockhash.CoarseView(fine, ratio)
			return hexList(view), err
		}),
		compare("view_legacy_concat", v.Concat, func(ratio int) (texts []string, err error) {
			view, err := blockhash.ConcatView(fine, ratio)
			for _, key := range view {
				texts = append(texts, hex.EncodeToString(key))
			}
			return texts, err
		}),
		compare("low64", v.Low64, func(ratio int) (texts []string, err error) {
			view, err := blockhash.CoarseView(fine, ratio)
			for _, h := range view {
				texts = append(texts, strconv.FormatUint(h.Low64(), 10))
			}
			return texts, err
		}),
		compare("hash of 32 at once", map[string][]string{"32": {v.Direct}}, func(int) ([]string, error) {
			h, err := blockhash.HashBlock(v.Algo.Algorithm, root, v.Tokens.list[:min(32, len(v.Tokens.list))])
			return []string{h.String()}, err
		}),
	)
}

func replayGroupKey(report *Report, data []byte) error {
	var v struct {
		ID     string
		Digest vectorHash
		Keys   map[string]string
	}
	if err := json.Unmarshal(data, &v); err != nil {
		return fmt.Errorf("%q: %w", v.ID, err)
	}
	c := report.Case(v.ID, -1)
	defer c.Done()
	for text, want := range v.Keys {
		group, err := strconv.ParseUint(text, 10, 32)
		if err != nil {
			return fmt.Errorf("%q: keys: %w", v.ID, err)
		}
		c.Equal("keys "+text, want, hex.EncodeToString(v.Digest.AppendGroupKey(nil, uint32(group))))
	}
	return nil
}

func replayTruncate(report *Report, data []byte) error {
	var v struct {
		ID     string
		Digest vectorHash
		Low    string `json:"vllm_int_low64"`
		Last   string `json:"llmd_last8"`
		First  string `json:"aibrix_first8_int64"`
	}
	if err := json.Unmarshal(data, &v); err != nil {
		return fmt.Errorf("%q: %w", v.ID, err)
	}
	c := report.Case(v.ID, -1)
	defer c.Done()
	c.Equal("vllm_int_low64", v.Low, strconv.FormatUint(v.Digest.Low64(), 10))
	c.Equal("llmd_last8", v.Last, strconv.FormatUint(v.Digest.Low64(), 10))
	c.Equal("aibrix_first8_int64", v.First, strconv.FormatInt(v.Digest.First64(), 10))
	return nil
}

func replaySGLang(report *Report, data []byte) error {
	var v struct {
		ID       string
		PageSize int `json:"page_size"`
		Tokens   vectorTokens
		Prior    vectorHash `json:"root_prior"`
		Digests  []vectorHash
		Int64    []string
	}
	if err := json.Unmarshal(data, &v); err != nil {
		return fmt.Errorf("%q: %w", v.ID, err)
	}
	c := report.Case(v.ID, -1)
	defer c.Done()
	if v.Tokens.refused(c) {
		return nil
	}
	pages, err := blockhash.AppendSGLangPages(nil, v.Prior.Hash, v.PageSize, v.Tokens.list)
	c.noError("digests", err)
	c.Equal("digests", hexList(v.Digests), hexList(pages))
	var signed []string
	for _, h := range pages {
		signed = append(signed, strconv.FormatInt(h.First64(), 10))
	}
	c.Equal("int64", v.Int64, signed)
	return nil
}

func replayLLMD(report *Report, data []byte) error {
	var v struct {
		ID        string
		Seed      string
		Model     string
		BlockSize int `json:"block_size"`
		Tokens    vectorTokens
		Preimage  hexBytes `json:"root_preimage"`
		Root      string   `json:"model_root"`
		Keys      []string
	}
	if err := json.Unmarshal(data, &v); err != nil {
		return fmt.Errorf("%q: %w", v.ID, err)
	}
	c := report.Case(v.ID, -1)
	defer c.Done()
	if v.Tokens.refused(c) {
		return nil
	}
	root := blockhash.LLMDRoot(v.Seed, v.Model)
	c.Equal("model_root", v.Root, strconv.FormatUint(root, 10))
	recorded := fnv.New64a()
	recorded.Write(v.Preimage)
	c.Equal("root_preimage", recorded.Sum64(), root)
	keys, err := blockhash.AppendLLMDKeys(nil, root, v.BlockSize, v.Tokens.list)
	c.noError("keys", err)
	var texts []string
	for _, key := range keys {
		texts = append(texts, strconv.FormatUint(key, 10))
	}
	c.Equal("keys", v.Keys, texts)
	return nil
}
