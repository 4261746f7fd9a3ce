package machine

import "golang.org/x/sys/unix"

// advise asks for huge pages, whole ones only, or for none. A kernel that does
// not take advice gives what it gives.
func advise(raw, bytes []byte, hugePages bool) {
	if !hugePages {
		_ = unix.Madvise(raw, unix.MADV_NOHUGEPAGE)
	} else if whole := bytes[:len(bytes)&^(hugePage-1)]; len(whole) > 0 {
		_ = unix.Madvise(whole, unix.MADV_HUGEPAGE)
	}
}
