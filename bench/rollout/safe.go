package rollout

import (
	"sort"

	"github.com/auxoutput/auxoutput/bench/trace"
	"github.com/auxoutput/auxoutput/routing"
)

// SmallestSafe is the least number of slots with which no request loses rows,
// found by bisection between 1 and most; most itself if even that is not safe.
// replay is called after each replay with the number done so far.
//
// Bisection is sound here because KV cache and store follow the same recency: as
// long as nothing was lost, a larger store holds all that a smaller one does.
func SmallestSafe(turns []trace.Turn, settings Settings, most int, replayed func(done int)) (int, error) {
	settings.Profile = routing.Profile{Layers: 1, TopK: 1, Experts: 256} // which rows does not matter
	var failure error
	done := 0
	slots := 1 + sort.Search(most-1, func(i int) bool {
		if failure != nil {
			return true
		}
		settings.Slots = 1 + i
		var result Result
		result, failure = Replay(turns, settings)
		done++
		replayed(done)
		return result.Safe()
	})
	return slots, failure
}
