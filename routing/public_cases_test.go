package routing_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/routing"
)

// Bugs that people met in public projects, as far as rows, their forms and the
// request rules are concerned. Each name has the number of the case.

func TestPublicCase_PC_005_RowsThatNobodyCapturedAreZero(t *testing.T) {
	r := raw(t, profile(t, 48, 8, 128), 0, make([]byte, 16*48*8)...)
	require.ErrorIs(t, routing.Checks{Distinct: true}.Check(r), routing.ErrDuplicate)
	require.ErrorIs(t, routing.Checks{ZeroLayers: true}.Check(r), routing.ErrZeroLayer)
	require.NoError(t, routing.Checks{Range: true}.Check(r))
}

func TestPublicCase_PC_007_PhysicalIdsAreNotLogicalOnes(t *testing.T) {
	p := profile(t, 2, 2, 64)
	r := sample(t, p, 0, 4, 0)
	r.Data[9] = 71
	require.ErrorIs(t, routing.AllChecks.Check(r), auxerrors.ErrOutOfRange)
	_, err := r.Array().Rows(p, 0)
	require.ErrorIs(t, err, auxerrors.ErrOutOfRange, "decoding always checks the range")
}

func TestPublicCase_PC_010_AZeroLayerIsNamed(t *testing.T) {
	r := sample(t, profile(t, 10, 8, 128), 0, 20, 0)
	for i := range r.Len() {
		clear(r.Row(i)[7*8 : 8*8])
	}
	require.ErrorContains(t, routing.AllChecks.Check(r), "layer 7")
	exempt := routing.AllChecks
	exempt.Exempt = []int{7} // dense, in the layout of all layers
	require.NoError(t, exempt.Check(r))
}

func TestPublicCase_PC_020_RowsOfOutputTokensCount(t *testing.T) {
	n, err := routing.RowCount(10+5, 0)
	require.NoError(t, err)
	require.Equal(t, 14, n)
}

func TestPublicCase_PC_023_APromptThatIsOnlyScoredHasARowForItsLastToken(t *testing.T) {
	r := sample(t, profile(t, 2, 2, 64), 0, 8, 0)
	require.NoError(t, r.CheckForwarded(8))
	require.EqualError(t, r.CheckForwarded(9), "auxoutput: rows: 8, expected 9")
	span, present := routing.AnswerSpan(0, 8)
	require.True(t, present)
	require.Equal(t, 8, span.Len())
}

func TestPublicCase_PC_025_TheNumberOfRowsIsTokensLessOne(t *testing.T) {
	for _, tc := range []struct {
		rows        int
		ok, surplus bool // without and with an allowed surplus row
	}{{48, false, false}, {49, true, true}, {50, false, true}, {51, false, false}} {
		r := sample(t, profile(t, 2, 2, 64), 0, tc.rows, 0)
		for allowed, ok := range []bool{tc.ok, tc.surplus} {
			err := r.CheckTokens(50, allowed)
			if ok {
				require.NoError(t, err)
				continue
			}
			var count *routing.CountError
			require.ErrorAs(t, err, &count)
			require.Equal(t, routing.CountError{What: "rows", Want: 49, Got: int64(tc.rows)}, *count)
		}
	}
}

func TestPublicCase_PC_026_APromptStartBeyondThePromptIsThatRequestsError(t *testing.T) {
	for _, start := range []routing.PromptStart{"15", "-1", "9223372036854775808"} {
		_, err := start.Resolve(14)
		var refused *routing.RequestError
		require.ErrorAs(t, err, &refused, "%s", start)
		require.Equal(t, 400, refused.StatusCode())
	}
	for text, rows := range map[routing.PromptStart]int{"0": 19, "13": 6, "14": 5} {
		start, err := text.Resolve(14)
		require.NoError(t, err)
		n, err := routing.RowCount(20, start)
		require.NoError(t, err)
		require.Equal(t, rows, n)
	}
}

func TestPublicCase_PC_028_SlicesOfTurnsJoinExactly(t *testing.T) {
	p := profile(t, 2, 2, 64)
	first, second := sample(t, p, 0, 5, 0), sample(t, p, 5, 5, 0)
	require.NoError(t, first.CheckTokens(6, 0))
	require.NoError(t, second.CheckTokens(11, 0))
	joined, err := routing.Join(routing.Turn{Rows: first}, routing.Turn{Rows: second})
	require.NoError(t, err)
	require.Equal(t, sample(t, p, 0, 10, 0), joined)
}

func TestPublicCase_PC_029_AnAnswerOfAllRowsIsNotASuffix(t *testing.T) {
	p := profile(t, 2, 2, 64)
	require.NoError(t, sample(t, p, 32, 15, 0).CheckTokens(48, 0))
	require.EqualError(t, sample(t, p, 32, 47, 0).CheckTokens(48, 0), "auxoutput: rows: 47, expected 15")
	_, err := routing.ObjectField(sample(t, p, 0, 47, 0)).Rows(p, 32)
	require.ErrorContains(t, err, "rows from position 0, expected from 32")
}

func TestPublicCase_PC_031_TheNextTurnReplacesTheBoundaryRow(t *testing.T) {
	p := profile(t, 1, 2, 64)
	joined, err := routing.Join(
		routing.Turn{Rows: raw(t, p, 0, 10, 11, 20, 21, 0, 1), Padded: true},
		routing.Turn{Rows: raw(t, p, 2, 30, 31)},
	)
	require.NoError(t, err)
	require.Equal(t, []byte{10, 11, 20, 21, 30, 31}, joined.Data)
}

func TestPublicCase_PC_032_SurplusRowsAreAsWrongAsMissingOnes(t *testing.T) {
	for _, n := range []int{8, 10} {
		err := sample(t, profile(t, 2, 2, 64), 0, n, 0).CheckTokens(10, 0)
		require.ErrorIs(t, err, auxerrors.ErrMismatch, "%d rows", n)
	}
}

func TestPublicCase_PC_034_ChunksOfAStreamHaveTheirOwnRows(t *testing.T) {
	s, err := routing.NewStream(0, true)
	require.NoError(t, err)
	tokens := 4
	var spans []routing.Span
	for i, emitted := range []int{3, 1, 2} {
		tokens += emitted
		span, present, err := s.Chunk(tokens-1, i == 2)
		require.NoError(t, err)
		require.True(t, present)
		spans = append(spans, span)
	}
	require.Equal(t, []routing.Span{{0, 6}, {6, 7}, {7, 9}}, spans)
}

func TestPublicCase_PC_035_AResumedCallThatReturnsAllRowsDoublesNone(t *testing.T) {
	p := profile(t, 2, 2, 64)
	joined, err := routing.Join(routing.Turn{Rows: sample(t, p, 0, 9, 0)}, routing.Turn{Rows: sample(t, p, 0, 14, 1)})
	require.NoError(t, err)
	require.Equal(t, 14, joined.Len())
	require.Equal(t, slices.Concat(sample(t, p, 0, 9, 0).Data, sample(t, p, 9, 5, 1).Data), joined.Data)
}

func TestPublicCase_PC_037_RowsComeFromTheFirstTurnThatProducedThem(t *testing.T) {
	p := profile(t, 2, 2, 64)
	joined, err := routing.Join(
		routing.Turn{Rows: sample(t, p, 0, 3, 0)}, routing.Turn{Rows: sample(t, p, 0, 6, 1)}, routing.Turn{Rows: sample(t, p, 0, 8, 2)},
	)
	require.NoError(t, err)
	require.Equal(t, slices.Concat(sample(t, p, 0, 3, 0).Data, sample(t, p, 3, 3, 1).Data, sample(t, p, 6, 2, 2).Data), joined.Data)
}

func TestPublicCase_PC_038_ConcatenatedAnswersAreTooLong(t *testing.T) {
	p := profile(t, 2, 2, 64)
	twice := raw(t, p, 0, slices.Concat(sample(t, p, 0, 9, 0).Data, sample(t, p, 0, 14, 0).Data)...)
	require.EqualError(t, twice.CheckTokens(15, 0), "auxoutput: rows: 23, expected 14")
}

func TestPublicCase_PC_043_255IsAnExpertAndNoSentinel(t *testing.T) {
	p := profile(t, 1, 2, 256)
	rows := raw(t, p, 0, 255, 254, 0, 255)
	require.NoError(t, routing.AllChecks.Check(rows))
	for _, field := range []*routing.Field{routing.NpyField(rows), routing.ObjectField(rows)} {
		data, err := json.Marshal(field)
		require.NoError(t, err)
		again, err := routing.DecodeField(data)
		require.NoError(t, err)
		got, err := again.Rows(p, 0)
		require.NoError(t, err)
		require.Equal(t, rows.Data, got.Data)
	}
}

func TestPublicCase_PC_044_NegativeIdsAreRefusedWhateverTheyMean(t *testing.T) {
	for _, d := range []routing.DType{routing.Int8, routing.Int16, routing.Int32} {
		_, err := arrayOf(d, [3]int{1, 1, 2}, 3, -1)
		require.ErrorIs(t, err, auxerrors.ErrOutOfRange, "%v", d)
		require.ErrorContains(t, err, "id -1")
	}
	_, err := arrayOf(routing.Int8, [3]int{1, 1, 1}, 200)
	require.ErrorIs(t, err, auxerrors.ErrOutOfRange, "200 does not fit into int8")
}

func TestPublicCase_PC_046_PaddingSpreads(t *testing.T) {
	p := profile(t, 1, 8, 128)
	padded, err := raw(t, p, 0).Pad(100)
	require.NoError(t, err)
	require.NoError(t, routing.Checks{Range: true, Distinct: true}.Check(padded))
	counts := make([]int, 128)
	for _, id := range padded.Data {
		counts[id]++
	}
	require.Equal(t, 1, spread(counts))
}

func TestPublicCase_PC_047_AnExpertTwiceInOneTopKIsFlagged(t *testing.T) {
	r := raw(t, profile(t, 1, 4, 64), 30, 5, 5, 1, 2)
	var wrong *routing.IDError
	require.ErrorAs(t, routing.AllChecks.Check(r), &wrong)
	require.Equal(t, routing.IDError{Reason: routing.ErrDuplicate, Position: 30, Layer: 0, Slot: 1, ID: 5, Experts: 64}, *wrong)
	require.NoError(t, routing.Checks{Range: true, ZeroLayers: true}.Check(r))
}

func TestPublicCase_PC_049_LayoutsOfTheLayersDoNotMix(t *testing.T) {
	moe, all := profile(t, 58, 8, 256), profile(t, 61, 8, 256)
	rows := sample(t, moe, 0, 3, 0)
	_, err := rows.Array().Rows(all, 0)
	require.ErrorContains(t, err, "58 layers x 8, expected 61 layers x 8")

	deepSeekV3, err := routing.LayersFrom(3, 61)
	require.NoError(t, err)
	wide, err := deepSeekV3.Int32(rows)
	require.NoError(t, err)
	filled, err := wide.Convert(all, 0)
	require.NoError(t, err)
	require.Equal(t, make([]byte, 3*8), filled.Row(2)[:3*8], "dense layers")
	require.Equal(t, rows.Row(2), filled.Row(2)[3*8:])
	again, err := deepSeekV3.Rows(filled.Array(), moe, 0)
	require.NoError(t, err)
	require.Equal(t, rows, again)
}

func TestPublicCase_PC_050_512ExpertsNeedTwoBytes(t *testing.T) {
	p := profile(t, 1, 1, 512)
	require.Equal(t, routing.Uint16, p.DType())
	a, err := arrayOf(routing.Uint16, [3]int{1, 1, 1}, 511)
	require.NoError(t, err)
	r, err := a.Rows(p, 0)
	require.NoError(t, err)
	require.Equal(t, 511, r.At(0, 0, 0))
}

func TestPublicCase_PC_052_TheRangeOfWideIdsIsChecked(t *testing.T) {
	p := profile(t, 1, 1, 512)
	ids := make([]int, 512)
	for i := range ids {
		ids[i] = i
	}
	a, err := arrayOf(routing.Uint16, [3]int{512, 1, 1}, ids...)
	require.NoError(t, err)
	_, err = a.Rows(p, 0)
	require.NoError(t, err)
	a, err = arrayOf(routing.Uint16, [3]int{1, 1, 1}, 600)
	require.NoError(t, err)
	_, err = a.Rows(p, 0)
	require.ErrorContains(t, err, "id 600 of 512 experts")
}

func TestPublicCase_PC_053_NoIdChangesItsSign(t *testing.T) {
	rows := raw(t, profile(t, 1, 3, 256), 0, 127, 128, 255)
	a, err := routing.DecodeNpy(encode(t, rows, routing.FormatNpy))
	require.NoError(t, err)
	require.Equal(t, []byte{127, 128, 255}, a.Data)
	wide, err := a.Convert(profile(t, 1, 3, 257), 0)
	require.NoError(t, err)
	for k, id := range []int{127, 128, 255} {
		require.Equal(t, id, wide.At(0, 0, k))
	}
}

func TestPublicCase_PC_055_RowsTakeTheirOwnBytesAndNoMore(t *testing.T) {
	rows := sample(t, profile(t, 48, 8, 512), 0, 1000, 0)
	file := encode(t, rows, routing.FormatNpy)
	require.Len(t, rows.Data, 768_000)
	a, err := routing.DecodeNpy(file)
	require.NoError(t, err)
	got, err := a.Rows(rows.Profile, 0)
	require.NoError(t, err)
	require.Same(t, &file[len(file)-1], &got.Data[len(got.Data)-1], "decoding copies nothing")
}

func TestPublicCase_PC_056_DamagedPayloadsAreErrors(t *testing.T) {
	for name, object := range map[string]string{
		"dtype int64":          `{"shape":[1,1,2],"dtype":"int64","start":0,"data":"AAAAAAAAAAAAAAAAAAAAAA=="}`,
		"rank 2":               `{"shape":[2,3],"dtype":"uint8","start":0,"data":"AAECAwQF"}`,
		"a negative dimension": `{"shape":[-1,1,2],"dtype":"uint8","start":0,"data":"AAE="}`,
		"a byte short":         `{"shape":[1,1,3],"dtype":"uint8","start":0,"data":"AAE="}`,
		"id -1":                `{"shape":[1,1,1],"dtype":"int16","start":0,"data":"//8="}`,
		"a boolean dimension":  `{"shape":[true,1,2],"dtype":"uint8","start":0,"data":"AAE="}`,
	} {
		_, err := routing.DecodeField([]byte(object))
		require.Error(t, err, name)
	}
}

func TestPublicCase_PC_058_HeadersOfEveryVersionAndOrderAreRead(t *testing.T) {
	for _, file := range [][]byte{
		npyFile(1, npyHeader("|u1", "False", "(2, 1, 2)"), 1, 2, 3, 4),
		npyFile(2, npyHeader("|u1", "False", "(2, 1, 2)"), 1, 2, 3, 4),
		npyFile(3, npyHeader("|u1", "False", "(2, 1, 2)"), 1, 2, 3, 4),
		npyFile(1, npyHeader("|u1", "True", "(2, 1, 2)"), 1, 3, 2, 4),
		npyFile(1, npyHeader(">i4", "False", "(2, 1, 2)"), 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4),
	} {
		a, err := routing.DecodeNpy(file)
		require.NoError(t, err)
		r, err := a.Convert(profile(t, 1, 2, 64), 0)
		require.NoError(t, err)
		require.Equal(t, []byte{1, 2, 3, 4}, r.Data)
	}
}

func TestPublicCase_PC_059_HeadersAreAlignedAndZeroRowsAllowed(t *testing.T) {
	for _, n := range []int{0, 7, 100_000} {
		rows := raw(t, profile(t, 48, 8, 128), 0, make([]byte, n*48*8)...)
		file := encode(t, rows, routing.FormatNpy)
		head := len(file) - len(rows.Data)
		require.Zero(t, head%64)
		require.Equal(t, byte('\n'), file[head-1])
		a, err := routing.DecodeNpy(file)
		require.NoError(t, err)
		require.Equal(t, n, a.Len())
	}
	_, err := routing.DecodeNpy(npyFile(1, npyHeader("|u1", "False", "(7,)"), 1, 2, 3, 4, 5, 6, 7))
	require.ErrorContains(t, err, "rank 1, rows are of rank 3")
}

func TestPublicCase_PC_062_BothFormsOfTheFieldAreTold(t *testing.T) {
	rows := sample(t, profile(t, 2, 2, 64), 0, 4, 0)
	for _, f := range []routing.Format{routing.FormatNpyJSON, routing.FormatObjectJSON} {
		field, err := routing.DecodeField(encode(t, rows, f))
		require.NoError(t, err)
		require.Equal(t, f, field.Form)
		require.Equal(t, rows.Data, field.Array.Data)
	}
	_, err := routing.DecodeField([]byte(`[[[1,2],[3,4]]]`))
	require.ErrorContains(t, err, "never nested lists")
}

func TestPublicCase_PC_022_WhatIsJoinedOrPaddedIsTheConsumersOwn(t *testing.T) {
	p := profile(t, 2, 2, 64)
	rows := sample(t, p, 0, 4, 0)
	before := bytes.Clone(rows.Data)
	joined, err := routing.Join(routing.Turn{Rows: rows})
	require.NoError(t, err)
	padded, err := rows.Pad(0)
	require.NoError(t, err)
	for _, own := range []routing.Rows{joined, padded} {
		own.Data[0] ^= 0xff
		require.Equal(t, before, rows.Data)
	}
}

func TestPublicCase_PC_061_PromptRowsComeFromTheSideThatComputedThem(t *testing.T) {
	p := profile(t, 2, 2, 64)
	prefill, decode := sample(t, p, 0, 20, 0), sample(t, p, 20, 5, 1)
	merged, err := routing.MergePrefillDecode(prefill, decode, 20)
	require.NoError(t, err)
	require.Equal(t, slices.Concat(prefill.Data, decode.Data), merged.Data)
	_, err = routing.MergePrefillDecode(raw(t, p, 0), decode, 20)
	require.ErrorIs(t, err, auxerrors.ErrMismatch, "the prompt's rows were dropped on the way")
}

func TestPublicCase_PC_070_WhatTheClientHasIsNotSentAgain(t *testing.T) {
	const turns, growth = 100, 640
	sum := func(omit bool) (rows int) {
		for turn := 1; turn <= turns; turn++ {
			start := 0
			if omit {
				start = max((turn-1)*growth-1, 0) // the rows of the turns before
			}
			n, err := routing.RowCount(turn*growth, start)
			require.NoError(t, err)
			rows += n
		}
		return rows
	}
	require.Equal(t, turns*growth-1, sum(true))
	require.Equal(t, growth*turns*(turns+1)/2-turns, sum(false))
}
