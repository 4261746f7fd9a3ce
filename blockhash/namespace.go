package blockhash

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
)

// Namespace keeps what has the same block hashes and other rows apart in one store.
//
// A block hash stands for tokens, and for the name of a LoRA, but not for weights: an
// adapter that is loaded again under its old name has the hashes that it had before,
// and two models with one tokenizer have the same ones. A Namespace turns the hash of
// a block into a key that stands for the weights as well. Rows are published and read
// under keys; everything else, the KV cache and its events among it, goes on with the
// hashes.
//
// The rule: make one Namespace for each set of weights that shares a store, of
// everything that tells them apart (model, adapter, version of the weights), and take
// [Namespace.Next] whenever an adapter or a model is loaded again under the same
// names. From then on no row of the older weights can be read; what is stored of them
// is not touched any more and ages out as the oldest, and rows in other namespaces
// stay. A request keeps the Namespace that it began with. If all weights of a store
// change at once, resetting the store does the same and frees it at once.
//
// A Namespace is an immutable value and comparable. The zero Namespace is none: its
// keys are zero Hashes, which a store refuses, so that forgetting to make one cannot
// mix rows up.
type Namespace struct {
	names      [sha256.Size]byte // digest of the names
	generation uint64
	made       bool
}

// NewNamespace makes the namespace of some names in generation 0. The names are in
// order, and each is a whole: ("a", "bc"), ("ab", "c"), ("abc") and ("abc", "") are
// four namespaces. Any bytes are a name.
func NewNamespace(names ...string) Namespace {
	digest := sha256.New()
	digest.Write([]byte("auxoutput namespace\x00"))
	var length [8]byte
	for _, name := range names {
		binary.BigEndian.PutUint64(length[:], uint64(len(name)))
		digest.Write(length[:])
		digest.Write([]byte(name))
	}
	n := Namespace{made: true}
	digest.Sum(n.names[:0])
	return n
}

// IsZero reports whether n is the zero Namespace.
func (n Namespace) IsZero() bool { return !n.made }

// Generation is how often the weights behind the names have changed.
func (n Namespace) Generation() uint64 { return n.generation }

// WithGeneration is the namespace of the same names in that generation. Take a number
// that only grows and outlives the process, such as a step of the training, where
// several processes share what is stored.
func (n Namespace) WithGeneration(generation uint64) Namespace {
	n.generation = generation
	return n
}

// Next is the namespace of the same names in the next generation. Behind the last
// generation there is none: then it is the zero Namespace.
func (n Namespace) Next() Namespace {
	if n.generation == math.MaxUint64 {
		return Namespace{}
	}
	return n.WithGeneration(n.generation + 1)
}

// keyDomain keeps the preimages of keys apart from all others.
const keyDomain = "auxoutput key\x00"

// Key is the key of a block in this namespace, 32 bytes: SHA-256 of namespace,
// generation and hash, with its size. The key of the zero Hash is the zero Hash.
func (n Namespace) Key(hash Hash) Hash {
	if !n.made || hash.IsZero() {
		return Hash{}
	}
	var preimage [len(keyDomain) + sha256.Size + 8 + 1 + MaxSize]byte
	b := append(preimage[:0], keyDomain...)
	b = append(b, n.names[:]...)
	b = binary.BigEndian.AppendUint64(b, n.generation)
	b = append(b, hash.size)
	b = append(b, hash.digest[:hash.size]...)
	return Hash{digest: sha256.Sum256(b), size: sha256.Size}
}

// AppendKeys appends the key of each hash, in order. It allocates nothing if dst has
// the room. dst may be hashes[:0], which then become keys in place.
func (n Namespace) AppendKeys(dst, hashes []Hash) []Hash {
	for i := range hashes {
		dst = append(dst, n.Key(hashes[i]))
	}
	return dst
}
