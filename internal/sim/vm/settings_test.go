package vm

import (
	"net/netip"
	"strings"
	"testing"
)

// What is missing is named with the package of Debian that has it.
func TestNeeds(t *testing.T) {
	all := Settings{Kinds: []Kind{{UEFI, true}, {SecureBoot, false}, {BIOS, false}}}
	var packages []string
	for _, n := range all.needs() {
		packages = append(packages, n.debian)
	}
	if got, want := strings.Join(packages, " "), "qemu-system-x86 ipxe-qemu ovmf ovmf swtpm"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	bios := Settings{Kinds: []Kind{{BIOS, false}}}
	if n := len(bios.needs()); n != 2 {
		t.Errorf("a BIOS machine needs %d things: %+v", n, bios.needs())
	}
	if supported() != nil {
		return // which Check says in place of all else
	}
	t.Setenv("PATH", t.TempDir())
	if err := all.Check(); err == nil || !strings.Contains(err.Error(), "needs qemu-system-x86_64: Debian package qemu-system-x86") || !strings.Contains(err.Error(), "needs swtpm: Debian package swtpm") {
		t.Errorf("%v", err)
	}
}

func TestCheckNumbers(t *testing.T) {
	good := Settings{Machines: 2, MemoryMiB: 512, Disks: []int64{1 << 30}, Network: netip.MustParsePrefix("192.168.177.1/24")}
	if err := good.checkNumbers(); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Settings){
		"no machine":    func(s *Settings) { s.Machines = 0 },
		"many machines": func(s *Settings) { s.Machines = MaxMachines + 1 },
		"no memory":     func(s *Settings) { s.MemoryMiB = 64 },
		"no disk":       func(s *Settings) { s.Disks = nil },
		"half a MiB":    func(s *Settings) { s.Disks = []int64{1<<30 + 512} },
		"IPv6":          func(s *Settings) { s.Network = netip.MustParsePrefix("2001:db8::1/64") },
		"little room":   func(s *Settings) { s.Machines, s.Network = 6, netip.MustParsePrefix("192.168.177.1/29") },
		"no room":       func(s *Settings) { s.Network = netip.MustParsePrefix("192.168.177.1/31") },
	} {
		t.Run(name, func(t *testing.T) {
			s := good
			change(&s)
			if err := s.checkNumbers(); err == nil {
				t.Errorf("taken: %+v", s)
			}
		})
	}
}
