package viewfile

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/farrier-dev/farrier/internal/bootstream"
	"github.com/farrier-dev/farrier/internal/bootstream/sealed"
	"github.com/farrier-dev/farrier/internal/bootstream/sealed/sealedtest"
	"github.com/farrier-dev/farrier/internal/bootstream/streampb"
)

var start = time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)

func create(t testing.TB, d *sealed.Dir) *File {
	t.Helper()
	f, err := Create(d, sealedtest.Key(t, 1), logr.Discard())
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func machine(key string, counter uint64, size int) *streampb.Record {
	return &streampb.Record{Key: key, Counter: counter, Version: counter * 10, Body: &streampb.Record_Machine{
		Machine: &streampb.Machine{Uuid: key, Script: &streampb.Script{Text: bytes.Repeat([]byte{byte(counter)}, size)}},
	}}
}

func deleted(key string, counter uint64) *streampb.Record {
	return &streampb.Record{Key: key, Counter: counter, Version: counter * 10, Body: &streampb.Record_Deleted{Deleted: &streampb.Deleted{}}}
}

func mark(counter uint64) *bootstream.Progress {
	return &bootstream.Progress{
		Position: &streampb.Position{Epoch: "e", Counter: counter},
		Observed: map[string]uint64{"Server": counter}, Heard: start.Add(time.Duration(counter) * time.Second), SecretsUntil: start.Add(time.Hour + time.Duration(counter)),
	}
}

// model is the naive view: the last record of each key, in the order of their writes, and the last mark.
type model struct {
	records []*streampb.Record
	mark    *bootstream.Progress
}

func (m model) with(changes []*streampb.Record, mark *bootstream.Progress) model {
	for _, c := range changes {
		var others []*streampb.Record
		for _, r := range m.records {
			if r.GetKey() != c.GetKey() {
				others = append(others, r)
			}
		}
		m.records = append(others, c)
	}
	if mark != nil {
		m.mark = mark
	}
	return m
}

func (m model) String() string { return text(m.records, m.mark) }

func text(records []*streampb.Record, mark *bootstream.Progress) string {
	var b strings.Builder
	for _, r := range records {
		encoded, _ := proto.MarshalOptions{Deterministic: true}.Marshal(r)
		fmt.Fprintf(&b, "%x\n", encoded)
	}
	if mark != nil {
		fmt.Fprintf(&b, "%s %d %v %d", mark.Position.GetEpoch(), mark.Position.GetCounter(), mark.Observed, mark.Heard.UnixNano())
		fmt.Fprintf(&b, " %d", mark.SecretsUntil.UnixNano())
	}
	return b.String()
}

// reopen reads a file of these bytes in a directory of its own.
func reopen(t testing.TB, d *sealed.Dir, path string, content []byte) (string, error) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	f, held, err := Open(d, sealedtest.Key(t, 1), logr.Discard())
	if err != nil {
		return "", err
	}
	return text(held.Records, held.Progress), f.Close()
}

// TestACrashAnywhereKeepsWhatWasDurable: whatever is done, a crash at any byte of a write leaves what was there before it, or after it.
func TestACrashAnywhereKeepsWhatWasDurable(t *testing.T) {
	d, path := sealedtest.Dir(t, name)
	other, otherPath := sealedtest.Dir(t, name)
	rapid.Check(t, func(rt *rapid.T) {
		f := create(t, d)
		defer f.Close()
		f.slack = 300
		var m model
		for i := range rapid.IntRange(1, 8).Draw(rt, "steps") {
			counter, before := uint64(i+1), m
			var after model
			old, err := os.ReadFile(path)
			if err != nil {
				rt.Fatal(err)
			}
			draw := func() (changes []*streampb.Record) {
				for range rapid.IntRange(0, 4).Draw(rt, "changes") {
					key := rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(rt, "key")
					if rapid.Bool().Draw(rt, "deleted") {
						changes = append(changes, deleted(key, counter))
					} else {
						changes = append(changes, machine(key, counter, rapid.IntRange(0, 200).Draw(rt, "size")))
					}
				}
				return changes
			}
			var marked *bootstream.Progress
			if rapid.Bool().Draw(rt, "marked") {
				marked = mark(counter)
			}
			if rapid.IntRange(0, 4).Draw(rt, "what") == 0 {
				after = model{}
				s, err := f.Replace()
				if err != nil {
					rt.Fatal(err)
				}
				for range 2 {
					changes := draw()
					if err := s.Add(changes); err != nil {
						rt.Fatal(err)
					}
					after = after.with(changes, nil)
				}
				if marked == nil {
					s.Discard()
					after = before
				} else if err := s.Commit(*marked); err != nil {
					rt.Fatal(err)
				}
				after.mark = map[bool]*bootstream.Progress{true: marked, false: before.mark}[marked != nil]
			} else {
				changes := draw()
				if err := f.Append(changes, marked); err != nil {
					rt.Fatal(err)
				}
				after = before.with(changes, marked)
			}
			m = after
			now, err := os.ReadFile(path)
			if err != nil {
				rt.Fatal(err)
			}
			if got, err := reopen(t, other, otherPath, now); err != nil || got != after.String() {
				rt.Fatalf("%v: got\n%s\nwant\n%s", err, got, after)
			}
			if bytes.HasPrefix(now, old) && len(now) > len(old) { // a rewrite is renamed and has no middle
				cut := rapid.IntRange(len(old), len(now)-1).Draw(rt, "cut")
				if got, err := reopen(t, other, otherPath, now[:cut]); err != nil || got != before.String() {
					rt.Fatalf("cut at %d of %d: %v: got\n%s\nwant\n%s", cut, len(now), err, got, before)
				}
			}
		}
	})
}

// TestTheFileStaysSmall: it is never much longer than twice what is needed, and rewriting costs a byte for each byte appended.
func TestTheFileStaysSmall(t *testing.T) {
	d, path := sealedtest.Dir(t, name)
	f := create(t, d)
	defer f.Close()
	f.slack = 4 << 10
	random := rand.New(rand.NewPCG(1, 2))
	var m model
	var appended, rewritten int64
	for i := range uint64(1500) {
		r := machine(fmt.Sprint("Machine/ns/", random.IntN(20)), i+1, random.IntN(400))
		m = m.with([]*streampb.Record{r}, mark(i))
		before, _ := f.Size()
		if err := f.Append([]*streampb.Record{r}, mark(i)); err != nil {
			t.Fatal(err)
		}
		size, records := f.Size()
		if size < before {
			rewritten += size
		} else {
			appended += size - before
		}
		if size > 2*f.index.live+f.slack+1<<10 || records != len(m.records) {
			t.Fatalf("after %d: %d bytes, %d needed; %d records", i, size, f.index.live, records)
		}
	}
	t.Logf("%d bytes appended, %d rewritten", appended, rewritten)
	if rewritten == 0 || rewritten > appended {
		t.Errorf("%d bytes rewritten for %d appended", rewritten, appended)
	}
	content, _ := os.ReadFile(path)
	if got, err := reopen(t, d, path, content); err != nil || got != m.String() {
		t.Errorf("%v: got\n%s\nwant\n%s", err, got, m)
	}
}

// TestDeletionsAreBounded: the newest are kept, in the file as well.
func TestDeletionsAreBounded(t *testing.T) {
	x := newIndex()
	x.most = 3
	for i := range 100 {
		x.add(fmt.Sprint(i%7), 10, i%3 != 0)
		kept := 0
		for _, p := range x.by {
			if p.deleted {
				kept++
			}
		}
		if kept != x.deleted || kept > x.most || len(x.deletions) > 2*x.most+1 || x.live != int64(10*len(x.by)) {
			t.Fatalf("after %d: %d deletions of %d counted, %d in the list, %d bytes of %d records", i, kept, x.deleted, len(x.deletions), x.live, len(x.by))
		}
	}
}

// faultyFile stands for a disk with so much room.
type faultyFile struct {
	sealed.File
	room *int
}

func (f faultyFile) WriteAt(b []byte, at int64) (int, error) {
	if len(b) <= *f.room {
		*f.room -= len(b)
		return f.File.WriteAt(b, at)
	}
	n, _ := f.File.WriteAt(b[:*f.room], at)
	*f.room = 0
	return n, syscall.ENOSPC
}

func TestAFullDisk(t *testing.T) {
	d, path := sealedtest.Dir(t, name)
	room := 1 << 20
	d.Wrap = func(f sealed.File) sealed.File { return faultyFile{f, &room} }
	f := create(t, d)
	defer f.Close()
	f.slack = 100
	m := model{}.with([]*streampb.Record{machine("a", 1, 300)}, mark(1))
	if err := f.Append(m.records, m.mark); err != nil {
		t.Fatal(err)
	}
	room = 60
	err := f.Append([]*streampb.Record{machine("b", 2, 300)}, mark(2))
	if failed := new(sealed.WriteError); !errors.As(err, &failed) || !failed.Full() {
		t.Fatalf("full: %v", err)
	}
	s, err := f.Replace()
	if err == nil {
		err = s.Add([]*streampb.Record{machine("c", 3, 300)})
		s.Discard()
	}
	if failed := new(sealed.WriteError); !errors.As(err, &failed) || !failed.Full() {
		t.Fatalf("a snapshot: %v", err)
	}
	// There is room for changes, but not to rewrite the file.
	for i := range uint64(4) {
		room = 500
		change := []*streampb.Record{machine("a", 4+i, 300)}
		if err := f.Append(change, nil); err != nil {
			t.Fatal(err)
		}
		m = m.with(change, nil)
	}
	long, _ := f.Size()
	room = 1 << 20
	for i := range uint64(4) {
		change := []*streampb.Record{machine("a", 9+i, 300)}
		if err := f.Append(change, nil); err != nil {
			t.Fatal(err)
		}
		m = m.with(change, nil)
	}
	if short, _ := f.Size(); short >= long {
		t.Errorf("%d bytes, %d before there was room: not rewritten", short, long)
	}
	content, _ := os.ReadFile(path)
	if got, err := reopen(t, d, path, content); err != nil || got != m.String() {
		t.Errorf("%v: got\n%s\nwant\n%s", err, got, m)
	}
}

func TestWhatCannotBeUsedIsAnErrorByType(t *testing.T) {
	d, path := sealedtest.Dir(t, name)
	if _, _, err := Open(d, sealedtest.Key(t, 1), logr.Discard()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	f := create(t, d)
	if err := f.Append([]*streampb.Record{machine("a", 1, 10), machine("b", 2, 10)}, mark(2)); err != nil {
		t.Fatal(err)
	}
	f.Close()
	_, _, err := Open(d, sealedtest.Key(t, 2), logr.Discard())
	if wrong := new(sealed.KeyError); !errors.As(err, &wrong) {
		t.Errorf("another key: %v", err)
	}
	content, _ := os.ReadFile(path)
	content[len(content)-30] ^= 4
	_, err = reopen(t, d, path, content)
	if damage := new(sealed.DamageError); !errors.As(err, &damage) {
		t.Errorf("damaged: %v", err)
	}
	f = create(t, d) // the caller starts empty
	f.Close()
	content, _ = os.ReadFile(path)
	if got, err := reopen(t, d, path, content); err != nil || got != "" {
		t.Errorf("created: %q, %v", got, err)
	}
}

func TestOneSnapshotAtATime(t *testing.T) {
	d, _ := sealedtest.Dir(t, name)
	f := create(t, d)
	defer f.Close()
	s, err := f.Replace()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Replace(); err == nil {
		t.Error("two snapshots")
	}
	if err := f.Append([]*streampb.Record{machine("a", 1, 1)}, nil); err != nil {
		t.Errorf("meanwhile: %v", err)
	}
	if err := s.Commit(*mark(1)); err != nil {
		t.Fatal(err)
	}
	if err := s.Add(nil); !errors.Is(err, errOver) {
		t.Errorf("after its end: %v", err)
	}
	s.Discard()
	if _, records := f.Size(); records != 0 {
		t.Errorf("%d records, want those of the snapshot alone", records)
	}
}

// FuzzFrames: whatever an authentic frame holds, it is decoded or refused.
func FuzzFrames(f *testing.F) {
	batches, err := encode([]*streampb.Record{machine("a", 1, 3), deleted("b", 2)}, mark(3))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(batches[0].frame)
	f.Fuzz(func(t *testing.T, frame []byte) {
		l := loader{index: newIndex(), by: map[string]*streampb.Record{}}
		if l.take(frame) == nil && len(l.held().Records) != len(l.index.by) {
			t.Error("the index has other records")
		}
	})
}

// BenchmarkLoad loads 100,000 records of 1 KiB.
func BenchmarkLoad(b *testing.B) {
	const records = 100_000
	d, _ := sealedtest.Dir(b, name)
	f := create(b, d)
	var changes []*streampb.Record
	for i := range uint64(records) {
		changes = append(changes, machine(fmt.Sprintf("IPXEBootConfig/default/machine-%d", i), i+1, 1<<10))
	}
	if err := f.Append(changes, mark(records)); err != nil {
		b.Fatal(err)
	}
	f.Close()
	for b.Loop() {
		f, held, err := Open(d, sealedtest.Key(b, 1), logr.Discard())
		if err != nil || len(held.Records) != records {
			b.Fatal(err)
		}
		f.Close()
	}
}
