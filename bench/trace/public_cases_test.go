package trace

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// The case is told in full by TestIdsThatAreLocalToASessionAreNotShared.
func TestPublicCase_PC_107_SessionsWithTheirOwnIdsShareNothing(t *testing.T) {
	line := `{"timestamp":%d,"session_id":%d,"input_length":160,"output_length":1,"hash_ids":[0,1,2,3,4,5,6,7,8,9]}` + "\n"
	requests, r := mustRead(t, fmt.Sprintf(line, 0, 1)+fmt.Sprintf(line, 1, 2), Options{Scope: Local})
	require.Equal(t, 20, r.UniqueBlocks())
	for i, block := range requests[1].Blocks {
		require.EqualValues(t, 10+i, block)
	}
}
