package engine

import (
	"github.com/auxoutput/auxoutput/connector"
)

// execute runs a step on the model: rows of all its tokens, drafts included, and
// what is sampled. It fills in what came of the items and returns what the model
// runner captured.
func (e *Engine) execute(p *plan) connector.Batch {
	b := connector.Batch{
		IDs: e.batch.IDs[:0], Starts: e.batch.Starts[:0], Bounds: append(e.batch.Bounds[:0], 0),
		Sampled: e.batch.Sampled[:0], Rejected: e.batch.Rejected[:0], Rows: e.batch.Rows[:0],
	}
	executed := 0
	for i := range p.items {
		it := &p.items[i]
		b.Rows = e.run(it, p.generation, b.Rows)
		executed += it.n
		b.IDs = append(b.IDs, it.s.job.ID)
		b.Starts = append(b.Starts, it.start)
		b.Bounds = append(b.Bounds, executed)
		b.Sampled = append(b.Sampled, len(it.sampled))
		b.Rejected = append(b.Rejected, it.rejected)
	}
	b.RowCount = executed
	if e.rng.IntN(4) == 0 {
		b.Bounds = append(b.Bounds, executed, executed) // as padded for a CUDA graph
	}
	e.batch = b
	e.report.ScheduledTokens += int64(executed)
	return b
}

// run executes one item and appends its rows.
func (e *Engine) run(it *item, generation uint64, rows []byte) []byte {
	s := it.s
	if it.first {
		s.ran = it.start
	}
	s.seek(e, generation)
	base, by := it.n-it.drafts, it.number
	if e.cfg.TokensOnly {
		by = 0
	}
	rows = s.rows.AppendOf(rows, by, s.tokens[s.ran:s.ran+base]...)
	s.ran += base
	if !it.samples {
		return rows
	}
	// The drafts are executed whatever becomes of them; the first wrong one and
	// all behind it are refused. One token is always sampled.
	drafted := s.rows
	output := len(s.tokens) - len(s.job.Prompt)
	accepted := 0
	for d := range it.drafts {
		right := s.target(output + d)
		token := right
		if e.rng.IntN(3) == 0 {
			token = (right + 1) % vocabulary
		}
		rows = drafted.AppendOf(rows, by, token)
		if accepted == d && token == right {
			accepted++
			s.rows = drafted
		}
	}
	it.rejected = it.drafts - accepted
	for n := range accepted + 1 {
		it.sampled = append(it.sampled, s.target(output+n))
	}
	s.tokens = append(s.tokens, it.sampled...)
	s.ran += accepted
	return rows
}

// damage overwrites an id of one request's rows with one that is no expert, if a test
// asked for it and the worker is going to look.
func (e *Engine) damage(p *plan, rows []byte) {
	if !e.damageNext || e.cfg.Check != connector.CheckAll || e.cfg.Profile.Experts > 255 || len(p.items) == 0 {
		return
	}
	e.damageNext = false
	at := e.rng.IntN(len(p.items))
	for _, it := range p.items[:at] {
		rows = rows[it.n*e.cfg.Profile.RowBytes():]
	}
	rows[0] = 255
	e.lost[p.items[at].number] = true
}
