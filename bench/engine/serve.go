package engine

import (
	"errors"
	"iter"
	"sort"

	"github.com/auxoutput/auxoutput/routing"
)

// Serve keeps an engine busy with jobs, as many at a time as it runs, until all
// are through, and makes sure that nothing is left behind. submitted is called
// for each job. Lost rows and wrong rows are in the report, not an error.
func Serve(cfg Config, jobs iter.Seq2[*Job, error], submitted func()) (report Report, err error) {
	e, err := New(cfg)
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	for job, err := range jobs {
		if err != nil {
			return e.Report(), err
		}
		for e.Live() >= cfg.Requests {
			if err := e.Step(); err != nil {
				return e.Report(), err
			}
		}
		if err := e.Submit(job); err != nil {
			return e.Report(), err
		}
		submitted()
	}
	for e.Busy() {
		if err := e.Step(); err != nil {
			return e.Report(), err
		}
	}
	return e.Report(), e.CheckIdle()
}

// SmallestSafe is the least number of slots with which no request loses rows,
// found by bisection between 1 and most; most itself if even that is not safe.
//
// Bisection is sound because KV cache and store follow the same recency: as long
// as nothing was lost, a larger store holds all that a smaller one does.
func SmallestSafe(cfg Config, jobs iter.Seq2[*Job, error], most int) (int, error) {
	cfg.Profile = routing.Profile{Layers: 1, TopK: 1, Experts: 256} // which rows does not matter
	var failure error
	slots := 1 + sort.Search(most-1, func(i int) bool {
		if failure != nil {
			return true
		}
		cfg.Slots = 1 + i
		var report Report
		report, failure = Serve(cfg, jobs, func() {})
		return report.Safe()
	})
	return slots, failure
}
