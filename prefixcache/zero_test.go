package prefixcache_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/blockhash"
	"github.com/auxoutput/auxoutput/prefixcache"
)

func TestTheZeroCacheHasNoBlocks(t *testing.T) {
	var c prefixcache.Cache
	require.Empty(t, c.AppendFreeList(nil))
	require.Zero(t, c.FreeBlocks())
	require.Zero(t, c.Keys())
	require.Zero(t, c.EvictHash(blockhash.Hash{}))
	require.False(t, c.Contains(blockhash.Hash{}, 0))
	require.Error(t, c.EvictBlocks(0))
	var r prefixcache.Request
	_, _, err := c.Admit(&r, 1, 1)
	require.Error(t, err)
	_, err = c.Allocate(&r, 1, 0)
	require.Error(t, err)
	require.Error(t, c.Free(&r))
}
