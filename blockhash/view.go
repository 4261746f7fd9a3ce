package blockhash

import "fmt"

// CoarseView gives the hashes of the blocks that are ratio times as long as
// those hashed: every ratio-th hash, which covers all before it. That is not
// the hash of the long block's tokens taken at once. Fine hashes at the end
// that complete no coarse block are left out. A ratio below 1 is an error that
// wraps [ErrBlockTokens].
//
// vLLM does so since about June 2026 (BlockHashListWithBlockSize); before, see
// [ConcatView].
func CoarseView(fine []Hash, ratio int) ([]Hash, error) {
	if ratio < 1 {
		return nil, fmt.Errorf("%w: %d fine blocks to a coarse one, want at least 1", ErrBlockTokens, ratio)
	}
	coarse := make([]Hash, 0, len(fine)/ratio)
	for ; len(fine) >= ratio; fine = fine[ratio:] {
		coarse = append(coarse, fine[ratio-1])
	}
	return coarse, nil
}

// ConcatView gives the keys of coarse blocks as vLLM made them from PR 29143
// (November 2025) to about June 2026: the fine digests of each, one after the
// other. Their last 8 bytes, and with them the integers of KV events, are those
// of [CoarseView]. A ratio below 1 is an error that wraps [ErrBlockTokens].
func ConcatView(fine []Hash, ratio int) ([][]byte, error) {
	if ratio < 1 {
		return nil, fmt.Errorf("%w: %d fine blocks to a coarse one, want at least 1", ErrBlockTokens, ratio)
	}
	coarse := make([][]byte, 0, len(fine)/ratio)
	for ; len(fine) >= ratio; fine = fine[ratio:] {
		var key []byte
		for _, h := range fine[:ratio] {
			key = h.AppendTo(key)
		}
		coarse = append(coarse, key)
	}
	return coarse, nil
}
