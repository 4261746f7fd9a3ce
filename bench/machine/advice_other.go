//go:build unix && !linux

package machine

func advise(_, _ []byte, _ bool) {}
