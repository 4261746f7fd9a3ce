package connector

import (
	"fmt"
	"math"
	"math/bits"

	auxerrors "github.com/auxoutput/auxoutput/errors"
)

// TailPool is the bounded memory for rows that are not in the store: tails, and
// full blocks that wait for their key. It hands out pieces of one block each. It
// is not safe for concurrent use.
type TailPool struct {
	blockTokens int
	rowBytes    int
	memory      []byte
	free        []int32  // pieces that nobody uses; the last one is next
	tickets     []uint32 // of each piece; another one each time it is given back
	tails       int      // pieces in use as tails
}

// Tail is the rows of a request's last, incomplete block. The zero Tail is empty.
// It belongs to the pool that filled it, until that pool is reset.
type Tail struct {
	piece piece
	start int // position of the block, a multiple of the block tokens
	rows  int // at least one, less than a block
}

// TailBlock is a full block that came out of a capture.
type TailBlock struct {
	Start int    // position of its first row, a multiple of the block tokens
	Rows  []byte // block tokens x row bytes

	piece piece
}

// piece is a block of the pool, as long as its ticket is valid. The zero piece is
// none.
type piece struct {
	number int32 // from 1
	ticket uint32
}

// Owned reports whether the block has its own memory in the pool. One that is not
// owned is part of the rows that were captured.
func (b TailBlock) Owned() bool { return b.piece.number != 0 }

// PoolBlocks is the number of blocks that a tail pool needs: for every step in
// flight what it can complete, ceil(stepTokens / blockTokens) and one more for each
// request, and one tail for each request. (vLLM's RoutedExpertsBuffer.) A number
// below 1, or a result no int32 holds, is an errors.ConfigError.
func PoolBlocks(blockTokens, sequences, stepTokens, inFlight int) (int, error) {
	for _, n := range []struct {
		field string
		value int
	}{{"block tokens", blockTokens}, {"sequences", sequences}, {"step tokens", stepTokens}, {"steps in flight", inFlight}} {
		if n.value < 1 {
			return 0, &auxerrors.ConfigError{Field: n.field, Value: n.value, Want: "at least 1", Reason: auxerrors.ErrTooSmall}
		}
		if n.value > math.MaxInt32 {
			return 0, &auxerrors.ConfigError{Field: n.field, Value: n.value, Want: fmt.Sprintf("at most %d", math.MaxInt32), Reason: auxerrors.ErrTooLarge}
		}
	}
	perStep := uint64((stepTokens-1)/blockTokens+1) + uint64(sequences)
	high, blocks := bits.Mul64(uint64(inFlight), perStep)
	blocks += uint64(sequences)
	if high != 0 || blocks > math.MaxInt32 {
		return 0, &auxerrors.ConfigError{Field: "tail pool", Value: fmt.Sprintf("%d x %d blocks", inFlight, perStep), Want: fmt.Sprintf("at most %d blocks", math.MaxInt32), Reason: auxerrors.ErrTooLarge}
	}
	return int(blocks), nil
}

// mostPoolBytes is as large as a tail pool may be: 64 GiB, and less where the
// address space is small. Sane pools have a few megabytes.
const mostPoolBytes = min(1<<36, math.MaxInt/4)

// NewTailPool makes a pool of blocks. Numbers below 1 and a pool of more than 64
// GiB are an errors.ConfigError.
func NewTailPool(blocks, blockTokens, rowBytes int) (*TailPool, error) {
	size := uint64(1)
	for _, n := range []struct {
		field string
		value int
	}{{"pool blocks", blocks}, {"block tokens", blockTokens}, {"row bytes", rowBytes}} {
		if n.value < 1 {
			return nil, &auxerrors.ConfigError{Field: n.field, Value: n.value, Want: "at least 1", Reason: auxerrors.ErrTooSmall}
		}
		high, low := bits.Mul64(size, uint64(n.value))
		if size = low; high != 0 || low > mostPoolBytes || n.value > mostPoolBytes/8 {
			return nil, &auxerrors.ConfigError{Field: "tail pool", Value: fmt.Sprintf("%d x %d x %d bytes", blocks, blockTokens, rowBytes), Want: fmt.Sprintf("at most %d bytes", mostPoolBytes), Reason: auxerrors.ErrTooLarge}
		}
	}
	p := &TailPool{
		blockTokens: blockTokens,
		rowBytes:    rowBytes,
		memory:      make([]byte, size),
		free:        make([]int32, blocks),
		tickets:     make([]uint32, blocks),
	}
	for i := range p.free {
		p.free[i] = int32(blocks - i)
	}
	return p, nil
}

// Blocks is the number of blocks of the pool.
func (p *TailPool) Blocks() int { return len(p.tickets) }

// Free is the number of blocks that nobody uses.
func (p *TailPool) Free() int { return len(p.free) }

// Tails is the number of blocks in use as tails.
func (p *TailPool) Tails() int { return p.tails }

// Capture adds n rows at a position to a tail and appends the blocks that became
// full to blocks. What is left over is the new tail. A block that starts and ends
// within the rows is a part of them; one that began as a tail has its own memory
// until it is released. No rows at all change nothing.
//
// ErrProfile if rows is not n rows long; ErrNegativeStart; ErrNotContiguous if the
// rows do not continue the tail or, without one, start inside a block;
// ErrSkippedBlock if they start in another block than the tail's; ErrExhausted. The
// tail is as it was then.
func (p *TailPool) Capture(t *Tail, start, n int, rows []byte, blocks []TailBlock) ([]TailBlock, error) {
	if n < 0 || n > len(rows)/p.rowBytes || len(rows) != n*p.rowBytes {
		return blocks, refuse("capture", "", ErrProfile, "%d bytes for %d rows of %d", len(rows), n, p.rowBytes)
	}
	if n == 0 {
		return blocks, nil
	}
	length := p.length(t)
	if err := p.continues(t, length, start, n); err != nil {
		return blocks, err
	}
	left := (length + n) % p.blockTokens
	if (length == 0 || length+n >= p.blockTokens) && left > 0 && len(p.free) == 0 {
		return blocks, refuse("capture", "", ErrExhausted, "all %d blocks are in use", p.Blocks())
	}
	if length > 0 {
		memory := p.block(t.piece)
		copied := copy(memory[length*p.rowBytes:], rows)
		rows = rows[copied:]
		start += copied / p.rowBytes
		t.rows += copied / p.rowBytes
		if t.rows < p.blockTokens {
			return blocks, nil
		}
		blocks = append(blocks, TailBlock{Start: t.start, Rows: memory, piece: t.piece})
		p.tails--
		*t = Tail{}
	}
	size := p.blockTokens * p.rowBytes
	for ; len(rows) >= size; rows, start = rows[size:], start+p.blockTokens {
		blocks = append(blocks, TailBlock{Start: start, Rows: rows[:size:size]})
	}
	if left > 0 {
		*t = Tail{piece: p.take(), start: start, rows: left}
		copy(p.block(t.piece), rows)
		p.tails++
	}
	return blocks, nil
}

// continues checks that rows may be captured at a position.
func (p *TailPool) continues(t *Tail, length, start, n int) error {
	switch {
	case start < 0:
		return refuse("capture", "", ErrNegativeStart, "position %d", start)
	case start > math.MaxInt-n:
		return refuse("capture", "", ErrNotContiguous, "position %d and %d rows", start, n)
	case length == 0 && start%p.blockTokens != 0:
		return refuse("capture", "", ErrNotContiguous, "first rows at position %d, inside a block of %d", start, p.blockTokens)
	case length > 0 && start/p.blockTokens != t.start/p.blockTokens:
		return refuse("capture", "", ErrSkippedBlock, "position %d, the block at %d is incomplete", start, t.start)
	case length > 0 && start != t.start+length:
		return refuse("capture", "", ErrNotContiguous, "position %d, the tail ends at %d", start, t.start+length)
	}
	return nil
}

// Bounds are the positions whose rows a tail has, the second one excluded.
func (p *TailPool) Bounds(t *Tail) (start, end int) {
	return t.start, t.start + p.length(t)
}

// Read appends the rows of the positions from start to end, that excluded, to dst.
// ErrUnknownRequest if the tail is empty, ErrRange if it does not have them all or
// there are none.
func (p *TailPool) Read(t *Tail, dst []byte, start, end int) ([]byte, error) {
	length := p.length(t)
	if length == 0 {
		return dst, refuse("read", "", ErrUnknownRequest, "its tail is empty")
	}
	if start < t.start || end > t.start+length || start >= end {
		return dst, refuse("read", "", ErrRange, "positions %d to %d, the tail has %d to %d", start, end, t.start, t.start+length)
	}
	memory := p.block(t.piece)
	return append(dst, memory[(start-t.start)*p.rowBytes:(end-t.start)*p.rowBytes]...), nil
}

// Keep gives a block its own memory, if it has none yet, so that it outlives the
// rows that were captured. ErrExhausted if there is no room.
func (p *TailPool) Keep(b TailBlock) (TailBlock, error) {
	if b.Owned() {
		return b, nil
	}
	if len(p.free) == 0 {
		return b, refuse("keep", "", ErrExhausted, "all %d blocks are in use", p.Blocks())
	}
	kept := TailBlock{Start: b.Start, piece: p.take()}
	kept.Rows = p.block(kept.piece)
	copy(kept.Rows, b.Rows)
	return kept, nil
}

// Release gives the memory of a block back. It does nothing for a block without
// its own, nor a second time.
func (p *TailPool) Release(b TailBlock) { p.giveBack(b.piece) }

// Discard empties a tail.
func (p *TailPool) Discard(t *Tail) {
	if p.giveBack(t.piece) {
		p.tails--
	}
	*t = Tail{}
}

// Reset takes everything back: all tails are empty, all blocks released.
func (p *TailPool) Reset() {
	p.free = p.free[:0]
	for i := len(p.tickets); i > 0; i-- {
		p.free = append(p.free, int32(i))
		p.tickets[i-1]++
	}
	p.tails = 0
}

// length is the number of rows in a tail.
func (p *TailPool) length(t *Tail) int {
	if !p.valid(t.piece) {
		return 0
	}
	return t.rows
}

func (p *TailPool) valid(b piece) bool {
	return b.number != 0 && p.tickets[b.number-1] == b.ticket
}

// take hands out a free piece; there must be one.
func (p *TailPool) take() piece {
	last := len(p.free) - 1
	number := p.free[last]
	p.free = p.free[:last]
	return piece{number, p.tickets[number-1]}
}

func (p *TailPool) giveBack(b piece) bool {
	if !p.valid(b) {
		return false
	}
	p.tickets[b.number-1]++
	p.free = append(p.free, b.number)
	return true
}

// block is the memory of a piece.
func (p *TailPool) block(b piece) []byte {
	size := p.blockTokens * p.rowBytes
	from := int(b.number-1) * size
	return p.memory[from : from+size : from+size]
}

// restore makes a tail again what it was before captures whose blocks have not
// been released.
func (p *TailPool) restore(t *Tail, was Tail) {
	if t.piece != was.piece {
		p.Discard(t)
		if p.valid(was.piece) {
			p.tails++
		}
	}
	*t = was
}
