package golden

// firstPayloads are the stored objects whose put had several payloads: a recording
// has the last one of each, and the store has to have the first.
type firstPayloads struct {
	stored map[string]bool // keys after the operation before
	differ map[string]payloads
}

type payloads struct{ first, last byte }

// put takes note of a put and of the keys that are stored afterwards.
func (f *firstPayloads) put(op storeOp) {
	if f.differ == nil {
		f.differ = map[string]payloads{}
	}
	now := map[string]bool{}
	for _, key := range op.LRU {
		now[key] = true
	}
	came := map[string]payloads{}
	for _, object := range op.Objects {
		p, again := came[object.Key]
		if !again {
			p.first = object.Tag
		}
		p.last = object.Tag
		came[object.Key] = p
	}
	for key, p := range came {
		if !f.stored[key] && p.first != p.last { // a stored object keeps its payload
			f.differ[key] = p
		}
	}
	for key := range f.differ {
		if !now[key] {
			delete(f.differ, key)
		}
	}
	f.stored = now
}

// instead is what a get has to return, given its keys and the recorded tags, both in
// the order of the store. It marks the case if that is not what was recorded.
func (f *firstPayloads) instead(c *Case, keys []string, tags []int) []int {
	for i, key := range keys {
		if p, ok := f.differ[key]; ok && i < len(tags) && tags[i] == int(p.last) {
			tags[i] = int(p.first)
			c.Deviates()
		}
	}
	return tags
}
