package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/auxoutput/auxoutput/bench/throughput"
)

// contestants are the store, the limits and the peers, in the order of the
// tables.
func contestants() []throughput.Contestant {
	return append(throughput.Own(),
		throughput.Contestant{Name: "golang-lru", Make: newGolangLRU},
		throughput.Contestant{Name: "otter", Make: newOtter},
		throughput.Contestant{Name: "ristretto", Make: newRistretto},
		throughput.Contestant{Name: "theine", Make: newTheine},
		throughput.Contestant{Name: "fastcache", Make: newFastcache},
		throughput.Contestant{Name: "freecache", Make: newFreecache},
		throughput.Contestant{Name: "bigcache", Make: newBigcache},
	)
}

func find(name string) (throughput.Contestant, error) {
	all := contestants()
	i := slices.IndexFunc(all, func(c throughput.Contestant) bool { return c.Name == name })
	if i < 0 {
		return throughput.Contestant{}, fmt.Errorf("no peer %q: there are %s", name, strings.Join(names(), ", "))
	}
	return all[i], nil
}

func names() []string {
	var names []string
	for _, c := range contestants() {
		names = append(names, c.Name)
	}
	return names
}

// chosen are the names in a list, or all. The limit is not among them: each of
// them has it at its side.
func chosen(list string) ([]string, error) {
	var picked []string
	for _, name := range names() {
		if list == "" && name != throughput.LimitName {
			picked = append(picked, name)
		}
	}
	if list == "" {
		return picked, nil
	}
	for _, name := range strings.Split(list, ",") {
		name = strings.TrimSpace(name)
		if _, err := find(name); err != nil {
			return nil, err
		}
		if name == throughput.LimitName || slices.Contains(picked, name) {
			return nil, fmt.Errorf("%q: name each peer once, and leave out the limit, which each has at its side", name)
		}
		picked = append(picked, name)
	}
	return picked, nil
}
