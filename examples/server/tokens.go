package main

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
)

// vocabulary is the number of token ids.
const vocabulary = 1 << 15

// tokenize makes tokens of words, the simplest thing that gives the same tokens
// for the same text: "t123" is token 123, any other word is hashed.
func tokenize(text string) []uint32 {
	var tokens []uint32
	for _, word := range strings.Fields(text) {
		if digits, ok := strings.CutPrefix(word, "t"); ok {
			if n, err := strconv.ParseUint(digits, 10, 32); err == nil && n < vocabulary {
				tokens = append(tokens, uint32(n))
				continue
			}
		}
		h := fnv.New32a()
		h.Write([]byte(word))
		tokens = append(tokens, h.Sum32()%vocabulary)
	}
	return tokens
}

// detokenize writes tokens so that tokenize gives them back.
func detokenize(tokens []uint32) string {
	var b strings.Builder
	for _, token := range tokens {
		fmt.Fprintf(&b, " t%d", token)
	}
	return b.String()
}
