package scale

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	auxerrors "github.com/auxoutput/auxoutput/errors"

	"github.com/auxoutput/auxoutput/bench/numbered"
	"github.com/auxoutput/auxoutput/blockhash"
	"github.com/auxoutput/auxoutput/store"
)

// Crowd is what so many goroutines get out of one store together: each reads chains
// of blocks and puts new ones.
type Crowd struct {
	Goroutines   int     `json:"goroutines"`
	BytesASecond float64 `json:"bytes_a_second"` // read and put, by all of them
	Missed       float64 `json:"missed"`         // share of reads whose blocks had gone
}

const (
	crowdSlots = 1 << 15
	crowdChain = 32      // blocks of a read and of a put
	crowdTurns = 1 << 12 // chains in a round, by all together
	putEvery   = 8       // one put to so many reads
)

// crowdSizes are the numbers of goroutines that are compared.
func crowdSizes(most int) []int {
	sizes := []int{1}
	for _, n := range []int{2, 16, most} {
		if n > sizes[len(sizes)-1] && n <= most {
			sizes = append(sizes, n)
		}
	}
	return sizes
}

func measureCrowds(ctx context.Context, o Options, tick func()) ([]Crowd, error) {
	var crowds []Crowd
	for _, n := range crowdSizes(o.Goroutines) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		crowd, err := measureCrowd(n, o.BlockBytes, crowdTurns*o.Rounds)
		if err != nil {
			return nil, err
		}
		crowds = append(crowds, crowd)
		tick()
	}
	return crowds, nil
}

func measureCrowd(goroutines, blockBytes, turns int) (crowd Crowd, err error) {
	s, err := store.New(store.Options{MaxBytes: crowdSlots * int64(blockBytes), BlockBytes: blockBytes})
	if err != nil {
		return Crowd{}, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	c := &commons{store: s, enough: int64(turns)}
	for c.chains.Load() < crowdSlots/crowdChain {
		if err := newMember(c).put(); err != nil {
			return Crowd{}, err
		}
	}
	var done sync.WaitGroup
	faults := make([]error, goroutines)
	members := make([]*member, goroutines)
	for i := range members {
		members[i] = newMember(c)
	}
	start := time.Now()
	for i, m := range members {
		done.Go(func() { faults[i] = m.work() })
	}
	done.Wait()
	took := time.Since(start).Seconds()
	if err := errors.Join(faults...); err != nil {
		return Crowd{}, err
	}
	blocks, reads, missed := 0, 0, 0
	for _, m := range members {
		blocks += (m.puts + m.reads - m.missed) * crowdChain
		reads += m.reads
		missed += m.missed
	}
	return Crowd{
		Goroutines:   goroutines,
		BytesASecond: float64(blocks*blockBytes) / took,
		Missed:       float64(missed) / float64(reads),
	}, nil
}

// commons is what the members of a crowd share.
type commons struct {
	store  *store.Store
	chains atomic.Int64 // put so far, and numbered
	turns  atomic.Int64 // taken so far
	enough int64        // turns that there are
}

// member is one goroutine's part.
type member struct {
	*commons
	list                []blockhash.Hash
	rows                []byte
	batch               []store.Block
	puts, reads, missed int
}

func newMember(c *commons) *member {
	return &member{
		commons: c,
		list:    make([]blockhash.Hash, crowdChain),
		rows:    make([]byte, crowdChain*c.store.BlockBytes()),
		batch:   make([]store.Block, crowdChain),
	}
}

// work takes turns until there are none left.
func (m *member) work() error {
	for {
		turn := m.turns.Add(1)
		if turn > m.enough {
			return nil
		}
		var err error
		if turn%putEvery == 0 {
			m.puts++
			err = m.put()
		} else {
			m.reads++
			err = m.get(turn)
		}
		if err != nil {
			return err
		}
	}
}

// put puts a new chain.
func (m *member) put() error {
	chain := m.chains.Add(1) - 1
	size := m.store.BlockBytes()
	for i := range m.batch {
		id := chain*crowdChain + int64(i)
		rows := m.rows[i*size : (i+1)*size]
		numbered.Stamp(rows, id)
		m.batch[i] = store.Block{Hash: numbered.Hash(id), Rows: rows}
	}
	_, err := m.store.Put(store.Batch{Blocks: m.batch})
	return err
}

// get reads one of the newer chains and checks it.
func (m *member) get(turn int64) error {
	newest := m.chains.Load()
	chain := newest - 1 - turn*7919%(crowdSlots/crowdChain*3/4)
	for i := range m.list {
		m.list[i] = numbered.Hash(chain*crowdChain + int64(i))
	}
	size := m.store.BlockBytes()
	numbered.Unstamp(m.rows, size)
	_, err := m.store.Get(m.rows[:0], m.list)
	switch {
	case errors.Is(err, auxerrors.ErrAbsent): // being put, or gone
		m.missed++
		return nil
	case err != nil:
		return err
	}
	if err := numbered.Check(m.rows, size, m.list); err != nil {
		return fmt.Errorf("one of many goroutines: %w", err)
	}
	return nil
}
