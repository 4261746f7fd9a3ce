package routing_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/routing"
)

func TestEveryCheckFindsTheFirstWrongIdAndCanBeSwitchedOff(t *testing.T) {
	narrow, wide, large := profile(t, 2, 3, 64), profile(t, 2, 3, 300), profile(t, 2, 20, 300)
	for _, tc := range []struct {
		name  string
		p     routing.Profile
		spoil func(r routing.Rows)
		check routing.Checks
		want  routing.IDError
	}{
		{"an id that is no expert", narrow, func(r routing.Rows) { r.Row(2)[4] = 64 }, routing.Checks{Range: true},
			routing.IDError{Reason: auxerrors.ErrOutOfRange, Position: 12, Layer: 1, Slot: 1, ID: 64, Experts: 64}},
		{"a wide id that is no expert", wide, func(r routing.Rows) { r.Row(2)[9] = 2 }, routing.Checks{Range: true},
			routing.IDError{Reason: auxerrors.ErrOutOfRange, Position: 12, Layer: 1, Slot: 1, ID: 592, Experts: 300}},
		{"an expert twice", narrow, func(r routing.Rows) { r.Row(1)[5] = r.Row(1)[3] }, routing.Checks{Distinct: true},
			routing.IDError{Reason: routing.ErrDuplicate, Position: 11, Layer: 1, Slot: 2, ID: (11*31 + 7) % 64, Experts: 64}},
		{"a wide expert twice", wide, func(r routing.Rows) { copy(r.Row(1)[4:6], r.Row(1)[0:2]) }, routing.Checks{Distinct: true},
			routing.IDError{Reason: routing.ErrDuplicate, Position: 11, Layer: 0, Slot: 2, ID: 11 * 31 % 300, Experts: 300}},
		{"an expert twice among many", large, func(r routing.Rows) { copy(r.Row(3)[78:80], r.Row(3)[40:42]) }, routing.Checks{Distinct: true},
			routing.IDError{Reason: routing.ErrDuplicate, Position: 13, Layer: 1, Slot: 19, ID: (13*31 + 7) % 300, Experts: 300}},
		{"a layer that nobody captured", narrow, func(r routing.Rows) {
			for i := range r.Len() {
				clear(r.Row(i)[3:6])
			}
		}, routing.Checks{ZeroLayers: true},
			routing.IDError{Reason: routing.ErrZeroLayer, Position: -1, Layer: 1, Slot: -1, Experts: 64}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := sample(t, tc.p, 10, 5, 0)
			require.NoError(t, routing.AllChecks.Check(r))
			tc.spoil(r)
			var got *routing.IDError
			require.ErrorAs(t, tc.check.Check(r), &got)
			require.Equal(t, tc.want, *got)
			require.ErrorIs(t, got, tc.want.Reason)
			require.Error(t, routing.AllChecks.Check(r))

			off := routing.AllChecks
			off.Range = off.Range && !tc.check.Range
			off.Distinct = !tc.check.Distinct && !tc.check.ZeroLayers // zeros repeat
			off.ZeroLayers = !tc.check.ZeroLayers
			require.NoError(t, off.Check(r))
		})
	}
}

func TestTheLargestIdsAreExperts(t *testing.T) {
	for _, tc := range []struct{ experts, id int }{{256, 255}, {255, 254}, {512, 511}, {65536, 65535}, {65535, 65534}} {
		p := profile(t, 1, 1, tc.experts)
		r := raw(t, p, 0, []byte{byte(tc.id), byte(tc.id >> 8)}[:p.ItemBytes()]...)
		require.NoError(t, routing.Checks{Range: true}.Check(r), "%+v", tc)
		require.Equal(t, tc.id, r.At(0, 0, 0))
	}
}

func TestExemptLayersMayRepeatIdsAndBeZero(t *testing.T) {
	r := sample(t, profile(t, 3, 2, 64), 0, 4, 0)
	for i := range 4 {
		clear(r.Row(i)[2:4])
	}
	require.ErrorIs(t, routing.AllChecks.Check(r), routing.ErrZeroLayer)
	exempt := routing.AllChecks
	exempt.Exempt = []int{1}
	require.NoError(t, exempt.Check(r))
	r.Row(2)[0] = 200
	require.ErrorIs(t, exempt.Check(r), auxerrors.ErrOutOfRange, "the range holds everywhere")
}

func TestZerosWithTopOneAreSuspectedFromManyRowsOn(t *testing.T) {
	check := routing.Checks{ZeroLayers: true}
	p := profile(t, 2, 1, 16)
	require.NoError(t, check.Check(raw(t, p, 0)))
	require.NoError(t, check.Check(raw(t, p, 0, make([]byte, 2*63)...)))
	require.ErrorIs(t, check.Check(raw(t, p, 0, make([]byte, 2*64)...)), routing.ErrZeroLayer)
	require.NoError(t, check.Check(raw(t, profile(t, 2, 1, 1), 0, make([]byte, 2*64)...)), "the only expert is 0")
}

func TestRowsOfNoProfileAreNotChecked(t *testing.T) {
	require.ErrorIs(t, routing.Checks{}.Check(routing.Rows{}), auxerrors.ErrTooSmall)
}

func TestCheckingAllocatesNothing(t *testing.T) {
	r := sample(t, profile(t, 48, 8, 128), 0, 100, 0)
	require.Zero(t, testing.AllocsPerRun(10, func() { _ = routing.AllChecks.Check(r) }))
}

func ExampleChecks() {
	p, _ := routing.NewProfile(1, 4, 64)
	rows, _ := routing.NewRows(p, 0, []byte{5, 5, 1, 2})
	fmt.Println(routing.AllChecks.Check(rows))
	fmt.Println(routing.Checks{Range: true}.Check(rows)) // layers routed by a hash may repeat ids
	// Output:
	// auxoutput: expert occurs twice in one top-k: position 0, layer 0, slot 1: id 5 of 64 experts
	// <nil>
}
