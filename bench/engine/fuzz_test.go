package engine

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/auxoutput/auxoutput/connector"
	auxerrors "github.com/auxoutput/auxoutput/errors"
)

// small reports whether a scenario is over soon enough for a fuzzer.
func small(s *Scenario) bool {
	c, work := s.Config, 0
	for _, job := range s.Jobs {
		if job.Arrival > 100 || job.Output > 100 || len(job.Prompt) > 500 {
			return false
		}
		work += len(job.Prompt) + max(job.Output, 0)
	}
	return work <= 2000 && len(s.Jobs) <= 40 && c.KVBlocks <= 200 && c.Requests <= 50 && c.BatchTokens <= 500 &&
		c.Drafts <= 20 && c.OffloadBlocks <= 200 && len(c.Windows) <= 4 && c.Profile.Layers <= 8 && c.Profile.TopK <= 8
}

// FuzzScenario reads what may be anything. What is read stays the same in another
// round of writing and reading, and what is small is run: no row is ever wrong, and
// with the default budget none is lost but in the mode of the reference.
func FuzzScenario(f *testing.F) {
	files, err := filepath.Glob("testdata/*.json")
	require.NoError(f, err)
	require.NotEmpty(f, files)
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(f, err)
		f.Add(data)
	}
	for _, text := range hostileScenarios {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := ParseScenario(data)
		if err != nil {
			require.Nil(t, s)
			require.NotEmpty(t, err.Error())
			return
		}
		written, err := json.Marshal(s)
		require.NoError(t, err)
		again, err := ParseScenario(written)
		require.NoError(t, err)
		rewritten, err := json.Marshal(again)
		require.NoError(t, err)
		require.Equal(t, string(written), string(rewritten))
		if !small(s) {
			return
		}
		_, err = s.Run()
		require.NotErrorIs(t, err, ErrWrong)
		if s.Config.Slots == 0 && s.Config.Mode != connector.Reference {
			for _, never := range []error{ErrLost, ErrLeak, auxerrors.ErrCannotFit} {
				if errors.Is(err, never) {
					t.Fatalf("with the default budget: %v", err)
				}
			}
		}
	})
}
