package logbook

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus/testutil"
	clocktesting "k8s.io/utils/clock/testing"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func command(subject string, i int) Entry {
	return Entry{Subject: subject, Kind: KindCommand, What: fmt.Sprintf("POST %d", i), Took: time.Second}
}

func whats(entries []Entry) (all []string) {
	for _, e := range entries {
		all = append(all, e.What)
	}
	return all
}

// kept runs a Book for as long as fill takes, and returns when all is on disk.
func kept(t *testing.T, o Options, fill func(*Book)) *Book {
	t.Helper()
	b := New(o)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- b.Run(ctx) }()
	fill(b)
	stop()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	return b
}

func options(t *testing.T) Options {
	return Options{Directory: filepath.Join(t.TempDir(), "logbook"), Clock: clocktesting.NewFakePassiveClock(noon), Logger: logr.Discard()}
}

// TestWhatIsWrittenIsReadInOrder by subject, live, and by the next process.
func TestWhatIsWrittenIsReadInOrder(t *testing.T) {
	o := options(t)
	first := kept(t, o, func(b *Book) {
		for i := range 3 {
			b.Write(command(ServerSubject("a"), i))
			b.Write(command(ServerSubject("b"), i))
		}
	})
	if got := whats(first.Read(t.Context(), "server/a")); !slices.Equal(got, []string{"POST 0", "POST 1", "POST 2"}) {
		t.Errorf("live: %v", got)
	}
	o.Clock = clocktesting.NewFakePassiveClock(noon.Add(time.Minute))
	second := kept(t, o, func(b *Book) { b.Write(command(ServerSubject("a"), 3)) })
	got := second.Read(t.Context(), "server/a")
	if !slices.Equal(whats(got), []string{"POST 0", "POST 1", "POST 2", "POST 3"}) {
		t.Errorf("after a restart: %v", whats(got))
	}
	if !slices.IsSortedFunc(got, func(a, b Entry) int { return int(a.ID - b.ID) }) || !got[0].Time.Equal(noon) || got[0].Took != time.Second {
		t.Errorf("%+v", got)
	}
}

// TestADamagedSegmentStopsNothing: a tail that was cut off, garbage, and lines of any length are skipped.
func TestADamagedSegmentStopsNothing(t *testing.T) {
	o := options(t)
	kept(t, o, func(b *Book) {
		b.Write(command(ServerSubject("a"), 0))
		b.Write(command(ServerSubject("a"), 1))
	})
	names, err := filepath.Glob(filepath.Join(o.Directory, "*"))
	if err != nil || len(names) != 1 {
		t.Fatal(names, err)
	}
	content, err := os.ReadFile(names[0])
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(content, []byte("\n"))
	damaged := slices.Concat([]byte("\x00\xff garbage\n"), bytes.Repeat([]byte("x"), 3*longestLine), []byte("\n"), lines[0], []byte("\"server/a\"\n"), lines[1][:len(lines[1])/2])
	if err := os.WriteFile(names[0], damaged, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(o.Directory, "entries-99999999999999999999.jsonl"), nil, 0); err != nil {
		t.Fatal(err)
	}
	o.Clock = clocktesting.NewFakePassiveClock(noon.Add(time.Minute))
	b := kept(t, o, func(b *Book) { b.Write(command(ServerSubject("a"), 2)) })
	if got := whats(b.Read(t.Context(), "server/a")); !slices.Equal(got, []string{"POST 0", "POST 2"}) {
		t.Errorf("%v", got)
	}
}

// TestTheDiskIsBounded: the oldest segments go.
func TestTheDiskIsBounded(t *testing.T) {
	o := options(t)
	o.segment, o.segments, o.entries = 4<<10, 3, 10
	const all = 500
	b := kept(t, o, func(b *Book) {
		for i := range all {
			b.Write(command(ServerSubject("a"), i))
		}
	})
	size := int64(0)
	for _, name := range b.names() {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		size += info.Size()
	}
	if size > o.segment*o.segments || len(b.names()) > int(o.segments) {
		t.Errorf("%d bytes in %d segments", size, len(b.names()))
	}
	got := b.Read(t.Context(), "server/a")
	if len(got) <= o.entries || len(got) >= all || got[len(got)-1].What != fmt.Sprintf("POST %d", all-1) {
		t.Errorf("%d entries, the last %s", len(got), got[len(got)-1].What)
	}
	for i, e := range got {
		if want := fmt.Sprintf("POST %d", all-len(got)+i); e.What != want {
			t.Fatalf("%s, want %s: one is missing, or there twice", e.What, want)
		}
	}
}

// TestADiskThatTakesNothing is said once, counted, tried again, and memory goes on.
func TestADiskThatTakesNothing(t *testing.T) {
	o := options(t)
	var said []string
	o.Logger = funcr.New(func(_, args string) { said = append(said, args) }, funcr.Options{})
	now := clocktesting.NewFakePassiveClock(noon)
	o.Clock = now
	if err := os.WriteFile(o.Directory, nil, 0o600); err != nil { // a file where the directory should be
		t.Fatal(err)
	}
	b := New(o)
	var s segment
	write := func(i int) {
		b.Write(command(ServerSubject("a"), i))
		b.append(&s, <-b.queue)
	}
	write(0)
	write(1)
	now.SetTime(noon.Add(pause))
	write(2)
	if len(said) != 1 || b.unwritten.Load() != 3 {
		t.Errorf("%d dropped, said %q", b.unwritten.Load(), said)
	}
	if err := os.Remove(o.Directory); err != nil {
		t.Fatal(err)
	}
	now.SetTime(noon.Add(2 * pause))
	write(3)
	b.close(&s)
	if len(said) != 2 || !strings.Contains(said[1], "written again") || len(b.names()) != 1 {
		t.Errorf("%q, %v", said, b.names())
	}
	if got := b.Read(t.Context(), "server/a"); len(got) != 4 {
		t.Errorf("%v", whats(got))
	}
}

// TestWritingNeverWaits: nobody takes from the queue here.
func TestWritingNeverWaits(t *testing.T) {
	b := New(options(t))
	for i := range maxQueue + 3 {
		b.Write(command(ServerSubject("a"), i))
	}
	want := "# HELP farrier_logbook_dropped_total Entries of the logbook that are not on disk: the queue was full, or the disk did not take them.\n" +
		"# TYPE farrier_logbook_dropped_total counter\nfarrier_logbook_dropped_total{reason=\"disk\"} 0\nfarrier_logbook_dropped_total{reason=\"queue\"} 3\n"
	if err := testutil.CollectAndCompare(b, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
	var none *Book
	none.Write(Entry{})
	if none.Read(t.Context(), "server/a") != nil {
		t.Error("no book has entries")
	}
}

// TestMemoryIsBounded: a rack of 10,000 servers takes no more than 64 MiB, however much happens and however long its texts are.
func TestMemoryIsBounded(t *testing.T) {
	b := New(Options{Clock: clocktesting.NewFakePassiveClock(noon)})
	long := strings.Repeat("x", 4*maxText)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range maxEntries + 1000 {
		b.Write(Entry{Subject: ServerSubject(fmt.Sprintf("node-%05d", i%10_000)), Kind: KindCondition, What: "Discovered", Object: "Server", Detail: fmt.Sprintf("WaitingForReport, Waiting for the report of the probe %d", i)})
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	used := int64(after.HeapAlloc) - int64(before.HeapAlloc)
	t.Logf("%d entries take %d MiB", len(b.entries.slots), used>>20)
	if used > 64<<20 {
		t.Errorf("%d MiB", used>>20)
	}
	b.Write(Entry{Subject: long, What: long, Object: long, Detail: long, Attempt: long, Address: long})
	kept := b.Read(t.Context(), b.entries.slots[(b.entries.next+len(b.entries.slots)-1)%len(b.entries.slots)].subject)
	e := kept[len(kept)-1]
	for _, text := range []string{e.Subject, e.What, e.Object, e.Detail, e.Attempt, e.Address} {
		if len(text) > maxText+len("…") {
			t.Errorf("a text of %d bytes is kept", len(text))
		}
	}
	if len(b.entries.slots) != maxEntries {
		t.Errorf("%d entries", len(b.entries.slots))
	}
}

// TestEntriesShareTheirTexts: what many have in common is in memory once, and nothing of the caller's stays in memory with it.
func TestEntriesShareTheirTexts(t *testing.T) {
	b := New(Options{Clock: clocktesting.NewFakePassiveClock(noon)})
	buffer := strings.Repeat("server/node-7", 2)
	for range 2 {
		b.Write(Entry{Subject: buffer[:13], Kind: KindState, What: "ready"})
	}
	first, second := unsafe.StringData(b.entries.slots[0].subject), unsafe.StringData(b.entries.slots[1].subject)
	if first != second || first == unsafe.StringData(buffer) {
		t.Errorf("the subject is at %p, then at %p, the caller's at %p", first, second, unsafe.StringData(buffer))
	}
}
