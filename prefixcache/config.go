package prefixcache

import (
	"fmt"
	"slices"

	auxerrors "github.com/auxoutput/auxoutput/errors"
)

// Limits of what a cache can be made for.
const (
	MaxBlocks = 1 << 26 // blocks of a pool; one costs about 100 bytes
	MaxGroups = 1 << 8  // groups of a cache
	MaxTokens = 1 << 30 // tokens of a request, of a block, of a scheduler unit
)

// Kind is the kind of attention that the layers of a group compute.
type Kind uint8

// The kinds of groups that can be simulated.
const (
	FullAttention Kind = iota // every earlier token is needed
	SlidingWindow             // the last Window tokens are needed
)

// String is the name that vLLM's events give the kind.
func (k Kind) String() string {
	switch k {
	case FullAttention:
		return "full_attention"
	case SlidingWindow:
		return "sliding_window"
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// Group is a set of layers that share one block table per request.
type Group struct {
	Kind        Kind
	BlockTokens int  // tokens per block
	Window      int  // tokens that attention reaches, the current one included; 0 for full attention
	Eagle       bool // the drafter reads this group; needs Config.Eagle
}

// Config says what a cache is made of.
type Config struct {
	Blocks int     // size of the pool, the null block included: vLLM's num_gpu_blocks; 2 to MaxBlocks
	Groups []Group // 1 to MaxGroups

	// HashTokens is the number of tokens that one hash covers. 0 means the
	// greatest common divisor of the block sizes; it must divide them all.
	HashTokens int

	// SchedulerTokens is the unit of hits and, with several groups, of
	// registration. 0 means the least common multiple of the block sizes; it must
	// be a multiple of it.
	SchedulerTokens int

	Eagle           bool // EAGLE speculation; if no group is flagged, all are
	DisableCaching  bool // register nothing, hit nothing
	LegacyFreeOrder bool // free list as before vLLM PR 42656: blocks without hash at the tail
	Events          bool // record events; drain them, they pile up
}

// complete checks the configuration and fills in what was left to default.
func (cfg Config) complete() (Config, error) {
	switch {
	case cfg.Blocks < 2:
		return cfg, &auxerrors.ConfigError{Field: "blocks", Value: cfg.Blocks, Want: "at least 2: the null block and one to use", Reason: auxerrors.ErrTooSmall}
	case cfg.Blocks > MaxBlocks:
		return cfg, &auxerrors.ConfigError{Field: "blocks", Value: cfg.Blocks, Want: fmt.Sprintf("at most %d", MaxBlocks), Reason: auxerrors.ErrTooLarge}
	case len(cfg.Groups) == 0:
		return cfg, &auxerrors.ConfigError{Field: "groups", Value: 0, Want: "at least 1", Reason: auxerrors.ErrTooSmall}
	case len(cfg.Groups) > MaxGroups:
		return cfg, &auxerrors.ConfigError{Field: "groups", Value: len(cfg.Groups), Want: fmt.Sprintf("at most %d", MaxGroups), Reason: auxerrors.ErrTooLarge}
	}
	cfg.Groups = slices.Clone(cfg.Groups)
	unit, divisor := 1, 0
	for i, g := range cfg.Groups {
		if err := g.validate(i, cfg.Eagle); err != nil {
			return cfg, err
		}
		divisor = gcd(divisor, g.BlockTokens)
		if unit /= gcd(unit, g.BlockTokens); unit > MaxTokens/g.BlockTokens {
			return cfg, &auxerrors.ConfigError{Field: "scheduler tokens", Value: "least common multiple of the block sizes", Want: fmt.Sprintf("at most %d", MaxTokens), Reason: auxerrors.ErrTooLarge}
		}
		unit *= g.BlockTokens
	}
	if err := multiple("scheduler tokens", &cfg.SchedulerTokens, unit); err != nil {
		return cfg, err
	}
	if cfg.HashTokens == 0 {
		cfg.HashTokens = divisor
	}
	if cfg.HashTokens < 0 || divisor%cfg.HashTokens != 0 {
		return cfg, &auxerrors.ConfigError{Field: "hash tokens", Value: cfg.HashTokens, Want: fmt.Sprintf("a divisor of every block size, so of %d", divisor), Reason: auxerrors.ErrMismatch}
	}
	cfg.flagEagle()
	return cfg, nil
}

func (g Group) validate(i int, eagle bool) error {
	field := func(name string) string { return fmt.Sprintf("groups[%d].%s", i, name) }
	switch {
	case g.Kind > SlidingWindow:
		return &auxerrors.ConfigError{Field: field("kind"), Value: g.Kind, Want: "full attention or sliding window", Reason: auxerrors.ErrTooLarge}
	case g.BlockTokens < 1:
		return &auxerrors.ConfigError{Field: field("block tokens"), Value: g.BlockTokens, Want: "at least 1", Reason: auxerrors.ErrTooSmall}
	case g.BlockTokens > MaxTokens:
		return &auxerrors.ConfigError{Field: field("block tokens"), Value: g.BlockTokens, Want: fmt.Sprintf("at most %d", MaxTokens), Reason: auxerrors.ErrTooLarge}
	case g.Kind == FullAttention && g.Window != 0:
		return &auxerrors.ConfigError{Field: field("window"), Value: g.Window, Want: "0 for full attention", Reason: auxerrors.ErrMismatch}
	case g.Kind == SlidingWindow && g.Window < 1:
		return &auxerrors.ConfigError{Field: field("window"), Value: g.Window, Want: "at least 1", Reason: auxerrors.ErrTooSmall}
	case g.Window > MaxTokens:
		return &auxerrors.ConfigError{Field: field("window"), Value: g.Window, Want: fmt.Sprintf("at most %d", MaxTokens), Reason: auxerrors.ErrTooLarge}
	case g.Eagle && !eagle:
		return &auxerrors.ConfigError{Field: field("eagle"), Value: true, Want: "false unless the cache is configured for EAGLE", Reason: auxerrors.ErrMismatch}
	}
	return nil
}

// flagEagle applies the two rules about which groups the drafter reads: all, if
// none is named; and all groups of equal shape, if one of them is, because they
// are looked up as one.
func (cfg *Config) flagEagle() {
	if !cfg.Eagle {
		return
	}
	none := !slices.ContainsFunc(cfg.Groups, func(g Group) bool { return g.Eagle })
	flagged := slices.Clone(cfg.Groups)
	for i := range cfg.Groups {
		cfg.Groups[i].Eagle = none || slices.ContainsFunc(flagged, func(g Group) bool {
			return g.Eagle && g.sameShape(cfg.Groups[i])
		})
	}
}

func (g Group) sameShape(other Group) bool {
	return g.Kind == other.Kind && g.BlockTokens == other.BlockTokens && g.Window == other.Window
}

// multiple defaults *value to unit, and otherwise insists that it is a multiple.
func multiple(field string, value *int, unit int) error {
	if *value == 0 {
		*value = unit
	}
	if *value < 0 || *value%unit != 0 {
		return &auxerrors.ConfigError{Field: field, Value: *value, Want: fmt.Sprintf("a multiple of every block size, so of %d", unit), Reason: auxerrors.ErrMismatch}
	}
	if *value > MaxTokens {
		return &auxerrors.ConfigError{Field: field, Value: *value, Want: fmt.Sprintf("at most %d", MaxTokens), Reason: auxerrors.ErrTooLarge}
	}
	return nil
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
