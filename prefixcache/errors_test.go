package prefixcache_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/blockhash"
	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/prefixcache"
)

func TestImpossibleConfigurationIsRefused(t *testing.T) {
	groups := func(g ...prefixcache.Group) prefixcache.Config {
		return prefixcache.Config{Blocks: 10, Groups: g}
	}
	drafter := full(4)
	drafter.Eagle = true
	fullWithWindow := full(4)
	fullWithWindow.Window = 4
	fine, coarse := groups(full(4)), groups(full(4))
	fine.HashTokens, coarse.SchedulerTokens = 3, 6
	negativeHash, negativeUnit, hugeUnit := groups(full(4)), groups(full(4)), groups(full(4))
	negativeHash.HashTokens, negativeUnit.SchedulerTokens, hugeUnit.SchedulerTokens = -4, -4, prefixcache.MaxTokens+4
	for _, test := range []struct {
		name   string
		cfg    prefixcache.Config
		field  string
		reason error
	}{
		{"no blocks", single(0, 4), "blocks", auxerrors.ErrTooSmall},
		{"the null block alone", single(1, 4), "blocks", auxerrors.ErrTooSmall},
		{"more blocks than any GPU has", single(math.MaxInt, 4), "blocks", auxerrors.ErrTooLarge},
		{"no groups", groups(), "groups", auxerrors.ErrTooSmall},
		{"more groups than a byte counts", groups(make([]prefixcache.Group, 257)...), "groups", auxerrors.ErrTooLarge},
		{"a block of no tokens", groups(full(4), full(0)), "groups[1].block tokens", auxerrors.ErrTooSmall},
		{"an endless block", groups(full(math.MaxInt)), "groups[0].block tokens", auxerrors.ErrTooLarge},
		{"a window of no tokens", groups(window(4, 0)), "groups[0].window", auxerrors.ErrTooSmall},
		{"an endless window", groups(window(4, math.MaxInt)), "groups[0].window", auxerrors.ErrTooLarge},
		{"full attention with a window", groups(fullWithWindow), "groups[0].window", auxerrors.ErrMismatch},
		{"an unknown kind", groups(prefixcache.Group{Kind: 9, BlockTokens: 4}), "groups[0].kind", auxerrors.ErrTooLarge},
		{"a drafter without EAGLE", groups(drafter), "groups[0].eagle", auxerrors.ErrMismatch},
		{"hashes that do not divide the blocks", fine, "hash tokens", auxerrors.ErrMismatch},
		{"hashes of a negative length", negativeHash, "hash tokens", auxerrors.ErrMismatch},
		{"a scheduler unit that is no multiple", coarse, "scheduler tokens", auxerrors.ErrMismatch},
		{"a negative scheduler unit", negativeUnit, "scheduler tokens", auxerrors.ErrMismatch},
		{"an endless scheduler unit", hugeUnit, "scheduler tokens", auxerrors.ErrTooLarge},
		{"block sizes with an endless common multiple", groups(full(1<<29+1), full(1<<29-1)), "scheduler tokens", auxerrors.ErrTooLarge},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := prefixcache.New(test.cfg)
			var config *auxerrors.ConfigError
			require.ErrorAs(t, err, &config)
			require.Equal(t, test.field, config.Field)
			require.ErrorIs(t, err, test.reason)
		})
	}
}

func TestDefaultsAreFilledIn(t *testing.T) {
	drafter := window(8, 20)
	drafter.Eagle = true
	for _, test := range []struct {
		name       string
		cfg        prefixcache.Config
		hash, unit int
		eagle      []bool
	}{
		{"one group", single(2, 16), 16, 16, []bool{false}},
		{"divisor and multiple of two", prefixcache.Config{Blocks: 9, Groups: []prefixcache.Group{full(12), window(8, 20)}}, 4, 24, []bool{false, false}},
		{"EAGLE with no group named means all", prefixcache.Config{Blocks: 9, Groups: []prefixcache.Group{full(16), window(8, 20)}, Eagle: true}, 8, 16, []bool{true, true}},
		{"EAGLE with one named means all of its shape", prefixcache.Config{Blocks: 9, Groups: []prefixcache.Group{full(16), window(8, 20), drafter}, Eagle: true}, 8, 16, []bool{false, true, true}},
	} {
		t.Run(test.name, func(t *testing.T) {
			cfg := newCache(t, test.cfg).Config()
			require.Equal(t, test.hash, cfg.HashTokens)
			require.Equal(t, test.unit, cfg.SchedulerTokens)
			for i, g := range cfg.Groups {
				require.Equal(t, test.eagle[i], g.Eagle, "group %d", i)
			}
		})
	}
}

func TestMisuseIsAnErrorAndChangesNothing(t *testing.T) {
	type fixture struct {
		c, other                *prefixcache.Cache
		running, waiting, spent *sequence
	}
	admitWaiting := func(limit, tokens int) func(f fixture) error {
		return func(f fixture) error {
			_, _, err := f.c.Admit(&f.waiting.Request, limit, tokens)
			return err
		}
	}
	allocate := func(tokens, drafts int) func(f fixture) error {
		return func(f fixture) error {
			_, err := f.c.Allocate(&f.running.Request, tokens, drafts)
			return err
		}
	}
	broken := func(change func(r *prefixcache.Request)) func(f fixture) error {
		return func(f fixture) error {
			r := &f.running.Request
			prompt, tokens, hashes := r.Prompt, r.Tokens, r.Hashes
			change(r)
			_, err := f.c.Allocate(r, 1, 0)
			r.Prompt, r.Tokens, r.Hashes = prompt, tokens, hashes
			return err
		}
	}
	for _, test := range []struct {
		name string
		do   func(f fixture) error
		want error
	}{
		{"admitting nil", func(f fixture) error { _, _, err := f.c.Admit(nil, 0, 1); return err }, prefixcache.ErrTokens},
		{"admitting an empty request", func(f fixture) error { _, _, err := f.c.Admit(new(prefixcache.Request), 0, 1); return err }, prefixcache.ErrTokens},
		{"admitting twice", func(f fixture) error { _, _, err := f.c.Admit(&f.running.Request, 0, 1); return err }, prefixcache.ErrAdmitted},
		{"admitting what another cache holds", func(f fixture) error { _, _, err := f.other.Admit(&f.running.Request, 0, 1); return err }, prefixcache.ErrAdmitted},
		{"looking up what is admitted", func(f fixture) error { _, err := f.c.Lookup(&f.running.Request, 0); return err }, prefixcache.ErrAdmitted},
		{"admitting with a negative limit", admitWaiting(-1, 1), prefixcache.ErrSchedule},
		{"admitting for no tokens", admitWaiting(prefixcache.NoLimit, 0), prefixcache.ErrSchedule},
		{"admitting beyond the known tokens", admitWaiting(prefixcache.NoLimit, 14), prefixcache.ErrSchedule},
		{"admitting beyond what the hit leaves", admitWaiting(prefixcache.NoLimit, 13), prefixcache.ErrSchedule},
		{"allocating for nothing", allocate(0, 0), prefixcache.ErrSchedule},
		{"allocating a negative number", allocate(-1, 2), prefixcache.ErrSchedule},
		{"allocating negative drafts", allocate(1, -1), prefixcache.ErrSchedule},
		{"allocating beyond the known tokens", allocate(3, 0), prefixcache.ErrSchedule},
		{"allocating endless drafts", allocate(1, math.MaxInt), prefixcache.ErrSchedule},
		{"allocating for what waits", func(f fixture) error { _, err := f.c.Allocate(&f.waiting.Request, 1, 0); return err }, prefixcache.ErrNotAdmitted},
		{"allocating in another cache", func(f fixture) error { _, err := f.other.Allocate(&f.running.Request, 1, 0); return err }, prefixcache.ErrNotAdmitted},
		{"allocating for nil", func(f fixture) error { _, err := f.c.Allocate(nil, 1, 0); return err }, prefixcache.ErrNotAdmitted},
		{"rejecting nothing", func(f fixture) error { return f.c.Reject(&f.running.Request, 0) }, prefixcache.ErrSchedule},
		{"rejecting what is known", func(f fixture) error { return f.c.Reject(&f.running.Request, 1) }, prefixcache.ErrSchedule},
		{"rejecting for what waits", func(f fixture) error { return f.c.Reject(&f.waiting.Request, 1) }, prefixcache.ErrNotAdmitted},
		{"freeing what was never admitted", func(f fixture) error { return f.c.Free(&f.waiting.Request) }, prefixcache.ErrNotAdmitted},
		{"freeing twice", func(f fixture) error { return f.c.Free(&f.spent.Request) }, prefixcache.ErrNotAdmitted},
		{"freeing in another cache", func(f fixture) error { return f.other.Free(&f.running.Request) }, prefixcache.ErrNotAdmitted},
		{"freeing nil", func(f fixture) error { return f.c.Free(nil) }, prefixcache.ErrNotAdmitted},
		{"preempting what waits", func(f fixture) error { return f.c.Preempt(&f.waiting.Request) }, prefixcache.ErrNotAdmitted},
		{"evicting a block beyond the pool", func(f fixture) error { return f.c.EvictBlocks(1, 20) }, prefixcache.ErrBlock},
		{"evicting a negative block", func(f fixture) error { return f.c.EvictBlocks(1, -1) }, prefixcache.ErrBlock},
		{"tokens that shrank", broken(func(r *prefixcache.Request) { r.Tokens = 12 }), prefixcache.ErrTokens},
		{"fewer tokens than the prompt", broken(func(r *prefixcache.Request) { r.Tokens = 3 }), prefixcache.ErrTokens},
		{"endless tokens", broken(func(r *prefixcache.Request) { r.Tokens = math.MaxInt }), prefixcache.ErrTokens},
		{"a prompt that changed", broken(func(r *prefixcache.Request) { r.Prompt-- }), prefixcache.ErrTokens},
		{"hashes that shrank", broken(func(r *prefixcache.Request) { r.Hashes = r.Hashes[:2] }), prefixcache.ErrHashes},
		{"more hashes than the tokens fill", broken(func(r *prefixcache.Request) {
			r.Hashes = append(r.Hashes[:3:3], r.Hashes[0])
		}), prefixcache.ErrHashes},
		{"a hash that is zero", broken(func(r *prefixcache.Request) {
			r.Tokens += 2
			r.Hashes = append(r.Hashes[:3:3], blockhash.Hash{})
		}), prefixcache.ErrHashes},
	} {
		t.Run(test.name, func(t *testing.T) {
			cfg := single(20, 4)
			cfg.Events = true
			f := fixture{c: newCache(t, cfg), other: newCache(t, cfg)}
			f.spent = newSequence(t, 4, count(0, 13)...)
			admit(t, f.c, f.spent)
			require.NoError(t, f.c.Free(&f.spent.Request))
			f.waiting = newSequence(t, 4, count(0, 13)...)
			f.running = newSequence(t, 4, count(50, 13)...)
			admit(t, f.c, f.running)
			f.running.append(1)
			if hashes := len(f.running.Hashes); hashes != 3 {
				t.Fatalf("%d hashes", hashes)
			}
			look := func() string {
				return fmt.Sprint(f.c.AppendFreeList(nil), f.c.Keys(), f.c.Stats(), f.running.Table(0),
					f.running.Computed(), f.waiting.Admitted(), f.other.FreeBlocks())
			}
			before := look()
			f.c.DrainEvents(nil)
			err := test.do(f)
			require.ErrorIs(t, err, test.want)
			var typed *prefixcache.RequestError
			require.ErrorAs(t, err, &typed)
			require.Contains(t, err.Error(), test.want.Error())
			require.Equal(t, before, look())
			require.Empty(t, f.c.DrainEvents(nil))
		})
	}
}

func TestSampledTokensMayNotBeForgotten(t *testing.T) {
	c := newCache(t, single(20, 4))
	a := newSequence(t, 4, count(0, 13)...)
	admit(t, c, a)
	decode(t, c, a, 13)
	a.Tokens = 13 // the prompt is still there
	_, err := c.Allocate(&a.Request, 0, 1)
	require.ErrorIs(t, err, prefixcache.ErrTokens)
	require.ErrorContains(t, err, "13 tokens known, but there were 14")
}

func TestRequestCanBeFreedWhateverItsCountsSay(t *testing.T) {
	c := newCache(t, single(20, 4))
	a := newSequence(t, 4, count(0, 13)...)
	admit(t, c, a)
	a.Tokens, a.Hashes = 0, nil
	require.Empty(t, a.Registered(0))
	require.NoError(t, c.Free(&a.Request))
	require.Equal(t, 19, c.FreeBlocks())
}

func TestKindsHaveTheNamesOfTheEventStream(t *testing.T) {
	require.Equal(t, "full_attention", prefixcache.FullAttention.String())
	require.Equal(t, "sliding_window", prefixcache.SlidingWindow.String())
	require.Equal(t, "Kind(7)", prefixcache.Kind(7).String())
	require.Equal(t, "BlockStored", prefixcache.Stored.String())
	require.Equal(t, "BlockRemoved", prefixcache.Removed.String())
	require.Equal(t, "AllBlocksCleared", prefixcache.Cleared.String())
	require.Equal(t, "EventKind(7)", prefixcache.EventKind(7).String())
}
