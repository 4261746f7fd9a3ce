package routing_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/routing"
)

func prepare(tb require.TestingT, c routing.Checks, p routing.Profile) *routing.Checker {
	k, err := c.Prepare(p)
	require.NoError(tb, err)
	return &k
}

// literalRow is Range and Distinct as they are described: the first id that is no
// expert, or that its top-k had before.
func literalRow(c routing.Checks, p routing.Profile, position int, row []byte) *routing.IDError {
	for layer := range p.Layers {
		before := map[int]bool{}
		for slot := range p.TopK {
			at := (layer*p.TopK + slot) * p.ItemBytes()
			id := int(row[at])
			if p.ItemBytes() == 2 {
				id = int(binary.LittleEndian.Uint16(row[at:]))
			}
			wrong := &routing.IDError{Position: position, Layer: layer, Slot: slot, ID: int64(id), Experts: p.Experts}
			if c.Range && id >= p.Experts {
				wrong.Reason = auxerrors.ErrOutOfRange
				return wrong
			}
			if c.Distinct && !slices.Contains(c.Exempt, layer) && before[id] {
				wrong.Reason = routing.ErrDuplicate
				return wrong
			}
			before[id] = true
		}
	}
	return nil
}

func requireSameVerdict(tb require.TestingT, want *routing.IDError, err error) {
	if want == nil {
		require.NoError(tb, err)
		return
	}
	var got *routing.IDError
	require.ErrorAs(tb, err, &got)
	require.Equal(tb, *want, *got)
}

// drawProfile draws models of every width, with numbers of experts around those at
// which something changes, and mostly with the top-k of most models.
func drawProfile(t *rapid.T) routing.Profile {
	topK := 8
	if rapid.Bool().Draw(t, "another top-k") {
		topK = rapid.SampledFrom([]int{1, 2, 4, 7, 9, 16, 17, 22}).Draw(t, "top-k")
	}
	experts := rapid.SampledFrom([]int{23, 64, 127, 128, 129, 200, 255, 256, 257, 384, 512, 32767, 32768, 32769, 65535, 65536}).Draw(t, "experts")
	return routing.Profile{Layers: rapid.IntRange(1, 20).Draw(t, "layers"), TopK: topK, Experts: experts}
}

func drawChecks(t *rapid.T, p routing.Profile) routing.Checks {
	c := routing.Checks{Range: rapid.Bool().Draw(t, "range"), Distinct: rapid.Bool().Draw(t, "distinct"), EqualRuns: true}
	for layer := range p.Layers {
		if rapid.IntRange(0, 9).Draw(t, "exempt") == 0 {
			c.Exempt = append(c.Exempt, layer)
		}
	}
	return c
}

// goodRow has distinct experts in each layer.
func goodRow(random *rand.Rand, p routing.Profile) []byte {
	r := routing.Rows{Profile: p, Data: make([]byte, p.RowBytes())}
	for layer := range p.Layers {
		first, step := random.IntN(p.Experts), 1
		for p.Experts%(step+1) != 0 && step < 5 {
			step++ // so that neighbours differ by more than 1 where that stays distinct
		}
		if p.Experts%step != 0 || p.Experts/step < p.TopK {
			step = 1
		}
		for slot := range p.TopK {
			put(r, layer, slot, (first+slot*step)%p.Experts)
		}
	}
	return r.Data
}

// put sets an id of the first row.
func put(r routing.Rows, layer, slot, id int) {
	at := (layer*r.Profile.TopK + slot) * r.Profile.ItemBytes()
	r.Data[at] = byte(id)
	if r.Profile.ItemBytes() == 2 {
		r.Data[at+1] = byte(id >> 8)
	}
}

func TestCheckingARowEqualsTheLiteralForm(t *testing.T) {
	found := map[error]int{}
	rapid.Check(t, func(t *rapid.T) {
		p := drawProfile(t)
		c := drawChecks(t, p)
		k := prepare(t, c, p)
		random := rand.New(rand.NewPCG(1, rapid.Uint64().Draw(t, "seed")))
		for position := range 20 {
			row := goodRow(random, p)
			for range random.IntN(3) {
				layer, slot, id := random.IntN(p.Layers), random.IntN(p.TopK), random.IntN(1<<(8*p.ItemBytes()))
				if random.IntN(2) == 0 {
					id = min(p.Experts+random.IntN(3)-1, 1<<(8*p.ItemBytes())-1) // about the last expert
				}
				r := routing.Rows{Profile: p, Data: row}
				if random.IntN(2) == 0 {
					id = r.At(0, layer, random.IntN(p.TopK))
				}
				put(r, layer, slot, id)
			}
			want := literalRow(c, p, position, row)
			if want != nil {
				found[want.Reason]++
			}
			requireSameVerdict(t, want, k.CheckRow(position, row))
		}
	})
	if !testing.Short() { // which draws too few to insist
		require.Positive(t, found[auxerrors.ErrOutOfRange])
		require.Positive(t, found[routing.ErrDuplicate])
	}
}

func TestEveryPairOfSlotsAndEveryIdBeyondIsFound(t *testing.T) {
	for _, experts := range []int{64, 128, 200, 256, 384, 32768, 60000, 65536} {
		p := profile(t, 3, 8, experts)
		k := prepare(t, routing.AllChecks, p)
		good := goodRow(rand.New(rand.NewPCG(1, 2)), p)
		require.NoError(t, k.CheckRow(0, good))
		for layer := range p.Layers {
			for slot := range p.TopK {
				for id := experts; id < 1<<(8*p.ItemBytes()); id += 1 + (id-experts)/20 {
					r := routing.Rows{Profile: p, Data: slices.Clone(good)}
					put(r, layer, slot, id)
					requireSameVerdict(t, literalRow(routing.AllChecks, p, 5, r.Data), k.CheckRow(5, r.Data))
					require.ErrorIs(t, k.CheckRow(5, r.Data), auxerrors.ErrOutOfRange)
				}
				for other := range slot {
					r := routing.Rows{Profile: p, Data: slices.Clone(good)}
					put(r, layer, slot, r.At(0, layer, other))
					requireSameVerdict(t, literalRow(routing.AllChecks, p, 5, r.Data), k.CheckRow(5, r.Data))
					require.ErrorIs(t, k.CheckRow(5, r.Data), routing.ErrDuplicate)
				}
			}
		}
	}
}

func FuzzCheckRow(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7}, uint8(8), uint16(8), true, true)
	f.Add([]byte{0, 0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 0, 1, 128, 1, 255, 1, 0, 2, 1, 2, 2, 2, 3, 2, 4, 2, 5, 2, 0, 0}, uint8(8), uint16(511), true, true)
	f.Add([]byte{127, 128, 129, 255, 0, 1, 2, 128}, uint8(8), uint16(128), true, true)
	f.Add([]byte{9, 9}, uint8(2), uint16(300), false, true)
	f.Fuzz(func(t *testing.T, data []byte, topK uint8, experts uint16, inRange, distinct bool) {
		p, err := routing.NewProfile(1, int(topK), int(experts)+1)
		if err != nil || len(data) < p.RowBytes() {
			return
		}
		p.Layers = len(data) / p.RowBytes()
		row := data[:p.RowBytes()]
		c := routing.Checks{Range: inRange, Distinct: distinct}
		requireSameVerdict(t, literalRow(c, p, 3, row), prepare(t, c, p).CheckRow(3, row))
	})
}

func TestAnythingButOneRowIsMiscounted(t *testing.T) {
	p := profile(t, 2, 8, 64)
	k := prepare(t, routing.AllChecks, p)
	for _, n := range []int{0, 15, 17, 32} {
		var count *routing.CountError
		require.ErrorAs(t, k.CheckRow(0, make([]byte, n)), &count)
		require.Equal(t, routing.CountError{What: "bytes of a row", Want: 16, Got: int64(n)}, *count)
	}
	require.Error(t, new(routing.Checker).CheckRow(0, nil), "made by Prepare only")
}

func TestExemptLayersThatCannotBeAreRefused(t *testing.T) {
	p := profile(t, 3, 2, 64)
	for _, tc := range []struct {
		exempt []int
		want   error
	}{
		{[]int{-1}, auxerrors.ErrOutOfRange}, {[]int{0, 3}, auxerrors.ErrOutOfRange}, {[]int{math.MaxInt}, auxerrors.ErrOutOfRange},
		{[]int{1, 2, 1}, auxerrors.ErrMismatch}, {[]int{0, 0, 0, 0, 0}, auxerrors.ErrMismatch},
	} {
		c := routing.Checks{Exempt: tc.exempt}
		_, err := c.Prepare(p)
		var config *auxerrors.ConfigError
		require.ErrorAs(t, err, &config, "%v", tc.exempt)
		require.ErrorIs(t, err, tc.want)
		require.Equal(t, err, c.Check(sample(t, p, 0, 3, 0)))
	}
	_, err := routing.AllChecks.Prepare(routing.Profile{})
	require.ErrorIs(t, err, auxerrors.ErrTooSmall)
	all := routing.Checks{Distinct: true, ZeroLayers: true, EqualRuns: true, Exempt: []int{2, 0, 1}}
	k := prepare(t, all, p)
	all.Exempt[0] = 77
	require.NoError(t, k.CheckRow(0, make([]byte, 6)), "all layers are exempt, whatever becomes of the list")
}

func TestALayerThatIsZeroInEveryRowIsNamed(t *testing.T) {
	p := profile(t, 3, 2, 64)
	rows := sample(t, p, 1, 4, 0)
	k := prepare(t, routing.AllChecks, p)
	require.NoError(t, k.CheckZeroLayers(rows.Data))
	require.NoError(t, k.CheckZeroLayers(nil), "no row says nothing")
	for i := range rows.Len() {
		clear(rows.Row(i)[2:4])
		err := k.CheckZeroLayers(rows.Data)
		if i < rows.Len()-1 {
			require.NoError(t, err, "%d of 4 rows are zero there", i+1)
			continue
		}
		require.Equal(t, &routing.IDError{Reason: routing.ErrZeroLayer, Position: -1, Layer: 1, Slot: -1, Experts: 64}, err)
	}
	require.ErrorIs(t, k.CheckZeroLayers(rows.Row(0)), routing.ErrZeroLayer, "top-2 ids are distinct: one row is enough")
	require.NoError(t, prepare(t, routing.Checks{ZeroLayers: true, Exempt: []int{1}}, p).CheckZeroLayers(rows.Data))
	require.NoError(t, prepare(t, routing.Checks{}, p).CheckZeroLayers(rows.Data))
	require.ErrorIs(t, k.CheckZeroLayers(rows.Data[:7]), auxerrors.ErrMismatch)
}

func TestACheckerAllocatesNothing(t *testing.T) {
	for _, p := range []routing.Profile{
		profile(t, 48, 8, 128), profile(t, 60, 8, 384), profile(t, 24, 4, 32), profile(t, 40, 22, 512),
	} {
		r := sample(t, p, 0, 100, 0)
		c := routing.AllChecks
		c.Exempt = []int{3}
		k := prepare(t, c, p)
		var run routing.RunState
		require.NoError(t, k.CheckRun(&run, 0, r.Data[:9*p.RowBytes()]))
		err := error(nil)
		require.Zero(t, testing.AllocsPerRun(10, func() {
			run.Reset()
			for i := range r.Len() {
				err = errors.Join(err, k.CheckRow(i, r.Row(i)), k.CheckRun(&run, i, r.Row(i)), k.CheckZeroLayers(r.Row(i)))
			}
		}), "%v", p)
		require.NoError(t, err)
	}
}

func ExampleChecker() {
	p, _ := routing.NewProfile(2, 4, 64)
	k, err := routing.AllChecks.Prepare(p)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(k.CheckRow(7, []byte{5, 6, 1, 2, 9, 8, 7, 6}))
	fmt.Println(k.CheckRow(8, []byte{5, 6, 1, 2, 9, 8, 7, 64}))
	// Output:
	// <nil>
	// auxoutput: out of range: position 8, layer 1, slot 3: id 64 of 64 experts
}
