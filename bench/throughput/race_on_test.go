//go:build race

package throughput

const raceDetector = true
