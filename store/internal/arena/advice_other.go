//go:build unix && !linux && !race

package arena

// noReserve is nothing: the other systems overcommit without being asked to.
const noReserve = 0

// adviseHugePages does nothing: the other systems choose page sizes themselves.
func adviseHugePages([]byte) {}

// adviseNoDump does nothing: of the other systems only some can be asked.
func adviseNoDump([]byte) {}

func populate(b []byte) error {
	touchPages(b)
	return nil
}
