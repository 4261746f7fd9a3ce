package store

import (
	"fmt"
	"io/fs"
	"math"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
)

// systemFiles is where the system tells about control groups. Where there are no
// such files there is no such limit.
var systemFiles = os.DirFS("/")

// checkGroupLimit returns an error if so many bytes can never be resident in the
// process's control groups. The kernel would not refuse them: it would kill the
// process once it has written to too many pages.
func checkGroupLimit(files fs.FS, bytes uint64) error {
	limit, file := groupLimit(files)
	if bytes > limit {
		return fmt.Errorf("populating %d bytes: the limit of the process's control group is %d (/%s)", bytes, limit, file)
	}
	return nil
}

// groupLimit is the lowest memory limit of the control groups that this process
// is in (cgroup v2 or v1, where they are usually mounted), and the file that says
// so. Without a limit it is the largest number there is.
func groupLimit(files fs.FS) (limit uint64, file string) {
	limit = math.MaxUint64
	groups, err := fs.ReadFile(files, "proc/self/cgroup")
	if err != nil {
		return limit, ""
	}
	for line := range strings.Lines(string(groups)) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3) // number, controllers, path
		if len(fields) != 3 {
			continue
		}
		mount, name := "", ""
		switch {
		case fields[1] == "":
			mount, name = "sys/fs/cgroup", "memory.max"
		case slices.Contains(strings.Split(fields[1], ","), "memory"):
			mount, name = "sys/fs/cgroup/memory", "memory.limit_in_bytes"
		default:
			continue
		}
		// A limit of any group above counts too. In a container the path may be that of
		// the host, of which only the mount's root can be seen.
		for group := path.Clean("/" + fields[2]); ; group = path.Dir(group) {
			at := path.Join(mount, group, name)
			if text, err := fs.ReadFile(files, at); err == nil {
				// "max" is no number, and no limit.
				if n, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64); err == nil && n < limit {
					limit, file = n, at
				}
			}
			if group == "/" {
				break
			}
		}
	}
	return limit, file
}
