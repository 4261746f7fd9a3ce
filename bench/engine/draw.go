package engine

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/auxoutput/auxoutput/connector"
	"github.com/auxoutput/auxoutput/routing"
)

// Draw makes up a small engine and a workload that strains it: a pool of a few
// blocks, prompts that share prefixes, and every way in which a request can end.
// The same seed gives the same scenario. In the modes that need no minimum of
// slots the store may be smaller than the pool.
//
// In Reference mode less is drawn: its holes are known, and each has to show by itself.
func Draw(mode connector.Mode, seed uint64) Scenario {
	r := rand.New(rand.NewPCG(seed, uint64(mode)))
	s := Scenario{Config: drawConfig(r, mode, seed)}
	prompts := drawPrompts(r, s.Config)
	// A third of the workloads is plain: no aborts and no ids that come back.
	plain := r.IntN(3) == 0
	arrival := 0
	for i := range 3 + r.IntN(30) {
		if r.IntN(3) == 0 {
			arrival += r.IntN(12)
		}
		prompt := prompts[r.IntN(len(prompts))]
		job := Job{
			ID: fmt.Sprintf("r%d", i), Arrival: arrival, Prompt: prompt,
			Output: 1 + r.IntN(12), Stop: Stop(r.IntN(3)), Seed: uint64(r.IntN(3)),
		}
		if s.Config.Priority {
			job.Priority = r.IntN(3)
		}
		if mode != connector.Reference {
			job.SkipLookup = r.IntN(10) == 0
		}
		if mode == connector.Reference && plain {
			job.Stop = AtToken
		}
		if plain && job.Stop == ByAbort {
			job.Stop = AtToken
		}
		if i > 0 && !plain && r.IntN(30) == 0 {
			job.ID = s.Jobs[r.IntN(i)].ID // comes back under the same id
		}
		if job.Stop == ByAbort {
			job.Output = r.IntN(6)
		}
		if r.IntN(3) == 0 {
			job.PromptStart = r.IntN(len(prompt) + 1)
		}
		s.Jobs = append(s.Jobs, job)
	}
	s.drawEvents(r, mode, plain)
	return s
}

// drawEvents makes up what happens to the engine from outside.
func (s *Scenario) drawEvents(r *rand.Rand, mode connector.Mode, plain bool) {
	steps := func(most int) (list []int) {
		for range r.IntN(most + 1) {
			list = append(list, r.IntN(40))
		}
		slices.Sort(list)
		return list
	}
	drops := func() (list []Drop) {
		for _, step := range steps(4) {
			list = append(list, Drop{Step: step, Draw: r.Uint64()})
		}
		return list
	}
	if r.IntN(3) == 0 {
		s.Resets = steps(3)
	}
	if mode == connector.Reference {
		return
	}
	if !plain && r.IntN(4) == 0 {
		s.Cancels = drops()
	}
	if r.IntN(4) == 0 {
		s.Drops = drops()
	}
	if r.IntN(4) == 0 {
		s.Abandons, s.Config.Retry = steps(3), true
	}
	if s.Config.Check == connector.CheckAll && r.IntN(2) == 0 {
		s.Damages, s.Config.Retry = steps(3), true
	}
}

func drawConfig(r *rand.Rand, mode connector.Mode, seed uint64) Config {
	c := Config{
		Profile:    routing.Profile{Layers: 2, TopK: 2, Experts: 255},
		HashTokens: 2 + 2*r.IntN(2), Mode: mode, Seed: seed, Check: connector.CheckLevel(r.IntN(3)),
		Requests: 1 + r.IntN(4), BatchTokens: 4 + r.IntN(29), Lag: r.IntN(2) == 0,
	}
	ratio := 1
	if r.IntN(4) == 0 {
		ratio = 2
	}
	c.KVTokens = ratio * c.HashTokens
	c.KVBlocks = 5 + r.IntN(20)
	if r.IntN(2) == 0 {
		c.ChunkTokens = 1 + r.IntN(8)
	}
	if r.IntN(3) == 0 {
		c.Drafts = 1 + r.IntN(3)
	}
	if mode == connector.Reference {
		// Rows of other computations would hide its other holes most of the time.
		c.TokensOnly = r.IntN(4) > 0
		if r.IntN(4) == 0 { // where a stop token can complete a block in flight, H3
			c.Lag, c.ChunkTokens, c.KVTokens = true, 0, c.HashTokens
		}
		return c
	}
	switch r.IntN(8) {
	case 0:
		c.Windows = []int{c.HashTokens * (1 + r.IntN(3))}
	case 1:
		c.OffloadBlocks = ratio * (2 + r.IntN(10))
	case 2: // the window group has blocks of another size
		c.Windows = []int{c.HashTokens * (1 + r.IntN(12))}
		c.WindowBlocks = []int{c.HashTokens << r.IntN(4)}
		c.KVBlocks += 10
	}
	if c.OffloadBlocks == 0 {
		c.Eagle = r.IntN(5) == 0
	}
	c.Priority = r.IntN(5) == 0
	c.Writer = mode != connector.Linked && r.IntN(5) == 0
	if r.IntN(5) == 0 {
		c.MaxTokens = 8 + r.IntN(c.KVBlocks*c.KVTokens)
	}
	if mode == connector.RowGated || mode == connector.Linked {
		if r.IntN(2) == 0 {
			c.Slots = 3 + r.IntN(c.KVBlocks*ratio)
		}
	}
	return c
}

// drawPrompts makes prompts out of a few stretches of tokens, so that many of
// them begin alike.
func drawPrompts(r *rand.Rand, c Config) [][]uint32 {
	longest := max((c.KVBlocks-1)*c.KVTokens-24, (c.KVBlocks-1)*c.KVTokens/2)
	var prompts [][]uint32
	for range 2 + r.IntN(4) {
		var prompt []uint32
		if len(prompts) > 0 && r.IntN(3) > 0 {
			base := prompts[r.IntN(len(prompts))]
			prompt = append(prompt, base[:1+r.IntN(len(base))]...)
		}
		for range 1 + r.IntN(longest) {
			prompt = append(prompt, uint32(r.IntN(3)))
		}
		prompts = append(prompts, prompt[:min(len(prompt), longest)])
	}
	return prompts
}
