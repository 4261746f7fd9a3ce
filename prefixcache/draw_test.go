package prefixcache

import "pgregory.net/rapid"

// drawConfig makes caches small enough that everything happens in them.
func drawConfig(t *rapid.T) Config {
	cfg := Config{
		Blocks:          rapid.IntRange(2, 30).Draw(t, "blocks"),
		Eagle:           rapid.Bool().Draw(t, "eagle"),
		LegacyFreeOrder: rapid.IntRange(0, 3).Draw(t, "legacy") == 0,
		DisableCaching:  rapid.IntRange(0, 15).Draw(t, "disabled") == 0,
		Events:          true,
	}
	for i := range rapid.IntRange(1, 3).Draw(t, "groups") {
		g := Group{BlockTokens: rapid.SampledFrom([]int{2, 4, 8}).Draw(t, "block tokens")}
		if rapid.Bool().Draw(t, "window") {
			g.Kind = SlidingWindow
			g.Window = rapid.IntRange(1, 12).Draw(t, "window tokens")
		}
		if cfg.Eagle && rapid.IntRange(0, 2).Draw(t, "drafter") == 0 {
			g.Eagle = true
		}
		if i > 0 && rapid.IntRange(0, 3).Draw(t, "twin") == 0 {
			g = cfg.Groups[0]
		}
		cfg.Groups = append(cfg.Groups, g)
	}
	if rapid.IntRange(0, 3).Draw(t, "fine hashes") == 0 {
		cfg.HashTokens = 2
	}
	if rapid.IntRange(0, 7).Draw(t, "coarse hits") == 0 {
		cfg.SchedulerTokens = 16
	}
	return cfg
}

// drawUnequalEagle makes caches in which a drafter looks ahead by blocks that are
// not the scheduler's unit, and in which prompts end inside a block of full
// attention.
func drawUnequalEagle(t *rapid.T) Config {
	cfg := Config{Blocks: rapid.IntRange(10, 40).Draw(t, "blocks"), Eagle: true, Events: true, HashTokens: 2}
	coarse, fine := rapid.SampledFrom([]int{4, 8, 12}).Draw(t, "coarse"), rapid.SampledFrom([]int{2, 4}).Draw(t, "fine")
	cfg.Groups = []Group{
		{BlockTokens: coarse, Eagle: rapid.Bool().Draw(t, "coarse drafter")},
		{BlockTokens: fine, Eagle: rapid.Bool().Draw(t, "fine drafter"), Kind: SlidingWindow, Window: rapid.IntRange(1, 16).Draw(t, "window tokens")},
	}
	if rapid.Bool().Draw(t, "coarse window") {
		cfg.Groups[0].BlockTokens, cfg.Groups[1].BlockTokens = fine, coarse
	}
	if rapid.IntRange(0, 2).Draw(t, "third group") == 0 {
		cfg.Groups = append(cfg.Groups, Group{BlockTokens: 6})
	}
	return cfg
}
