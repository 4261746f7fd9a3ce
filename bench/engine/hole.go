package engine

import (
	"errors"

	"github.com/auxoutput/auxoutput/connector"
	auxerrors "github.com/auxoutput/auxoutput/errors"
)

// Hole names the known hole of the reference that a failing run in its mode shows,
// as far as that follows from how it failed; "" for any other failure.
//
//	H1  rows of hashes that were merely retained outlive rows the KV cache can hit
//	H2  the same rows leave no room for those of a request that the KV cache took
//	H3  a block that a stop token completed in flight is stored, and the KV cache
//	    has no such block
//	H4  an id comes back before its end was announced
//	H5  a block that was computed again has the rows of the older computation
//	H6  hash blocks of a KV block that is never complete are stored all the same
func Hole(s Scenario, report Report, err error) string {
	switch {
	case s.Config.Mode != connector.Reference || err == nil:
		return ""
	case errors.Is(err, connector.ErrRunAndFinish):
		return "H4"
	case errors.Is(err, ErrWrong):
		return "H5"
	case errors.Is(err, auxerrors.ErrCannotFit):
		return "H2"
	case !errors.Is(err, ErrLost):
		return ""
	case report.Aborted > 1 || report.Preemptions > 0 || report.Resets > 0: // the lost request itself is aborted
		return "H1"
	case s.Config.KVTokens > s.Config.HashTokens:
		return "H6"
	case s.Config.Lag && s.Config.ChunkTokens == 0:
		return "H3"
	}
	return "H1"
}
