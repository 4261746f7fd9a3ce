package trace

import "math"

// Limits on what a file may ask for. They are far beyond any public trace, and
// keep a damaged or hostile one from taking the machine.
const (
	// MaxLineBytes is the longest line, and for the WEKA form the longest
	// session.
	MaxLineBytes = 64 << 20

	// MaxTokens is the largest input or output length of one request.
	MaxTokens = 1 << 30

	// MaxBlocks is the largest number of blocks of one request: 67 million
	// tokens in blocks of 16. A run-length line is refused before it is
	// expanded.
	MaxBlocks = 1 << 22

	// MaxUniqueBlocks is the largest number of different blocks of a trace,
	// some 40 times that of the largest public one. Readers and consumers need
	// about 30 bytes for each.
	MaxUniqueBlocks = 1 << 27

	// MaxBlocksPerByte is how many different blocks each byte of a file may
	// bring, beyond the first MaxBlocks, in the two forms that name blocks
	// without writing each out: run-length and Azure. The public run-length
	// trace has less than one. It keeps a short file from filling the memory.
	MaxBlocksPerByte = 1024

	// MaxNesting is how deep sub-agents may start sub-agents in the WEKA form.
	MaxNesting = 16
)

// maxSeconds is the latest arrival that a time.Duration holds.
const maxSeconds = math.MaxInt64 / 1e9
