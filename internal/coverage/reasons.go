package main

import "slices"

// reasons are the blocks of statements that the tests do not run, each with why they
// cannot be made to.
var reasons = slices.Concat(reasonsOfConnector, reasonsOfRouting, reasonsOfStore)

var reasonsOfConnector = []reason{
	{
		file: "connector/key.go", function: "keyOf", text: "panic(err)",
		why: "A SHA-256 digest has a length that a hash may have.",
	},
	{
		file: "connector/gate.go", function: "(*Gate).pin", text: "_ = g.rows.put(store.Batch{Release: keys[:n]})",
		why: "Part of a hit is pinned, and then the store is closed or reset by somebody else before the rest is. No test can get between the two calls.",
	},
	{
		file: "connector/materialise.go", function: "(*Worker).materialise", text: `return dst, named(err, "process", l.id)`,
		why: "The tail has the rows: the first statement of the function has made sure. Kept, so that a mistake there is that request's error.",
	},
}

var reasonsOfRouting = []reason{
	{
		file: "routing/format.go", function: "appendFormat", text: "size, err := l.size(int64(len(a.Data)))",
		why: "No memory holds the ids whose text an int64 cannot count.",
	},
	{
		file: "routing/format.go", function: "appendFormat", text: "size > math.MaxInt-int64(len(dst))",
		why: "Needs rows of 1.5 GiB, and a platform of 32 bits.",
	},
	{
		file: "routing/join.go", function: "concatenate", text: "size, err := sizeOf(p, n)",
		why: "Needs more rows than the address space has bytes: the same memory joined some thousand million times over.",
	},
	{
		file: "routing/layers.go", function: "LayerMap.Rows", text: "size, err := sizeOf(p, a.Len())",
		why: "The result is at most twice the array, which is in memory. Only a platform of 32 bits has an array of which twice is too much, of 1 GiB.",
	},
	{
		file: "routing/layers.go", function: "LayerMap.Int32", text: `size, err := sizeOfArray("rows"`,
		why: "Needs 2^45 rows where an int has 64 bits. Where it has 32, a test runs it.",
	},
}
