// Package routing describes the rows that are stored: the expert ids a MoE
// model's router chose for one token, in every layer. It encodes and decodes them
// in the forms that engines and trainers exchange, checks them, joins them, and
// has the rules by which a request asks for them.
//
// # Rows and arrays
//
// [Rows] are rows whose [Profile] is known: n x layers x top-k ids in C order,
// uint8 up to 256 experts, else little-endian uint16, and the position of the
// first of them. An [Array] is what came over the wire, of which only shape and
// item type are known. [Array.Rows] makes the one into the other if shape, item
// type and every id agree with the profile; [Array.Convert] and [LayerMap] are
// the explicit conversions from other item types and layouts. N known tokens
// have N-1 rows: the last sampled token never ran.
//
// # Forms
//
// [Rows.Append] writes any [Format] into memory, an [Encoder] writes it to an
// [io.Writer] in constant memory, straight from the blocks of a store. A [Field]
// is the value of the JSON field routed_experts and works with encoding/json. It
// is a base64 string or an object, never nested lists.
//
// A decoder rejects, it does not repair. It allocates no more than the data that
// is there calls for, whatever a header claims. No id has a special meaning:
// 255 is an expert of a model with 256 of them, and negative ids are refused.
// What is missing is missing, and never encoded among the ids.
//
// # Checks
//
// [Checks] find what has the right shape and cannot be right: ids that are no experts
// or occur twice, layers and rows that nobody captured. [Checks.Check] looks through
// rows that are all there, a [Checker] through rows as they come.
//
// # Errors
//
// Damaged or unsuitable data is a [DecodeError], a wrong number of rows a
// [CountError] with both numbers, a wrong id an [IDError] with its place, a value
// in a request that a client must correct a [RequestError] with its HTTP status,
// an impossible argument an [auxerrors.ConfigError].
package routing
