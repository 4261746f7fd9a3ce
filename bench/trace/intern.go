package trace

// Ids below denseIDs are counters in every trace seen, and neighbours come
// together: they are looked up in pages. Ids above are taken for hashes and go
// into a map, where a page for each would be waste.
const (
	pageBits = 6
	pageIDs  = 1 << pageBits
	denseIDs = 1 << 32
)

// page numbers the ids of one range; 0 is an id not seen yet, else the block's
// number plus one.
type page [pageIDs]uint32

type pageKey struct {
	scope uint32
	page  uint32
}

type sparseKey struct {
	scope uint32
	id    uint64
}

// interner gives every (scope, id) a number, from 0 in order of appearance.
// Looking up a neighbour of the last id costs no map access.
type interner struct {
	pages    map[pageKey]*page
	sparse   map[sparseKey]uint32
	unique   uint32
	limit    uint32 // on unique
	lastKey  pageKey
	lastPage *page
}

func newInterner() *interner {
	return &interner{pages: make(map[pageKey]*page), sparse: make(map[sparseKey]uint32), limit: MaxUniqueBlocks}
}

// allow limits the different blocks to what a file of so many bytes may name.
func (in *interner) allow(bytes int64) {
	in.limit = uint32(min(MaxUniqueBlocks, MaxBlocks+bytes*MaxBlocksPerByte))
}

// appendID appends the number of one id to dst.
func (in *interner) appendID(dst []uint32, scope uint32, id uint64) ([]uint32, error) {
	if id < denseIDs {
		entry := &in.page(scope, id)[id%pageIDs]
		if *entry == 0 {
			if in.unique >= in.limit {
				return dst, in.tooMany()
			}
			in.unique++
			*entry = in.unique
		}
		return append(dst, *entry-1), nil
	}
	key := sparseKey{scope, id}
	number, seen := in.sparse[key]
	if !seen {
		if in.unique >= in.limit {
			return dst, in.tooMany()
		}
		number = in.unique
		in.unique++
		in.sparse[key] = number
	}
	return append(dst, number), nil
}

// appendRun appends the numbers of the ids first, first+1, ... to dst. The
// caller has checked that first+count does not overflow.
func (in *interner) appendRun(dst []uint32, scope uint32, first uint64, count int) ([]uint32, error) {
	for count > 0 && first < denseIDs {
		from := int(first % pageIDs)
		entries := in.page(scope, first)[from:min(pageIDs, from+count)]
		for i := range entries {
			if entries[i] == 0 {
				if in.unique >= in.limit {
					return dst, in.tooMany()
				}
				in.unique++
				entries[i] = in.unique
			}
			dst = append(dst, entries[i]-1)
		}
		first += uint64(len(entries))
		count -= len(entries)
	}
	var err error
	for ; count > 0; count-- {
		if dst, err = in.appendID(dst, scope, first); err != nil {
			return dst, err
		}
		first++
	}
	return dst, nil
}

// invent appends count numbers that no id has.
func (in *interner) invent(dst []uint32, count int) ([]uint32, error) {
	if int(in.unique)+count > int(in.limit) {
		return dst, in.tooMany()
	}
	for range count {
		dst = append(dst, in.unique)
		in.unique++
	}
	return dst, nil
}

// page finds or makes the page of an id below denseIDs.
func (in *interner) page(scope uint32, id uint64) *page {
	key := pageKey{scope, uint32(id >> pageBits)}
	if in.lastPage != nil && in.lastKey == key {
		return in.lastPage
	}
	p := in.pages[key]
	if p == nil {
		p = new(page)
		in.pages[key] = p
	}
	in.lastKey, in.lastPage = key, p
	return p
}

func (in *interner) tooMany() error {
	return faultf("more than %d different blocks, which is the limit for a trace of this length", in.limit)
}
