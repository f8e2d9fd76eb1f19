package lease

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	testingclock "k8s.io/utils/clock/testing"
)

// A file system that has extended a file before a crash, and not written it, leaves zeros. What is after them counts.
func TestZerosInTheFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "leases")
	p, _ := newPool(t, Config{File: file})
	first := take(t, p, mac(1), true)
	_ = p.Close()
	written, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	later := fmt.Sprintf(`{"address":"192.0.2.15","client":%q,"known":true,"bound":true,"expires":1700003600}`, mac(2))
	damaged := append(append(written, make([]byte, 3*maxLine)...), "\n"+later+"\n"...)
	if err := os.WriteFile(file, damaged, 0o600); err != nil {
		t.Fatal(err)
	}
	p, _ = newPool(t, Config{File: file})
	for client, want := range map[string]netip.Addr{mac(1): first, mac(2): netip.MustParseAddr("192.0.2.15")} {
		if held := p.Held(client); len(held) != 1 || held[0] != want {
			t.Errorf("%s has %v, want %s", client, held, want)
		}
	}
}

// TestAClockThatWasSetBack: a process that starts before the time at which the last one wrote does not keep addresses for longer than they were leased.
func TestAClockThatWasSetBack(t *testing.T) {
	file := filepath.Join(t.TempDir(), "leases")
	p, before := newPool(t, Config{File: file})
	a := take(t, p, mac(1), false)
	_ = p.Close()
	back := testingclock.NewFakePassiveClock(before.Now().Add(-30 * 24 * time.Hour))
	p, err := New(Config{Ranges: p.cfg.Ranges, File: file, Clock: back})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Close() }()
	if _, has := p.Client(a); !has {
		t.Errorf("%s has lost its address", mac(1))
	}
	back.SetTime(back.Now().Add(DefaultTime))
	if l, has := p.Client(a); has {
		t.Errorf("%s is kept until %s, and it is %s", a, l.Expires, back.Now())
	}
}

// TestAFileThatCannotBeWrittenAnew: leases go on as long as there is room for a line, and the file is written anew when that is possible.
func TestAFileThatCannotBeWrittenAnew(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "leases")
	p, _ := newPool(t, Config{File: file})
	a := take(t, p, mac(1), true)
	p.journal.path = filepath.Join(dir, "gone", "leases")
	bind := func() {
		t.Helper()
		for range 2 * rewriteAfter {
			if _, err := p.Bind(mac(1), true, a, false); err != nil {
				t.Fatal(err)
			}
		}
	}
	bind()
	p.journal.path = file
	bind()
	if p.journal.lines > rewriteAfter {
		t.Errorf("the file has %d lines", p.journal.lines)
	}
	// Beyond what is ever read again nobody is told of a lease that would be lost.
	p.journal.path, p.journal.lines, p.journal.due = filepath.Join(dir, "gone", "leases"), maxLines, maxLines
	if _, err := p.Bind(mac(1), true, a, false); err == nil {
		t.Error("a file without bounds")
	}
	p.journal.path = file
}
