package capacity

// Order is the order in which a store touches the blocks of a request.
type Order int

const (
	// TailFirst touches the last block first, so that the head ends newest, as
	// in the KV cache.
	TailFirst Order = iota
	// HeadFirst touches the first block first, so that heads age before tails.
	HeadFirst
)

// String is "tail-first" or "head-first".
func (o Order) String() string {
	if o == HeadFirst {
		return "head-first"
	}
	return "tail-first"
}

// Regime is what happens to a hit block whose rows are absent.
type Regime int

const (
	// FailClosed fails the request; the absent rows stay absent, since nothing
	// computes them.
	FailClosed Regime = iota
	// Recompute runs the forward pass again, which publishes the absent rows.
	Recompute
)

// String is "fail" or "recompute".
func (r Regime) String() string {
	if r == Recompute {
		return "recompute"
	}
	return "fail"
}

// Store describes a store of rows beside a KV cache.
type Store struct {
	Slots  int // blocks it holds
	Order  Order
	Regime Regime

	// IgnoreHits leaves the blocks of a hit alone: they are neither touched
	// nor, when absent, published again, whatever the regime. That is a client
	// that asks for the rows of new tokens only, and a store that is not told
	// of the others.
	IgnoreHits bool
}

// Outcome is what became of a store's requests.
type Outcome struct {
	Store
	Hits int // requests with a KV hit of at least one block
	Lost int // of these, the ones with a hit block that the store had not
}

// LostShare is Lost / Hits, 0 if there was no hit.
func (o Outcome) LostShare() float64 {
	if o.Hits == 0 {
		return 0
	}
	return float64(o.Lost) / float64(o.Hits)
}
