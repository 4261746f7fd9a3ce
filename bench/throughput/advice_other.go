//go:build unix && !linux

package throughput

func advise(_, _ []byte, _ bool) {}
