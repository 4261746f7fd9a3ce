module github.com/auxoutput/auxoutput/bench/peers

go 1.26.0

replace github.com/auxoutput/auxoutput => ../..

require (
	github.com/VictoriaMetrics/fastcache v1.13.2 // indirect
	github.com/Yiling-J/theine-go v0.6.3 // indirect
	github.com/allegro/bigcache/v3 v3.1.0 // indirect
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/coocood/freecache v1.2.7 // indirect
	github.com/dgraph-io/ristretto/v2 v2.4.2 // indirect
	github.com/dustin/go-humanize v1.0.1 // indirect
	github.com/golang/snappy v1.0.0 // indirect
	github.com/hashicorp/golang-lru/v2 v2.0.7 // indirect
	github.com/klauspost/cpuid/v2 v2.0.9 // indirect
	github.com/maypok86/otter/v2 v2.4.0 // indirect
	github.com/zeebo/xxh3 v1.0.2 // indirect
	golang.org/x/sys v0.36.0 // indirect
)
