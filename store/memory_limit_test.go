//go:build linux

package store_test

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/store"
)

// limitedProcess marks the process of this test binary whose address space is
// limited.
const limitedProcess = "AUXOUTPUT_TEST_LIMITED_PROCESS"

// TestAMemoryLimitThatIsReachedIsATypedErrorAndNoCrash runs itself in a process of
// its own, as a limit cannot be raised again.
func TestAMemoryLimitThatIsReachedIsATypedErrorAndNoCrash(t *testing.T) {
	if raceEnabled {
		t.Skip("LOUD: the race detector needs an address space without limit, and blocks are in the Go heap there")
	}
	if os.Getenv(limitedProcess) == "" {
		command := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
		command.Env = append(os.Environ(), limitedProcess+"=1")
		output, err := command.CombinedOutput()
		require.NoError(t, err, "%s", output)
		require.Contains(t, string(output), "--- PASS: "+t.Name())
		return
	}
	const (
		spare  = 384 << 20 // what the process may still get: more than the runtime needs
		beyond = 1 << 30
		within = 64 << 20
		block  = 64 << 10
	)
	limit := unix.Rlimit{Cur: uint64(resident(t, "VmSize")) + spare}
	limit.Max = limit.Cur
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_AS, &limit))

	for _, tc := range []struct {
		name    string
		options store.Options
		text    string
	}{
		{"the blocks are too many", store.Options{MaxBytes: beyond, BlockBytes: block}, "blocks: mapping"},
		{"the blocks are too many to populate", store.Options{MaxBytes: beyond, BlockBytes: block, Populate: true}, "blocks: mapping"},
		{"without huge pages", store.Options{MaxBytes: beyond, BlockBytes: block, NoHugePages: true}, "blocks: mapping"},
		{"the blocks fit and their book-keeping does not", store.Options{MaxBytes: within, BlockBytes: 8}, "book-keeping: mapping"},
	} {
		// What a refusal left behind would add up, and then be refused earlier.
		for range 50 {
			s, err := store.New(tc.options)
			require.Nil(t, s, tc.name)
			require.ErrorIs(t, err, auxerrors.ErrMemory, tc.name)
			var typed *auxerrors.BlockObjectStoreError
			require.ErrorAs(t, err, &typed, tc.name)
			require.Equal(t, "new", typed.Op, tc.name)
			require.EqualValues(t, tc.options.MaxBytes/int64(tc.options.BlockBytes), typed.Limit, tc.name)
			require.Contains(t, typed.Detail, tc.text, tc.name)
			require.NotEmpty(t, typed.Advice, tc.name)
		}
	}

	// What fits is not harmed by what did not.
	s, err := store.New(store.Options{MaxBytes: within, BlockBytes: block, Populate: true})
	require.NoError(t, err)
	rows := rowsFor(1, 0, block)
	_, err = s.Put(store.Batch{Blocks: []store.Block{{Hash: hashOf(1), Rows: rows}}})
	require.NoError(t, err)
	got, err := s.Get(nil, hashesOf(1))
	require.NoError(t, err)
	require.Equal(t, rows, got)
	require.NoError(t, s.Close())
}
