package bootstream

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/binary"
	"slices"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/farrier-dev/farrier/internal/bootstream/streampb"
	"github.com/farrier-dev/farrier/internal/bootview/booturl"
)

const (
	// maxTombstones is how many deletions are remembered: for followers that were away, and for those that are slow. It takes some 10 MB.
	maxTombstones = 1 << 16
	// slack is how many slots of the log may be empty beside those that are as many as the records.
	slack = 1 << 10
	// counterField is the number of Record.counter, which is appended to an encoded record.
	counterField = protowire.Number(2)
	// counterRoom is what that takes at most: a tag of one byte, and a varint.
	counterRoom = 1 + binary.MaxVarintLen64
)

// Journal holds the newest record of every key in the order of the changes. It is safe for concurrent use; its zero value is not usable,
// see NewJournal.
type Journal struct {
	epoch string

	mu      sync.Mutex
	counter uint64
	records map[string]*record
	// log has a slot for every change, in order; that of a record that changed again is empty.
	log []slot
	// tombstones are the counters of deletions that are remembered, oldest first; forgotten is the newest that is not.
	tombstones []slot
	forgotten  uint64
	// changed is closed at the next change; nil: nobody waits.
	changed chan struct{}
	// steps counts the slots that writers have looked at, and walked those that readers have, for tests.
	steps, walked int
}

// record is the newest of its key. It never changes, but for its place.
type record struct {
	key string
	// at is its place in the log.
	at      int
	counter uint64
	version uint64
	site    string
	// former are sites that had the record and are to delete it.
	former  []string
	deleted bool
	// encoded is what followers are sent, made once for all of them: the content, and behind it the counter.
	encoded []byte
	content int
}

// slot is that of a change. It keeps nothing of a record that changed again, which may be large, and secret.
type slot struct {
	counter uint64
	record  *record
}

// NewJournal returns an empty journal of a new epoch.
func NewJournal() *Journal {
	return &Journal{epoch: rand.Text(), records: map[string]*record{}}
}

// Epoch names this journal.
func (j *Journal) Epoch() string { return j.epoch }

// Put makes r the newest record of its key, for one site or booturl.EverySite. The journal sets its counter; r must not be changed afterwards.
//
// A record that is the same as before, version included, is no change and nobody is sent it again: controllers put what they have found
// whenever they look. One whose version alone has changed is sent. The version is what a boot server tells a manager that lags behind by,
// once it has to follow another one: with the version of an earlier object it would take what that manager has between the two, and a
// deletion with it would not keep away what was deleted.
func (j *Journal) Put(site string, r *streampb.Record) {
	encoded, err := encode(&streampb.Record{Key: r.Key, Version: r.Version, Body: r.Body})
	if err != nil {
		// Only text that is not UTF-8 cannot be encoded. Whoever makes records checks that; what is held of the key has to go.
		j.Delete(r.Key)
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	next := &record{key: r.Key, version: r.Version, site: site, encoded: encoded}
	if old := j.records[r.Key]; old != nil {
		if !old.deleted && old.site == site && bytes.Equal(old.encoded[:old.content], encoded) {
			return
		}
		next.former = formerSites(old, site)
	}
	j.append(next)
}

// encode encodes a record with room for its counter behind it. The same record is encoded as the same bytes.
func encode(r *streampb.Record) ([]byte, error) {
	o := proto.MarshalOptions{Deterministic: true}
	return o.MarshalAppend(make([]byte, 0, o.Size(r)+counterRoom), r)
}

// Delete removes the record of a key; one that is not there is no error.
func (j *Journal) Delete(key string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	old := j.records[key]
	if old == nil || old.deleted {
		return
	}
	encoded, _ := encode(&streampb.Record{Key: key, Version: old.version, Body: &streampb.Record_Deleted{Deleted: &streampb.Deleted{}}}) // fails for keys that cannot be put
	j.append(&record{key: key, version: old.version, site: old.site, former: old.former, deleted: true, encoded: encoded})
}

// formerSites are the sites that have to delete a record which belongs to site from now on.
func formerSites(old *record, site string) []string {
	if site == booturl.EverySite {
		return nil
	}
	former := old.former
	if old.site != site && !slices.Contains(former, old.site) {
		former = append(slices.Clone(former), old.site)
	}
	if i := slices.Index(former, site); i >= 0 {
		former = slices.Delete(slices.Clone(former), i, i+1)
	}
	return former
}

// append gives a record its counter and makes it the newest of its key. Its caller holds mu.
func (j *Journal) append(r *record) {
	j.counter++
	r.counter = j.counter
	if old := j.records[r.key]; old != nil {
		j.log[old.at].record = nil
	}
	r.content = len(r.encoded)
	r.encoded = protowire.AppendVarint(protowire.AppendTag(r.encoded, counterField, protowire.VarintType), r.counter)
	r.at = len(j.log)
	j.records[r.key] = r
	j.log = append(j.log, slot{r.counter, r})
	j.steps++
	if r.deleted {
		j.tombstones = append(j.tombstones, slot{r.counter, r})
		j.forget()
	}
	if len(j.log) > 2*len(j.records)+slack {
		j.compact()
	}
	if j.changed != nil {
		close(j.changed)
		j.changed = nil
	}
}

// forget drops the oldest deletions when there are too many.
func (j *Journal) forget() {
	if len(j.tombstones) <= maxTombstones {
		return
	}
	for _, t := range j.tombstones[:maxTombstones/2] {
		j.steps++
		if j.records[t.record.key] == t.record {
			delete(j.records, t.record.key)
			j.log[t.record.at].record = nil
			j.forgotten = t.counter
		}
	}
	j.tombstones = slices.Clone(j.tombstones[maxTombstones/2:])
}

// compact drops the empty slots of the log.
func (j *Journal) compact() {
	j.steps += len(j.log)
	live := make([]slot, 0, 2*len(j.records)+slack+1)
	for _, s := range j.log {
		if s.record != nil {
			s.record.at = len(live)
			live = append(live, s)
		}
	}
	j.log = live
}

// after is the place of the first slot behind a counter. Changes since the log was compacted have places one after the other, so whoever has
// almost everything finds his without a search.
func (j *Journal) after(counter uint64) int {
	j.walked++
	if missing := j.counter - counter; missing <= uint64(len(j.log)) {
		at := len(j.log) - int(missing)
		if missing == 0 || j.log[at].counter == counter+1 {
			return at
		}
	}
	at, _ := slices.BinarySearchFunc(j.log, counter+1, func(s slot, counter uint64) int {
		j.walked++
		return cmp.Compare(s.counter, counter)
	})
	return at
}

// Len is the number of records.
func (j *Journal) Len() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	n := len(j.records)
	for _, t := range j.tombstones {
		if j.records[t.record.key] == t.record {
			n--
		}
	}
	return n
}

// Counter is that of the newest change.
func (j *Journal) Counter() uint64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.counter
}

// CounterOf is the counter and the site of the newest record of a key; zero: there is none.
func (j *Journal) CounterOf(key string) (counter uint64, site string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	r := j.records[key]
	if r == nil || r.deleted {
		return 0, ""
	}
	return r.counter, r.site
}

// Resumes reports whether a follower that holds that position lacks nothing but what has changed since.
func (j *Journal) Resumes(p *streampb.Position) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return p.GetEpoch() == j.epoch && p.GetCounter() >= j.forgotten && p.GetCounter() <= j.counter
}

// walk is how far somebody has come in a journal.
type walk struct {
	site     string
	position uint64
	// fresh: the walk began with nothing when the journal was there, so deletions up to it are of no interest.
	fresh uint64
}

// batch is a part of a walk.
type batch struct {
	records [][]byte
	// last is the counter of the last of them.
	last uint64
	// gap: deletions that the walk has not come to were forgotten.
	gap bool
	// changed is closed when there is more; nil: there is more already.
	changed <-chan struct{}
}

// next moves a walk on by at most so many records and, beyond the first, so many bytes.
func (j *Journal) next(w *walk, most, mostSize int) batch {
	j.mu.Lock()
	defer j.mu.Unlock()
	if w.position < j.forgotten && w.fresh < j.forgotten {
		return batch{gap: true}
	}
	var b batch
	size, looked := 0, 0
	for at := j.after(w.position); at < len(j.log); at++ {
		// A walk that finds nothing for its site holds the lock no longer than one that does.
		if len(b.records) == most || size > mostSize || looked == 16*most {
			return b
		}
		looked++
		j.walked++
		s := j.log[at]
		w.position = s.counter
		if s.record == nil {
			continue
		}
		if encoded := s.record.forWalk(w); encoded != nil {
			b.records = append(b.records, encoded)
			b.last = s.counter
			size += len(encoded)
		}
	}
	if j.changed == nil {
		j.changed = make(chan struct{})
	}
	b.changed = j.changed
	return b
}

// forWalk is what a walk is given of a record; nil: nothing.
func (r *record) forWalk(w *walk) []byte {
	old := r.counter <= w.fresh // whoever walks has nothing to delete
	switch {
	case r.site == booturl.EverySite || r.site == w.site:
		if r.deleted && old {
			return nil
		}
		return r.encoded
	case !old && (slices.Contains(r.former, w.site) || slices.Contains(r.former, booturl.EverySite)):
		encoded, _ := proto.Marshal(&streampb.Record{ // its key was encoded before
			Key: r.key, Counter: r.counter, Version: r.version, Body: &streampb.Record_Deleted{Deleted: &streampb.Deleted{}},
		})
		return encoded
	}
	return nil
}
