package machine

import (
	"os"
	"strconv"
	"strings"
)

// Resident is the resident memory of this process in bytes, now and the most that
// it ever was; zeros where the system does not tell.
func Resident() (now, peak int64) {
	fields := kibibytes("/proc/self/status")
	return fields["VmRSS"], fields["VmHWM"]
}

// Available is the memory in bytes that the machine can give without swapping, 0
// where the system does not tell.
func Available() int64 { return kibibytes("/proc/meminfo")["MemAvailable"] }

// kibibytes reads the lines of a file of the kernel's that say "name: number kB",
// as bytes.
func kibibytes(file string) map[string]int64 {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	fields := map[string]int64{}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		number, isSize := strings.CutSuffix(strings.TrimSpace(value), " kB")
		if kib, err := strconv.ParseInt(number, 10, 64); isSize && err == nil {
			fields[name] = kib << 10
		}
	}
	return fields
}
