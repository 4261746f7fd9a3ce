package engine

// Report is what happened in an engine.
type Report struct {
	Slots    int   `json:"slots"`
	MaxBytes int64 `json:"max_bytes"`

	Steps       int `json:"steps"`
	Requests    int `json:"requests"`
	Finished    int `json:"finished"`
	Aborted     int `json:"aborted"`
	Rejected    int `json:"rejected"` // requests too large for the KV cache or the store
	Preemptions int `json:"preemptions"`
	Resets      int `json:"resets"`
	Abandoned   int `json:"abandoned"` // steps whose output never arrived
	Drops       int `json:"drops"`     // hashes that the KV cache was made to forget
	Dropped     int `json:"dropped"`   // KV blocks dropped because their rows were evicted

	PromptTokens    int64 `json:"prompt_tokens"`
	HitTokens       int64 `json:"hit_tokens"`        // of the prompts of new requests, served from the KV cache
	FoundTokens     int64 `json:"found_tokens"`      // of the same, found there: more if rows were missing
	GivenUpTokens   int64 `json:"recomputed_tokens"` // found, and computed again because their rows were missing
	ScheduledTokens int64 `json:"scheduled_tokens"`  // run through the model
	ServedTokens    int64 `json:"served_tokens"`     // prompts and answers of requests that finished

	Lost        int   `json:"requests_that_lost_rows"`
	Spoiled     int   `json:"requests_spoiled"` // failed because an output was lost, or captured wrong
	Retried     int   `json:"requests_retried"` // of both, submitted again
	RowsChecked int64 `json:"rows_checked"`
	WrongRows   int64 `json:"wrong_rows"`

	// LeftOut counts the blocks for which the store had no room beside the rows of
	// running requests.
	LeftOut int64 `json:"blocks_left_out"`

	// ResidentBytes is the memory of all slots that were ever used, and of their
	// book-keeping.
	ResidentBytes int64 `json:"resident_bytes"`

	LastLoss      string `json:"last_loss,omitempty"`
	LastRejection string `json:"last_rejection,omitempty"`
}

// HitRatio is the share of prompt tokens that were served from the KV cache.
func (r Report) HitRatio() float64 {
	if r.PromptTokens == 0 {
		return 0
	}
	return float64(r.HitTokens) / float64(r.PromptTokens)
}

// countAdmission accounts for a hit of which a part was found and not used.
func (e *Engine) countAdmission(s *sequence, used, found int) {
	e.report.GivenUpTokens += int64(found - used)
	if s.life == 1 {
		e.report.HitTokens += int64(used)
		e.report.FoundTokens += int64(found)
	}
}

// reject tells everybody concerned that a job is too large.
func (e *Engine) reject(s *sequence, why error) { e.refuse(s.job, why) }

func (e *Engine) refuse(job *Job, why error) {
	e.report.Rejected++
	e.report.LastRejection = why.Error()
	job.deliver(Delivery{Done: true, Err: why})
}

// Safe reports whether every request got its rows.
func (r Report) Safe() bool { return r.Lost == 0 }

// Report is what has happened so far.
func (e *Engine) Report() Report {
	stats := e.store.Stats()
	slots := int64(min(stats.Stored, uint64(stats.Slots))) // all are used before one is used again
	report := e.report
	report.LeftOut = int64(stats.LeftOut)
	report.ResidentBytes = slots*int64(stats.BlockBytes) + slots*(stats.MetadataBytes/int64(stats.Slots))
	return report
}
