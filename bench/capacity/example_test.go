package capacity_test

import (
	"fmt"

	"github.com/auxoutput/auxoutput/bench/capacity"
)

// A system prompt of two blocks is shared by three requests; the second one's
// own block passes by and never returns.
func Example() {
	requests := [][]uint32{{0, 1, 2}, {0, 1, 3}, {0, 1, 2}}

	var pass capacity.Pass
	for _, blocks := range requests {
		if err := pass.Add(blocks); err != nil {
			fmt.Println(err)
			return
		}
	}
	curve := pass.Curve()
	for _, blocks := range []int{1, 2, 3, 4} {
		fmt.Printf("%d blocks: %.2f\n", blocks, curve.HitRatio(blocks))
	}
	fmt.Println("smallest safe store beside 3 KV blocks:", curve.SafeSlots(3), "slots")
	// Output:
	// 1 blocks: 0.22
	// 2 blocks: 0.44
	// 3 blocks: 0.44
	// 4 blocks: 0.56
	// smallest safe store beside 3 KV blocks: 2 slots
}
