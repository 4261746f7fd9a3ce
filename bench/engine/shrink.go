package engine

import "slices"

// Shrink makes a failing scenario smaller as long as it fails in the same way,
// with at most the given number of runs.
func Shrink(s Scenario, runs int) Scenario {
	_, err := s.Run()
	kind := Failure(err)
	if err == nil {
		return s
	}
	fails := func(t Scenario) bool {
		if runs--; runs < 0 {
			return false
		}
		_, err := t.Run()
		return Failure(err) == kind
	}
	for progress := true; progress && runs > 0; {
		progress = false
		for _, smaller := range simplifications(s) {
			if fails(smaller) {
				s, progress = smaller, true
				break
			}
		}
	}
	if _, err := s.Run(); err != nil {
		s.Note = err.Error()
	}
	return s
}

// simplifications are scenarios that are smaller in one respect, the greatest
// steps first.
func simplifications(s Scenario) []Scenario {
	var out []Scenario
	change := func(f func(t *Scenario)) {
		t := s
		t.Jobs, t.Resets, t.Drops = slices.Clone(s.Jobs), slices.Clone(s.Resets), slices.Clone(s.Drops)
		t.Cancels, t.Abandons, t.Damages = slices.Clone(s.Cancels), slices.Clone(s.Abandons), slices.Clone(s.Damages)
		f(&t)
		out = append(out, t)
	}
	for i := range s.Jobs {
		if len(s.Jobs) > 1 {
			change(func(t *Scenario) { t.Jobs = slices.Delete(t.Jobs, i, i+1) })
		}
	}
	for i := range s.Resets {
		change(func(t *Scenario) { t.Resets = slices.Delete(t.Resets, i, i+1) })
	}
	for i := range s.Drops {
		change(func(t *Scenario) { t.Drops = slices.Delete(t.Drops, i, i+1) })
	}
	for i := range s.Cancels {
		change(func(t *Scenario) { t.Cancels = slices.Delete(t.Cancels, i, i+1) })
	}
	for i := range s.Abandons {
		change(func(t *Scenario) { t.Abandons = slices.Delete(t.Abandons, i, i+1) })
	}
	for i := range s.Damages {
		change(func(t *Scenario) { t.Damages = slices.Delete(t.Damages, i, i+1) })
	}
	c := s.Config
	for _, simpler := range []struct {
		differs bool
		apply   func(*Config)
	}{
		{c.Drafts > 0, func(c *Config) { c.Drafts = 0 }},
		{len(c.Windows) > 0, func(c *Config) { c.Windows, c.WindowBlocks = nil, nil }},
		{c.Eagle, func(c *Config) { c.Eagle = false }},
		{c.Priority, func(c *Config) { c.Priority = false }},
		{c.Writer, func(c *Config) { c.Writer = false }},
		{c.MaxTokens > 0, func(c *Config) { c.MaxTokens = 0 }},
		{c.OffloadBlocks > 0, func(c *Config) { c.OffloadBlocks = 0 }},
		{c.Lag, func(c *Config) { c.Lag = false }},
		{c.ChunkTokens > 0, func(c *Config) { c.ChunkTokens = 0 }},
		{c.KVTokens > c.HashTokens, func(c *Config) { c.KVTokens = c.HashTokens }},
		{c.Requests > 1, func(c *Config) { c.Requests-- }},
		{c.KVBlocks > 3, func(c *Config) { c.KVBlocks-- }},
	} {
		if simpler.differs {
			change(func(t *Scenario) { simpler.apply(&t.Config) })
		}
	}
	for i, job := range s.Jobs {
		if job.PromptStart > 0 {
			change(func(t *Scenario) { t.Jobs[i].PromptStart = 0 })
		}
		if job.SkipLookup {
			change(func(t *Scenario) { t.Jobs[i].SkipLookup = false })
		}
		if job.Priority > 0 {
			change(func(t *Scenario) { t.Jobs[i].Priority = 0 })
		}
		if job.Stop != AtLength && job.Output > 0 {
			change(func(t *Scenario) { t.Jobs[i].Stop = AtLength })
		}
		if job.Arrival > 0 {
			change(func(t *Scenario) { t.Jobs[i].Arrival = 0 })
		}
		for _, output := range []int{job.Output / 2, job.Output - 1} {
			if output < job.Output && (output > 0 || job.Stop == ByAbort && output == 0) {
				change(func(t *Scenario) { t.Jobs[i].Output = output })
			}
		}
		for _, length := range []int{len(job.Prompt) / 2, len(job.Prompt) - s.Config.HashTokens, len(job.Prompt) - 1} {
			if length > 0 && length < len(job.Prompt) {
				change(func(t *Scenario) {
					t.Jobs[i].Prompt = job.Prompt[:length]
					t.Jobs[i].PromptStart = min(job.PromptStart, length)
				})
			}
		}
	}
	return out
}
