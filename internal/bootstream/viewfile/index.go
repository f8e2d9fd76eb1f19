package viewfile

import "slices"

// mostDeleted is how many deletions are kept.
const mostDeleted = 1 << 16

// place is where the last record of a key is.
type place struct {
	seq     uint64 // records of the file before it
	size    int64
	deleted bool
}

// index knows which records of a file are needed.
type index struct {
	by   map[string]place
	seq  uint64
	live int64 // bytes of records that are needed
	// deletions are keys that were deleted, the oldest first; what has been replaced since may be among them.
	deletions []deletion
	deleted   int
	most      int
}

type deletion struct {
	key string
	seq uint64
}

func newIndex() *index { return &index{by: map[string]place{}, most: mostDeleted} }

// add notes the next record of the file. It returns the key of a deletion that is too old to be kept, if there is one.
func (x *index) add(key string, size int64, deleted bool) (forgotten string, ok bool) {
	x.remove(key)
	x.by[key] = place{seq: x.seq, size: size, deleted: deleted}
	x.live += size
	if deleted {
		x.deleted++
		x.deletions = append(x.deletions, deletion{key, x.seq})
		forgotten, ok = x.forget()
	}
	x.seq++
	return forgotten, ok
}

func (x *index) remove(key string) {
	old, known := x.by[key]
	if !known {
		return
	}
	delete(x.by, key)
	x.live -= old.size
	if old.deleted {
		x.deleted--
	}
}

func (x *index) current(d deletion) bool {
	p, known := x.by[d.key]
	return known && p.seq == d.seq
}

// forget drops the oldest deletion when there are too many, and places in the list that mean nothing any more.
func (x *index) forget() (key string, ok bool) {
	if len(x.deletions) > 2*x.most {
		x.deletions = slices.DeleteFunc(x.deletions, func(d deletion) bool { return !x.current(d) })
	}
	for x.deleted > x.most {
		oldest := x.deletions[0]
		x.deletions = x.deletions[1:]
		if x.current(oldest) {
			x.remove(oldest.key)
			return oldest.key, true
		}
	}
	return "", false
}
