package store

import (
	"math"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	auxerrors "github.com/auxoutput/auxoutput/errors"
)

func filesOf(files map[string]string) fstest.MapFS {
	system := fstest.MapFS{}
	for name, text := range files {
		system[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return system
}

func TestTheLowestLimitOfAControlGroupCounts(t *testing.T) {
	for name, tc := range map[string]struct {
		files map[string]string
		want  uint64
		file  string
	}{
		"no control groups": {map[string]string{}, math.MaxUint64, ""},
		"version 2, in a container": {map[string]string{
			"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "1073741824\n",
		}, 1 << 30, "sys/fs/cgroup/memory.max"},
		"version 2, a limit above": {map[string]string{
			"proc/self/cgroup":                         "0::/kubepods/pod1/worker\n",
			"sys/fs/cgroup/kubepods/pod1/memory.max":   "4096\n",
			"sys/fs/cgroup/kubepods/memory.max":        "8192\n",
			"sys/fs/cgroup/kubepods/pod1/worker/x.max": "1\n",
			"sys/fs/cgroup/kubepods/other/memory.max":  "1\n",
		}, 4096, "sys/fs/cgroup/kubepods/pod1/memory.max"},
		"version 2, no limit": {map[string]string{
			"proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/memory.max": "max\n",
		}, math.MaxUint64, ""},
		"version 1, with the path of the host": {map[string]string{
			"proc/self/cgroup":                           "9:name=systemd:/\n4:hugetlb,memory:/docker/0123\n0::/\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "65536\n",
		}, 65536, "sys/fs/cgroup/memory/memory.limit_in_bytes"},
		"a group outside of what can be seen": {map[string]string{
			"proc/self/cgroup": "0::/../../up\n", "sys/fs/cgroup/memory.max": "77\n",
		}, 77, "sys/fs/cgroup/memory.max"},
		"lines and numbers that are none": {map[string]string{
			"proc/self/cgroup": "\n4\n4:memory\n0::a:b\n", "sys/fs/cgroup/memory.max": "-1\n", "sys/fs/cgroup/a:b/memory.max": "",
		}, math.MaxUint64, ""},
	} {
		limit, file := groupLimit(filesOf(tc.files))
		require.Equal(t, tc.want, limit, name)
		require.Equal(t, tc.file, file, name)
	}
}

// TestABudgetBeyondTheLimitOfTheControlGroupIsRefusedIfItIsPopulated shows what the
// system says about control groups. A test that sets a real limit would need the
// right to make one, and beyond it the kernel kills: there is no error to be seen.
func TestABudgetBeyondTheLimitOfTheControlGroupIsRefusedIfItIsPopulated(t *testing.T) {
	before := systemFiles
	defer func() { systemFiles = before }()
	systemFiles = filesOf(map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "1048576"})
	options := Options{MaxBytes: 1 << 20, BlockBytes: 1 << 10, Populate: true}
	for range 3 {
		s, err := New(options)
		require.Nil(t, s)
		require.ErrorIs(t, err, auxerrors.ErrMemory)
		require.ErrorContains(t, err, "control group is 1048576 (/sys/fs/cgroup/memory.max)")
	}
	options.MaxBytes = 1 << 19
	s, err := New(options)
	require.NoError(t, err, "a budget below the limit, book-keeping included")
	require.NoError(t, s.Close())
	s, err = New(Options{MaxBytes: 1 << 30, BlockBytes: 1 << 10})
	require.NoError(t, err, "what is not populated may never be used")
	require.NoError(t, s.Close())
}
