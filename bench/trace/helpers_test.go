package trace

import (
	"slices"
	"strings"

	"github.com/stretchr/testify/require"
)

// readAll reads a text to its end or to the first error.
func readAll(text string, options Options) ([]Request, *Reader, error) {
	r, err := NewReader(strings.NewReader(text), "f", options)
	if err != nil {
		return nil, nil, err
	}
	var requests []Request
	for request, err := range r.All() {
		if err != nil {
			return requests, r, err
		}
		kept := *request
		kept.Blocks = slices.Clone(request.Blocks)
		requests = append(requests, kept)
	}
	return requests, r, nil
}

func mustRead(t require.TestingT, text string, options Options) ([]Request, *Reader) {
	requests, r, err := readAll(text, options)
	require.NoError(t, err)
	return requests, r
}
