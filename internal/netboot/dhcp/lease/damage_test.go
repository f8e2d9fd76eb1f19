package lease

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
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

// full has nothing written to the file of a pool any more, as on a disk without room, until the test ends the outage.
func full(t *testing.T, p *Pool) (end func()) {
	t.Helper()
	room, path := p.journal.file, p.journal.path
	f, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	p.journal.file, p.journal.path = f, filepath.Join(t.TempDir(), "gone", "leases")
	return func() {
		_ = f.Close()
		p.journal.file, p.journal.path = room, path
	}
}

// TestAFullDisk: who has an address keeps it; nobody gets one that a restart would not know of.
func TestAFullDisk(t *testing.T) {
	file := filepath.Join(t.TempDir(), "leases")
	p, clock := newPool(t, Config{File: file})
	a := take(t, p, mac(1), true)
	end := full(t, p)
	clock.SetTime(clock.Now().Add(DefaultTime / 2))
	if l, err := p.Bind(mac(1), true, a, true); !errors.Is(err, ErrUnsaved) || l.Expires != clock.Now().Add(DefaultTime) {
		t.Errorf("a lease is prolonged until %s: %v", l.Expires, err)
	}
	for range 2 { // it asks again
		offered, _, err := p.Offer(mac(2), true, subnet, none)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Bind(mac(2), true, offered.Addr, false); err == nil || errors.Is(err, ErrUnsaved) {
			t.Errorf("a new lease: %v", err)
		}
	}
	if held := p.Held(mac(2)); len(held) > 0 {
		t.Errorf("it has %v, which nobody has told it", held)
	}
	end()
	second := take(t, p, mac(2), true)
	_ = p.Close()
	p, _ = newPool(t, Config{File: file})
	for client, want := range map[string]netip.Addr{mac(1): a, mac(2): second} {
		if l, fresh, err := p.Offer(client, true, subnet, none); err != nil || fresh || l.Addr != want {
			t.Errorf("%s: %v, %v; had %s", client, l, err, want)
		}
	}
}

// TestAStartOnAFullDisk: a name that is too long for a file beside it stands for a disk without room for one.
func TestAStartOnAFullDisk(t *testing.T) {
	const longest = 255
	file := filepath.Join(t.TempDir(), strings.Repeat("l", longest-len(".lock")))
	p, _ := newPool(t, Config{File: file})
	if err := p.rewrite(); err == nil {
		t.Fatal("there is room for another file")
	}
	a := take(t, p, mac(1), true)
	_ = p.Close()
	p, _ = newPool(t, Config{File: file})
	if held := p.Held(mac(1)); len(held) != 1 || held[0] != a {
		t.Errorf("it has %v, and had %s", held, a)
	}
	take(t, p, mac(2), true)
}
