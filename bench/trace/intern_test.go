package trace

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestNumbersAreDenseAndInOrderOfAppearance(t *testing.T) {
	type name struct {
		scope uint32
		id    uint64
	}
	rapid.Check(t, func(t *rapid.T) {
		in, model := newInterner(), make(map[name]uint32)
		for range rapid.IntRange(0, 30).Draw(t, "runs") {
			scope := rapid.Uint32Range(0, 2).Draw(t, "scope")
			first := rapid.SampledFrom([]uint64{0, 60, 100, 1 << 20, denseIDs - 5, denseIDs, 1 << 63}).Draw(t, "base") + rapid.Uint64Range(0, 10).Draw(t, "offset")
			count := rapid.IntRange(0, 150).Draw(t, "count")
			var got, want []uint32
			var err error
			if rapid.Bool().Draw(t, "as a run") {
				got, err = in.appendRun(nil, scope, first, count)
				require.NoError(t, err)
			} else {
				for i := range count {
					got, err = in.appendID(got, scope, first+uint64(i))
					require.NoError(t, err)
				}
			}
			for i := range count {
				key := name{scope, first + uint64(i)}
				if _, seen := model[key]; !seen {
					model[key] = uint32(len(model))
				}
				want = append(want, model[key])
			}
			require.Equal(t, want, got)
		}
		require.EqualValues(t, len(model), in.unique)
	})
}

func TestTooManyDifferentBlocksAreRefused(t *testing.T) {
	full := func() *interner {
		in := newInterner()
		in.unique = MaxUniqueBlocks - 1
		return in
	}
	for name, add := range map[string]func(*interner) error{
		"counters": func(in *interner) error { _, err := in.appendID(nil, 0, 1); return second(err, in, 2) },
		"hashes":   func(in *interner) error { _, err := in.appendID(nil, 0, 1<<60); return second(err, in, 1<<61) },
		"a run":    func(in *interner) error { _, err := in.appendRun(nil, 0, 7, 2); return err },
		"invented": func(in *interner) error { _, err := in.invent(nil, 2); return err },
	} {
		t.Run(name, func(t *testing.T) {
			require.ErrorContains(t, add(full()), "more than 134217728 different blocks")
		})
	}
}

// second adds one id more, if the first went well.
func second(err error, in *interner, id uint64) error {
	if err != nil {
		return err
	}
	_, err = in.appendID(nil, 0, id)
	return err
}
