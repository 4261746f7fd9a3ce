package storetest

import (
	"slices"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/auxoutput/auxoutput/blockhash"
	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/store"
)

// leasePair is a lease of the store and the same lease of the model. What it holds may
// be released by batches, which draw from all that is retained.
type leasePair struct{ real, model Lease }

// mostLeases is how many leases are open at the same time: few, so that they meet.
const mostLeases = 3

// lease takes a lease, or uses or closes one.
func (mc *machine) lease(t *rapid.T) {
	at := rapid.IntRange(0, mostLeases-1).Draw(t, "lease")
	switch {
	case at >= len(mc.leases):
		mc.leases = append(mc.leases, leasePair{mc.real.(Leaser).TakeLease(), mc.model.TakeLease()})
	case rapid.IntRange(0, 3).Draw(t, "close") == 0:
		lease := mc.leases[at]
		mc.leases = slices.Delete(mc.leases, at, at+1)
		closeLease(t, lease)
	default:
		mc.useLease(t, mc.leases[at])
	}
}

func (mc *machine) useLease(t *rapid.T, lease leasePair) {
	switch rapid.SampledFrom([]string{"retain", "retain prefix", "publish", "release"}).Draw(t, "lease op") {
	case "retain":
		hashes := mc.drawPresent(t, "hashes", 3)
		sameReason(t, lease.model.Retain(hashes), lease.real.Retain(hashes))
	case "retain prefix":
		hashes := mc.drawPresent(t, "hashes", 4)
		want, wantErr := lease.model.RetainPrefix(hashes)
		got, err := lease.real.RetainPrefix(hashes)
		sameReason(t, wantErr, err)
		require.Equal(t, want, got)
	case "publish":
		var blocks []store.Block
		for _, hash := range drawHashes(t, "blocks", 3) {
			mc.tries++
			blocks = append(blocks, store.Block{Hash: hash, Rows: payload(hash, mc.tries, mc.blockBytes)})
		}
		want, wantErr := lease.model.Publish(blocks)
		got, err := lease.real.Publish(blocks)
		sameReason(t, wantErr, err)
		if !mc.model.Verify {
			got.Conflicts = 0
		}
		require.Equal(t, want, got)
	case "release":
		hashes := drawHeld(t, lease.model.(*modelLease))
		sameReason(t, lease.model.Release(hashes), lease.real.Release(hashes))
	}
	require.Equal(t, lease.model.Held(), lease.real.Held())
}

// drawHeld draws hashes that a lease holds, now and then one too many.
func drawHeld(t *rapid.T, lease *modelLease) (hashes []blockhash.Hash) {
	for _, hash := range lease.order {
		for range rapid.IntRange(0, lease.counts[hash]).Draw(t, "releases") {
			hashes = append(hashes, hash)
		}
	}
	if rapid.IntRange(0, 9).Draw(t, "too many") == 0 {
		hashes = append(hashes, drawHashes(t, "release too", 2)...)
	}
	return hashes
}

func closeLease(t *rapid.T, lease leasePair) {
	sameClose(t, lease.model.Close(), lease.real.Close())
	require.Zero(t, lease.real.Held())
	require.NoError(t, lease.real.Close(), "a second Close does nothing")
	require.ErrorIs(t, lease.real.Retain(nil), auxerrors.ErrClosed)
}

// sameClose compares what two leases told of what was gone: the first hash.
func sameClose(t require.TestingT, want, got error) {
	sameReason(t, want, got)
	var model, typed *auxerrors.BlockObjectStoreError
	if want != nil {
		require.ErrorAs(t, want, &model)
		require.ErrorAs(t, got, &typed)
		require.Equal(t, model.Hash, typed.Hash, "the first hash that was gone")
	}
}
