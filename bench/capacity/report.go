package capacity

import (
	"errors"
	"fmt"
	"math"
	"math/bits"

	"github.com/auxoutput/auxoutput/bench/trace"
	auxerrors "github.com/auxoutput/auxoutput/errors"
	"github.com/auxoutput/auxoutput/routing"
	"github.com/auxoutput/auxoutput/routing/model"
)

// Settings say what [Measure] reports about a trace. The zero value gives the
// hit curve at powers of two.
type Settings struct {
	Capacities []int // in blocks; powers of two up to the unique blocks if empty

	// Profile turns blocks into bytes; nil leaves bytes out. Model is told in
	// the report, and compares rows with its KV cache.
	Profile *routing.Profile
	Model   *model.Model

	KVBlocks   int      // size of the KV cache; 0 for no stores
	Slots      []int    // stores beside it
	Order      Order    // of these stores
	Regimes    []Regime // what they do on loss
	IgnoreHits bool     // whether they are not told of hits
}

// Report is what a replay of a trace found. Its JSON form is the command's
// machine output; sizes are in blocks, tokens and bytes, shares from 0 to 1.
type Report struct {
	Format          string `json:"format"`
	Requests        int    `json:"requests"`
	Sessions        int    `json:"sessions,omitempty"`
	InputTokens     int64  `json:"input_tokens"`
	OutputTokens    int64  `json:"output_tokens"`
	BlockReferences int64  `json:"block_references"`
	UniqueBlocks    int    `json:"unique_blocks"`
	InventedBlocks  bool   `json:"invented_blocks"`

	// Requests whose arrival the trace leaves to the order of the file, and whose
	// output it does not tell: see [trace.Gaps]. Neither bears on the curve.
	ArrivalsAssumed int `json:"arrivals_assumed,omitempty"`
	OutputsUnknown  int `json:"outputs_unknown,omitempty"`

	BlockTokens int    `json:"block_tokens,omitempty"` // 0: the file leaves it open
	LastBlock   string `json:"last_block,omitempty"`
	Model       string `json:"model,omitempty"`
	Profile     string `json:"profile,omitempty"` // layers,top-k,experts
	RowBytes    int    `json:"row_bytes,omitempty"`
	BlockBytes  int    `json:"block_bytes,omitempty"`
	KVBytes     int64  `json:"kv_bytes_per_token,omitempty"`

	Ceiling float64  `json:"infinite_hit_ratio"`
	Curve   []Point  `json:"curve"`
	Targets []Target `json:"targets,omitempty"`

	Beside *BesideReport `json:"store,omitempty"`
}

// Size is a number of blocks in all the units that are known.
type Size struct {
	Blocks int   `json:"blocks"`
	Tokens int64 `json:"tokens,omitempty"`
	Bytes  int64 `json:"bytes,omitempty"`
}

// Point is the hit curve at one capacity.
type Point struct {
	Size
	HitRatio        float64 `json:"hit_ratio"`
	ShareOfCeiling  float64 `json:"share_of_ceiling"`
	RequestsWithHit int     `json:"requests_with_hit"`
}

// Target is the least capacity for a share of the infinite cache's hits.
type Target struct {
	Share float64 `json:"share_of_ceiling"`
	Size
}

// BesideReport is about stores beside a KV cache.
type BesideReport struct {
	KV         Size          `json:"kv"`
	Order      string        `json:"order"`
	TouchOnHit bool          `json:"touch_on_hit"`
	Hits       int           `json:"requests_with_hit"`
	Stores     []StoreReport `json:"stores"`

	// Safe is the least store that loses nothing, told of hits and tail first.
	Safe Size `json:"smallest_safe"`
}

// StoreReport is about one store, whose blocks are slots and whose bytes are its
// max_bytes. Lost is by regime: "fail", "recompute".
type StoreReport struct {
	Size
	Fraction float64         `json:"fraction"` // of the KV cache's blocks
	Lost     map[string]Loss `json:"lost"`
}

// Loss counts the requests with a KV hit of which rows were absent.
type Loss struct {
	Requests int     `json:"requests"`
	Share    float64 `json:"share_of_hits"`
}

// targetShares are the shares of the ceiling for which a capacity is named.
var targetShares = []float64{0.5, 0.9, 0.99, 1}

// Measure replays a trace once and reports the hit curve and, if there is a KV
// cache in the settings, the stores beside it.
//
// Damage in the file is a [*trace.Error], a size out of range a
// [auxerrors.ConfigError]; so is a profile for a trace whose block size neither
// its lines nor the reader's options tell.
func Measure(r *trace.Reader, settings Settings) (*Report, error) {
	for _, capacity := range settings.Capacities {
		if err := checkSize("capacity", capacity); err != nil {
			return nil, err
		}
	}
	var beside *Beside
	if settings.KVBlocks != 0 {
		var err error
		if beside, err = NewBeside(settings.KVBlocks, settings.stores()...); err != nil {
			return nil, err
		}
	}
	report, pass := &Report{Format: r.Format().String(), InventedBlocks: r.Format().InventsBlocks()}, Pass{}
	for request, err := range r.All() {
		if err == nil {
			err = pass.Add(request.Blocks)
		}
		if err == nil && beside != nil {
			err = beside.Add(request.Blocks)
		}
		if err != nil {
			return nil, err
		}
		report.InputTokens += int64(request.InputTokens)
		report.OutputTokens += int64(request.OutputTokens)
	}
	report.Sessions = r.Sessions()
	report.ArrivalsAssumed, report.OutputsUnknown = r.Gaps().Arrivals, r.Gaps().Outputs
	if err := report.setSizes(r.Layout(), settings); err != nil {
		return nil, err
	}
	curve := pass.Curve()
	report.setCurve(curve, settings.Capacities)
	if beside != nil {
		report.setBeside(curve, beside, settings)
	}
	return report, nil
}

// stores lists one store for each number of slots and each regime.
func (s Settings) stores() []Store {
	var stores []Store
	for _, slots := range s.Slots {
		for _, regime := range s.Regimes {
			stores = append(stores, Store{Slots: slots, Order: s.Order, Regime: regime, IgnoreHits: s.IgnoreHits})
		}
	}
	return stores
}

// bfloat16 is the width of a value of the KV cache that rows are compared with.
const bfloat16 = 2

// setSizes fixes what a block is in tokens and bytes.
func (r *Report) setSizes(layout trace.Layout, settings Settings) error {
	if r.BlockTokens = layout.BlockTokens; r.BlockTokens > 0 && !r.InventedBlocks {
		r.LastBlock = layout.LastBlock.String()
	}
	if settings.Model != nil {
		var err error
		if r.KVBytes, err = settings.Model.KVBytesPerToken(bfloat16, 1); err != nil && !errors.Is(err, model.ErrUnknown) {
			return err
		}
		r.Model = settings.Model.Name
	}
	if settings.Profile == nil {
		return nil
	}
	if r.BlockTokens == 0 {
		return &auxerrors.ConfigError{Field: "block tokens", Value: "not told by the trace", Want: "a stated block size", Reason: auxerrors.ErrMismatch}
	}
	var err error
	if r.BlockBytes, err = settings.Profile.BlockBytes(r.BlockTokens); err != nil {
		return err
	}
	r.Profile, r.RowBytes = settings.Profile.String(), settings.Profile.RowBytes()
	return nil
}

// size gives a number of blocks in every known unit. Both factors are below
// [MaxSize], so the products fit.
func (r *Report) size(blocks int) Size {
	return Size{
		Blocks: blocks,
		Tokens: int64(blocks) * int64(r.BlockTokens),
		Bytes:  int64(blocks) * int64(r.BlockBytes),
	}
}

func (r *Report) setCurve(curve *Curve, capacities []int) {
	r.Requests, r.BlockReferences = curve.Requests(), curve.References()
	r.UniqueBlocks, r.Ceiling = curve.UniqueBlocks(), curve.Ceiling()
	if len(capacities) == 0 {
		capacities = defaultCapacities(curve.UniqueBlocks())
	}
	r.Curve = make([]Point, len(capacities))
	for i, capacity := range capacities {
		r.Curve[i] = Point{
			Size:            r.size(capacity),
			HitRatio:        curve.HitRatio(capacity),
			ShareOfCeiling:  curve.ShareOfCeiling(capacity),
			RequestsWithHit: curve.RequestsWithHit(capacity),
		}
	}
	if curve.HitBlocks(curve.UniqueBlocks()) == 0 {
		return // any capacity reaches any share of nothing
	}
	for _, share := range targetShares {
		r.Targets = append(r.Targets, Target{Share: share, Size: r.size(curve.Smallest(share))})
	}
}

// defaultCapacities are the ten last powers of two below the number of unique
// blocks, and that number.
func defaultCapacities(unique int) []int {
	const shown = 10
	if unique == 0 {
		return nil
	}
	var capacities []int
	last := bits.Len(uint(unique-1)) - 1 // 2^last < unique
	for power := max(0, last-shown+1); power <= last; power++ {
		capacities = append(capacities, 1<<power)
	}
	return append(capacities, unique)
}

func (r *Report) setBeside(curve *Curve, beside *Beside, settings Settings) {
	b := &BesideReport{
		KV:         r.size(settings.KVBlocks),
		Order:      settings.Order.String(),
		TouchOnHit: !settings.IgnoreHits,
		Hits:       curve.RequestsWithHit(settings.KVBlocks),
		Safe:       r.size(curve.SafeSlots(settings.KVBlocks)),
	}
	outcomes := beside.Outcomes()
	for i, slots := range settings.Slots {
		store := StoreReport{
			Size:     r.size(slots),
			Fraction: float64(slots) / float64(settings.KVBlocks),
			Lost:     make(map[string]Loss, len(settings.Regimes)),
		}
		for _, o := range outcomes[i*len(settings.Regimes):][:len(settings.Regimes)] {
			store.Lost[o.Regime.String()] = Loss{Requests: o.Lost, Share: o.LostShare()}
		}
		b.Stores = append(b.Stores, store)
	}
	r.Beside = b
}

// SlotsOf is the number of slots of a store that holds a fraction of a KV cache's
// blocks, rounded down. A fraction that is no number, not above 0, or leaves no
// slot or more than [MaxSize] is a [auxerrors.ConfigError].
func SlotsOf(kvBlocks int, fraction float64) (int, error) {
	if !(fraction > 0) {
		return 0, &auxerrors.ConfigError{Field: "store fraction", Value: fraction, Want: "above 0", Reason: auxerrors.ErrTooSmall}
	}
	// A fraction like 0.29 is a little below what was written: a millionth of a
	// block is added, lest 0.29 of 100 blocks be 28.
	slots := math.Floor(float64(kvBlocks)*fraction + 1e-6)
	switch {
	case slots < 1:
		return 0, &auxerrors.ConfigError{Field: "store fraction", Value: fraction, Want: fmt.Sprintf("at least one of %d blocks", kvBlocks), Reason: auxerrors.ErrTooSmall}
	case slots > MaxSize:
		return 0, &auxerrors.ConfigError{Field: "store fraction", Value: fraction, Want: fmt.Sprintf("at most %d slots", MaxSize), Reason: auxerrors.ErrTooLarge}
	}
	return int(slots), nil
}
