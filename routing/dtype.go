package routing

import "fmt"

// DType is the type of the items of an [Array]. Items of several bytes are
// little-endian in memory. The zero value is no type.
type DType uint8

// The item types that engines use for expert ids. Rows are stored as [Uint8] or
// [Uint16]; the signed ones are read through an explicit conversion only.
const (
	Uint8  DType = iota + 1 // vLLM up to 256 experts
	Uint16                  // vLLM above 256 experts, LMDeploy
	Int8                    // trainers, up to 128 experts
	Int16                   // vLLM v0.21, trainers
	Int32                   // SGLang, vLLM up to v0.20
)

var dtypes = [...]struct {
	name  string // NumPy's name, as in the object form
	descr string // as NumPy writes it into an .npy header
	bytes int
}{
	Uint8:  {"uint8", "|u1", 1},
	Uint16: {"uint16", "<u2", 2},
	Int8:   {"int8", "|i1", 1},
	Int16:  {"int16", "<i2", 2},
	Int32:  {"int32", "<i4", 4},
}

// DType is the item type of rows: [Uint8] up to 256 experts, else [Uint16].
func (p Profile) DType() DType {
	if p.ItemBytes() == 1 {
		return Uint8
	}
	return Uint16
}

// valid says whether d is one of the types.
func (d DType) valid() bool { return d >= Uint8 && int(d) < len(dtypes) }

// String is NumPy's name of the type: "uint8", "uint16", ...
func (d DType) String() string {
	if !d.valid() {
		return fmt.Sprintf("DType(%d)", uint8(d))
	}
	return dtypes[d].name
}

// Descr is the type as an .npy header writes it: "|u1", "<u2", ... It is empty
// for something that is no type.
func (d DType) Descr() string {
	if !d.valid() {
		return ""
	}
	return dtypes[d].descr
}

// ItemBytes is the size of an item: 1, 2 or 4; 0 for something that is no type.
func (d DType) ItemBytes() int {
	if !d.valid() {
		return 0
	}
	return dtypes[d].bytes
}

// signed says whether an item may be negative.
func (d DType) signed() bool { return d >= Int8 }

// dtypeNamed finds a type by NumPy's name.
func dtypeNamed(name string) (DType, bool) {
	for d := Uint8; d.valid(); d++ {
		if dtypes[d].name == name {
			return d, true
		}
	}
	return 0, false
}
