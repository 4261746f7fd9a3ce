package routing

import (
	"fmt"
	"io"
	"slices"

	auxerrors "github.com/auxoutput/auxoutput/errors"
)

// LayerMap relates the two layouts of a model's layers: those with experts only, and
// all hidden layers with zeros for the dense ones. DeepSeek-V3, say, has 58 layers
// with experts behind 3 dense ones. Who sends which is told in
// docs/rl.md#how-many-layers-a-row-has.
//
// The layout of all layers is an array of shape (rows, All, top-k). Layer j of
// the rows is its layer MoE[j]; every other layer is dense, and all zero.
type LayerMap struct {
	All int   // hidden layers
	MoE []int // those that have experts, ascending
}

// NewLayerMap checks the parts: at least one layer has experts, they are ascending
// and below all, and all is at most 65,536; else it is an [auxerrors.ConfigError].
func NewLayerMap(all int, moe []int) (LayerMap, error) {
	m := LayerMap{All: all, MoE: slices.Clone(moe)}
	return m, m.validate()
}

// LayersFrom is the map of a model whose layers have experts from layer first on,
// as with first_k_dense_replace in the configuration of DeepSeek's models. 0 is a
// model without dense layers.
func LayersFrom(first, all int) (LayerMap, error) {
	if first < 0 || first >= all {
		return LayerMap{}, &auxerrors.ConfigError{Field: "first layer with experts", Value: first, Want: fmt.Sprintf("0 <= first < %d layers", all), Reason: auxerrors.ErrOutOfRange}
	}
	if all > maxAllLayers {
		return LayerMap{}, tooManyLayers(all)
	}
	m := LayerMap{All: all, MoE: make([]int, all-first)}
	for j := range m.MoE {
		m.MoE[j] = first + j
	}
	return m, nil
}

// maxAllLayers is more layers than any model has, and so few that a list of them
// takes no memory to speak of.
const maxAllLayers = 1 << 16

func tooManyLayers(all int) error {
	return &auxerrors.ConfigError{Field: "layers", Value: all, Want: fmt.Sprintf("at most %d", maxAllLayers), Reason: auxerrors.ErrTooLarge}
}

func (m LayerMap) validate() error {
	if m.All > maxAllLayers {
		return tooManyLayers(m.All)
	}
	if len(m.MoE) == 0 {
		return &auxerrors.ConfigError{Field: "layers with experts", Value: 0, Want: "at least 1", Reason: auxerrors.ErrTooSmall}
	}
	last := -1
	for _, layer := range m.MoE {
		if layer <= last || layer >= m.All {
			return &auxerrors.ConfigError{Field: "layer with experts", Value: layer, Want: fmt.Sprintf("above %d and below %d layers", last, m.All), Reason: auxerrors.ErrOutOfRange}
		}
		last = layer
	}
	return nil
}

// check says whether the map is right and fits a profile.
func (m LayerMap) check(p Profile) error {
	if err := m.validate(); err != nil {
		return err
	}
	if err := p.Validate(); err != nil {
		return err
	}
	if p.Layers != len(m.MoE) {
		return &auxerrors.ConfigError{Field: "layers", Value: p.Layers, Want: fmt.Sprintf("the %d layers with experts, of %d in all", len(m.MoE), m.All), Reason: auxerrors.ErrMismatch}
	}
	_, err := sizeOfArray("rows", [3]uint64{1, uint64(m.All), uint64(p.TopK)}, Int32)
	return err
}

// Rows makes an array of all layers, of any item type, into rows of a profile from
// position start on: [Array.Convert], with dense layers left out. An id other than
// 0 in a dense layer is an [IDError]: the map is wrong then.
func (m LayerMap) Rows(a Array, p Profile, start int) (Rows, error) {
	if err := m.check(p); err != nil {
		return Rows{}, err
	}
	if err := a.checkFor(p, start, m.All); err != nil {
		return Rows{}, err
	}
	size, err := sizeOf(p, a.Len())
	if err != nil {
		return Rows{}, err
	}
	r := Rows{Profile: p, Start: start, Data: make([]byte, size)}
	experts := slices.Repeat([]int{1}, m.All) // of each layer; a dense one has only id 0
	for _, layer := range m.MoE {
		experts[layer] = p.Experts
	}
	for i := range a.items() {
		if id, limit := a.item(i), experts[i/p.TopK%m.All]; id < 0 || id >= limit {
			return Rows{}, a.wrongID(i, start, limit)
		}
	}
	to := 0
	for row := range a.Len() {
		for _, layer := range m.MoE {
			for k := range p.TopK {
				r.set(to, a.item((row*m.All+layer)*p.TopK+k))
				to++
			}
		}
	}
	return r, nil
}

// Int32 is rows in the layout of all layers, in int32: what SGLang sends, and
// vLLM did up to v0.20. It has 4 x All / len(MoE) times the bytes of narrow rows;
// [LayerMap.NewInt32Writer] needs no memory for them.
func (m LayerMap) Int32(r Rows) (Array, error) {
	if err := r.Validate(); err != nil {
		return Array{}, err
	}
	if err := m.check(r.Profile); err != nil {
		return Array{}, err
	}
	shape := [3]int{r.Len(), m.All, r.Profile.TopK}
	size, err := sizeOfArray("rows", [3]uint64{uint64(shape[0]), uint64(shape[1]), uint64(shape[2])}, Int32)
	if err != nil {
		return Array{}, err
	}
	data := make([]byte, size)
	rowBytes := m.All * r.Profile.TopK * 4
	for i := range r.Len() {
		m.spread(data[i*rowBytes:(i+1)*rowBytes], r.Profile, r.Row(i))
	}
	return Array{Shape: shape, DType: Int32, Data: data}, nil
}

// spread writes one row as int32 of all layers. Dense layers and the upper bytes
// of dst are zero already.
func (m LayerMap) spread(dst []byte, p Profile, row []byte) {
	itemBytes := p.ItemBytes()
	for j, layer := range m.MoE {
		for k := range p.TopK {
			from, to := (j*p.TopK+k)*itemBytes, (layer*p.TopK+k)*4
			copy(dst[to:to+itemBytes], row[from:from+itemBytes])
		}
	}
}

// NewInt32Writer is a writer of raw rows of a profile that hands them on to w as
// raw int32 of all layers, a row at a time and in the memory of one. Close reports
// a [CountError] unless exactly so many rows were written; w is not closed. More
// rows are refused by Write.
func (m LayerMap) NewInt32Writer(w io.Writer, p Profile, rows int) (io.WriteCloser, error) {
	if err := m.check(p); err != nil {
		return nil, err
	}
	if _, err := sizeOf(p, rows); err != nil {
		return nil, err
	}
	return &int32Writer{
		w: w, m: LayerMap{All: m.All, MoE: slices.Clone(m.MoE)}, profile: p, want: rows,
		row: make([]byte, 0, p.RowBytes()), out: make([]byte, m.All*p.TopK*4),
	}, nil
}
