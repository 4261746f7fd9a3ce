package engine

import (
	"fmt"

	"github.com/auxoutput/auxoutput/connector"
	"github.com/auxoutput/auxoutput/connector/guard"
	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/prefixcache"
	"github.com/auxoutput/auxoutput/routing"
	"github.com/auxoutput/auxoutput/store"
)

// Config says what engine is simulated.
type Config struct {
	// Checked is the set-up of the engine that is simulated. The zero value is that of a
	// single rank.
	Checked guard.Checked `json:"-"`

	Profile    routing.Profile // shape of the rows
	HashTokens int             // tokens of a hash block
	KVTokens   int             // tokens of a KV block: a multiple of HashTokens; 0 means HashTokens
	KVBlocks   int             // blocks of the KV pool, the null block included

	Windows      []int // sliding windows of further KV groups, in tokens
	WindowBlocks []int // tokens of a KV block of each of these groups: multiples of HashTokens; empty means HashTokens each
	Eagle        bool  // the drafter reads all groups: a hit gives up its last block

	Mode  connector.Mode       // coherence of store and KV cache
	Slots int                  // slots of the store; 0 means one for each hash block of the KV pool and the offload tier
	Check connector.CheckLevel // which captured rows the worker looks at

	Requests    int  // most requests running at a time
	BatchTokens int  // most tokens of a step
	ChunkTokens int  // most tokens of one request in a step; 0 means no such limit
	MaxTokens   int  // most tokens of a request, prompt and output (max_model_len); 0 means no such limit
	Drafts      int  // most speculated tokens of a request in a step
	Lag         bool // a step is scheduled before the output of the previous one is known
	Priority    bool // requests are admitted and preempted by priority, and not in the order in which they come
	Writer      bool // rows are published in the background; not in linked mode

	OffloadBlocks int    // hash blocks of KV that the host keeps after the pool lost them
	Seed          uint64 // of drafts, acceptance and batch order

	// TokensOnly makes rows follow from the tokens alone, as a client expects that
	// checks them by itself. Otherwise each computation has rows of its own, and an
	// answer with rows of the wrong one is wrong.
	TokensOnly bool

	// Retry submits a job again whose rows were lost, until it has them.
	Retry bool

	hideEvicted bool // break the rule that evicted KV blocks are told of: for the test of the search
}

// complete fills in defaults and checks the rest. What the parts of the engine
// check themselves is left to them.
func (c Config) complete() (Config, error) {
	if c.KVTokens == 0 {
		c.KVTokens = c.HashTokens
	}
	if c.Checked == (guard.Checked{}) {
		var err error
		if c.Checked, err = guard.Check(guard.SingleRank()); err != nil {
			return c, err
		}
	}
	for _, field := range []struct {
		name         string
		value, least int
	}{
		{"HashTokens", c.HashTokens, 1}, {"KVTokens", c.KVTokens, 1}, {"KVBlocks", c.KVBlocks, 2}, {"Slots", c.Slots, 0},
		{"Requests", c.Requests, 1}, {"BatchTokens", c.BatchTokens, 1}, {"ChunkTokens", c.ChunkTokens, 0}, {"MaxTokens", c.MaxTokens, 0},
		{"Drafts", c.Drafts, 0}, {"OffloadBlocks", c.OffloadBlocks, 0},
	} {
		if field.value < field.least {
			return c, &auxerrors.ConfigError{Field: field.name, Value: field.value, Want: fmt.Sprintf("at least %d", field.least), Reason: auxerrors.ErrTooSmall}
		}
	}
	if c.KVTokens%c.HashTokens != 0 {
		return c, &auxerrors.ConfigError{Field: "KVTokens", Value: c.KVTokens, Want: fmt.Sprintf("a multiple of the hash block of %d tokens", c.HashTokens), Reason: auxerrors.ErrMismatch}
	}
	if len(c.WindowBlocks) > 0 && len(c.WindowBlocks) != len(c.Windows) {
		return c, &auxerrors.ConfigError{Field: "WindowBlocks", Value: c.WindowBlocks, Want: fmt.Sprintf("one for each of %d windows, or none", len(c.Windows)), Reason: auxerrors.ErrMismatch}
	}
	if c.OffloadBlocks > 0 && (len(c.Windows) > 0 || c.Eagle) {
		return c, &auxerrors.ConfigError{Field: "OffloadBlocks", Value: c.OffloadBlocks, Want: "none beside windows or EAGLE, which a loaded block would have to satisfy too", Reason: auxerrors.ErrMismatch}
	}
	if c.KVBlocks > prefixcache.MaxBlocks {
		return c, &auxerrors.ConfigError{Field: "KVBlocks", Value: c.KVBlocks, Want: fmt.Sprintf("at most %d", prefixcache.MaxBlocks), Reason: auxerrors.ErrTooLarge}
	}
	if c.Slots == 0 {
		slots := int64(c.KVBlocks)*int64(c.KVTokens/c.HashTokens) + int64(c.OffloadBlocks)
		if slots > store.MaxSlots {
			return c, &auxerrors.ConfigError{Field: "Slots", Value: slots, Want: fmt.Sprintf("at most %d: one for each hash block of the KV pool and the offload tier", store.MaxSlots), Reason: auxerrors.ErrTooLarge}
		}
		c.Slots = int(slots)
	}
	return c, nil
}

// groups are the KV groups: full attention, and the windows.
func (c Config) groups() []prefixcache.Group {
	groups := []prefixcache.Group{{Kind: prefixcache.FullAttention, BlockTokens: c.KVTokens}}
	for i, window := range c.Windows {
		block := c.HashTokens
		if len(c.WindowBlocks) > 0 {
			block = c.WindowBlocks[i]
		}
		groups = append(groups, prefixcache.Group{Kind: prefixcache.SlidingWindow, BlockTokens: block, Window: window})
	}
	return groups
}

// cache is the configuration of the KV cache.
func (c Config) cache() prefixcache.Config {
	return prefixcache.Config{Blocks: c.KVBlocks, Groups: c.groups(), HashTokens: c.HashTokens, Eagle: c.Eagle}
}
