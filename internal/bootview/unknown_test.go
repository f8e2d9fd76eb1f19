package bootview

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestUnknownMachines(t *testing.T) {
	var u UnknownMachines
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	first := UnknownMachine{Address: "10.0.0.1", UUID: "a", Path: "/ipxe/a"}
	for _, c := range []struct {
		what  string
		asks  UnknownMachine
		after time.Duration
		news  bool
	}{
		{"the first question", first, 0, true},
		{"the second one", first, time.Minute, false},
		{"another machine", UnknownMachine{Address: "10.0.0.2", MAC: "m"}, 2 * time.Minute, true},
		{"one that still asks hours later", first, 2 * time.Hour, true},
	} {
		if noted, news := u.Note(c.asks, now.Add(c.after)); news != c.news || !noted.is(&c.asks) {
			t.Errorf("%s: news %t, %+v", c.what, news, noted)
		}
	}
	list := u.List(now.Add(2 * time.Hour))
	if len(list) != 2 || list[0].UUID != "a" || list[0].Times != 3 || !list[0].First.Equal(now) || list[1].MAC != "m" {
		t.Errorf("%+v", list)
	}
	if list := u.List(now.Add(25 * time.Hour)); len(list) != 1 {
		t.Errorf("a day later: %+v", list)
	}
}

// TestAFloodOfInventedMachinesStaysSmall, and takes nobody else's place.
func TestAFloodOfInventedMachinesStaysSmall(t *testing.T) {
	var u UnknownMachines
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	u.Note(UnknownMachine{Address: "10.0.0.1", UUID: "real"}, now)
	for i := range 10_000 {
		u.Note(UnknownMachine{Address: "10.0.0.2", UUID: fmt.Sprint(i), Serial: strings.Repeat("x", 10_000)}, now)
		u.Note(UnknownMachine{Address: fmt.Sprintf("2001:db8::%x", i), UUID: fmt.Sprint(i)}, now)
	}
	list := u.List(now)
	if len(list) != 1+2*maxUnknownThere {
		t.Errorf("%d machines of one address and one network", len(list))
	}
	found := false
	for _, m := range list {
		found = found || m.UUID == "real"
		if len(m.Serial) > maxUnknownText {
			t.Fatalf("%d bytes are kept", len(m.Serial))
		}
	}
	if !found {
		t.Error("a flood of another host took its place")
	}
	for i := range 10 * maxUnknownHosts {
		u.Note(UnknownMachine{Address: fmt.Sprintf("10.%d.%d.1", i/256, i%256), UUID: "\x1b[31mred\n"}, now)
	}
	if list := u.List(now); len(list) > maxUnknownHosts*maxUnknownThere || u.by.Len() != maxUnknownHosts || strings.ContainsAny(list[0].UUID, "\x1b\n") {
		t.Errorf("%d machines of %d networks, %q", len(list), u.by.Len(), list[0].UUID)
	}
}
