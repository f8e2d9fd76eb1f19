package bootstream

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/farrier-dev/farrier/internal/bootstream/streampb"
	"github.com/farrier-dev/farrier/internal/bootview/booturl"
)

// machine is a record whose content is told by a text.
func machine(key string, version uint64, text string) *streampb.Record {
	return &streampb.Record{Key: key, Version: version, Body: &streampb.Record_Machine{Machine: &streampb.Machine{Serial: text}}}
}

// reader takes records from a journal as a boot server of a site would.
type reader struct {
	walk walk
	has  map[string]string
}

func newReader(j *Journal, site string) *reader {
	return &reader{walk: walk{site: site, fresh: j.Counter()}, has: map[string]string{}}
}

// read reads one batch and reports whether there was anything left to read.
func (r *reader) read(t *testing.T, j *Journal, most int) bool {
	t.Helper()
	b := j.next(&r.walk, most, 1<<20)
	if b.gap {
		*r = *newReader(j, r.walk.site)
		return true
	}
	for _, encoded := range b.records {
		var m streampb.Record
		if err := proto.Unmarshal(encoded, &m); err != nil {
			t.Fatal(err)
		}
		if m.GetDeleted() != nil {
			delete(r.has, m.Key)
		} else {
			r.has[m.Key] = m.GetMachine().GetSerial()
		}
	}
	return b.changed == nil
}

func TestReadersEndWithWhatTheirSiteHas(t *testing.T) {
	sites := []string{"", "a", "b"}
	for seed := range uint64(30) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		j := NewJournal()
		model := map[string]map[string]string{"": {}, "a": {}, "b": {}}
		var readers []*reader
		for step := range 400 {
			key := fmt.Sprintf("Kind/ns/%d", rnd.IntN(20))
			switch rnd.IntN(8) {
			case 0:
				for _, site := range sites {
					delete(model[site], key)
				}
				j.Delete(key)
			case 1:
				readers = append(readers, newReader(j, sites[rnd.IntN(3)]))
			case 2, 3:
				if len(readers) > 0 {
					readers[rnd.IntN(len(readers))].read(t, j, 1+rnd.IntN(5))
				}
			default:
				site, text := append(sites, booturl.EverySite)[rnd.IntN(4)], fmt.Sprint(step)
				for _, s := range sites {
					delete(model[s], key)
					if site == s || site == booturl.EverySite {
						model[s][key] = text
					}
				}
				j.Put(site, machine(key, uint64(step), text))
			}
		}
		for i, r := range readers {
			for r.read(t, j, 3) {
			}
			if !maps.Equal(r.has, model[r.walk.site]) {
				t.Fatalf("seed %d: reader %d of site %q has %v, want %v", seed, i, r.walk.site, r.has, model[r.walk.site])
			}
		}
	}
}

// steps is what one change costs on average, in slots that the writer looks at, with so many records.
func steps(records int) float64 {
	j := NewJournal()
	keys := make([]string, records)
	for i := range keys {
		keys[i] = fmt.Sprintf("Kind/ns/%d", i)
		j.append(&record{key: keys[i]})
	}
	j.steps = 0
	const changes = 250_000 // several times what compacts the log
	for i := range changes {
		j.append(&record{key: keys[i%records]})
	}
	return float64(j.steps) / changes
}

func TestAChangeCostsTheSameWithManyMachines(t *testing.T) {
	few, many := steps(1_000), steps(100_000)
	if many > 1.2*few {
		t.Errorf("a change looks at %.2f slots with 1,000 records and at %.2f with 100,000", few, many)
	}
}

// looks is what one change costs a follower that has everything but that, in slots that it looks at, with so many records. The log was
// compacted before.
func looks(t *testing.T, records int) int {
	j := NewJournal()
	for i := range 2 * records {
		j.append(&record{key: fmt.Sprintf("Kind/ns/%d", i%records), encoded: []byte{}})
	}
	j.compact()
	w := walk{position: j.Counter()}
	j.walked = 0
	const changes = 500
	for i := range changes {
		j.append(&record{key: fmt.Sprintf("Kind/ns/%d", i), encoded: []byte{}})
		if b := j.next(&w, mostRecords, mostBytes); len(b.records) != 1 {
			t.Fatalf("%d records were sent for one change", len(b.records))
		}
	}
	return j.walked / changes
}

func TestAFollowerLooksAtWhatHasChanged(t *testing.T) {
	few, many := looks(t, 1_000), looks(t, 100_000)
	if few != many || many > 2 {
		t.Errorf("a follower looks at %d slots for a change of 1,000 records and at %d for one of 100,000, want 2", few, many)
	}
}

func TestAChangeIsEncodedOnceForAllFollowers(t *testing.T) {
	j := NewJournal()
	for i := range 10 {
		j.Put("a", machine(fmt.Sprintf("Kind/ns/%d", i), 1, "before"))
	}
	walks := make([]walk, 50)
	for i := range walks {
		walks[i] = walk{site: "a", position: j.Counter()}
	}
	j.Put("a", machine("Kind/ns/3", 2, "after"))
	first := j.next(&walks[0], mostRecords, mostBytes).records[0]
	for i := range walks[1:] {
		b := j.next(&walks[i+1], mostRecords, mostBytes)
		if len(b.records) != 1 || &b.records[0][0] != &first[0] {
			t.Fatalf("follower %d is sent bytes of its own", i+1)
		}
	}
	allocated := testing.AllocsPerRun(100, func() {
		w := walk{site: "a", position: j.Counter() - 1}
		j.next(&w, mostRecords, mostBytes)
	})
	if allocated > 1 {
		t.Errorf("a follower costs %v allocations, want one for the list of what it is sent", allocated)
	}
}

func TestAPutAllocatesTheSameWithManyMachines(t *testing.T) {
	allocations := func(records int) float64 {
		j := NewJournal()
		for i := range records {
			j.Put("", machine(fmt.Sprintf("Kind/ns/%d", i), 1, ""))
		}
		r, i := machine("Kind/ns/7", 1, "text"), uint64(0)
		return testing.AllocsPerRun(1000, func() {
			i++
			r.Version = i
			j.Put("", r)
		})
	}
	if few, many := allocations(1_000), allocations(100_000); few != many || many > 4 {
		t.Errorf("a change allocates %v times with 1,000 records and %v times with 100,000, want at most 4", few, many)
	}
}

func TestForgottenDeletionsMakeAGap(t *testing.T) {
	j := NewJournal()
	j.Put("", machine("Kind/ns/kept", 1, ""))
	r := newReader(j, "")
	r.read(t, j, 10)
	held := &streampb.Position{Epoch: j.Epoch(), Counter: r.walk.position}
	for i := range maxTombstones + 1 {
		key := fmt.Sprintf("Kind/ns/%d", i)
		j.append(&record{key: key})
		j.append(&record{key: key, deleted: true})
	}
	if j.Resumes(held) {
		t.Error("a follower that was away for too long resumes")
	}
	if b := j.next(&r.walk, 10, 1<<20); !b.gap {
		t.Error("a slow follower is told of no gap")
	}
	if j.Len() != 1 {
		t.Errorf("%d records, want 1", j.Len())
	}
	if j.Resumes(&streampb.Position{Epoch: "another", Counter: j.Counter()}) {
		t.Error("a follower resumes in the epoch of another manager")
	}
	if !j.Resumes(&streampb.Position{Epoch: j.Epoch(), Counter: j.Counter()}) {
		t.Error("a follower that holds everything does not resume")
	}
}

func TestDeletionsDuringASnapshotAreTold(t *testing.T) {
	j := NewJournal()
	for i := range 10 {
		j.Put("", machine(fmt.Sprintf("Kind/ns/%d", i), 1, ""))
	}
	r := newReader(j, "")
	r.read(t, j, 5)
	j.Delete("Kind/ns/0")
	for r.read(t, j, 5) {
	}
	if _, has := r.has["Kind/ns/0"]; has || len(r.has) != 9 {
		t.Errorf("after a deletion in the middle of a snapshot the reader has %v", r.has)
	}
}

// TestWhatIsReplacedIsForgotten: payloads of records that were replaced or deleted are in memory no longer.
func TestWhatIsReplacedIsForgotten(t *testing.T) {
	j := NewJournal()
	for i := range slack / 2 {
		j.Put("", machine("Kind/ns/a", uint64(i), "payload"))
		j.Put("", machine("Kind/ns/b", uint64(i), "secret"))
	}
	j.Delete("Kind/ns/b")
	empty := 0
	for _, s := range j.log {
		switch {
		case s.record == nil:
			empty++
		case j.records[s.record.key] != s.record:
			t.Fatalf("%s as of %d is held", s.record.key, s.counter)
		}
	}
	if empty == 0 {
		t.Error("the log has no empty slot")
	}
}

// TestWhatIsTheSameIsNotSentAgain: nothing but the same content, version and site is.
func TestWhatIsTheSameIsNotSentAgain(t *testing.T) {
	j := NewJournal()
	j.Put("a", machine("Kind/ns/x", 1, "text"))
	profile := func() *streampb.Record {
		configs := map[string]*streampb.Content{}
		for i := range 20 {
			configs[fmt.Sprint(i)] = &streampb.Content{Bytes: []byte{byte(i)}}
		}
		return &streampb.Record{Key: "Profile/ns/p", Body: &streampb.Record_Profile{Profile: &streampb.Profile{Configs: configs}}}
	}
	j.Put(booturl.EverySite, profile())
	for _, c := range []struct {
		name    string
		change  func()
		changes uint64
	}{
		{"the same", func() { j.Put("a", machine("Kind/ns/x", 1, "text")) }, 0},
		{"the same with maps", func() { j.Put(booturl.EverySite, profile()) }, 0},
		{"another version", func() { j.Put("a", machine("Kind/ns/x", 2, "text")) }, 1},
		{"another content", func() { j.Put("a", machine("Kind/ns/x", 2, "other")) }, 1},
		{"another site", func() { j.Put("b", machine("Kind/ns/x", 2, "other")) }, 1},
		{"deleted", func() { j.Delete("Kind/ns/x") }, 1},
		{"deleted again", func() { j.Delete("Kind/ns/x") }, 0},
		{"the same as before it was deleted", func() { j.Put("b", machine("Kind/ns/x", 2, "other")) }, 1},
	} {
		before := j.Counter()
		if c.change(); j.Counter()-before != c.changes {
			t.Errorf("%s: %d changes, want %d", c.name, j.Counter()-before, c.changes)
		}
	}
	r := newReader(j, "b")
	for r.read(t, j, 10) {
	}
	if r.has["Kind/ns/x"] != "other" || len(r.has) != 2 {
		t.Errorf("site b has %v", r.has)
	}
}

func BenchmarkPut(b *testing.B) {
	for _, n := range []int{1_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			j := NewJournal()
			keys := make([]string, n)
			for i := range n {
				keys[i] = fmt.Sprintf("Kind/ns/%d", i)
				j.Put("", machine(keys[i], 1, ""))
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				j.Put("", machine(keys[i%n], 2, "text"))
			}
		})
	}
}
