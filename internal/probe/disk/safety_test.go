package disk

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/farrier-dev/farrier/internal/inspection"
)

// part is a disk of a drawn machine.
type part struct {
	path   string
	medium *medium
	exempt bool
	twin   bool // a second path to one that is in use
	before map[int64][block]byte
}

// machine is a drawn machine: disks of all kinds, some to be left alone, with faults.
type machine struct {
	src         *fakeSource
	parts       []part
	controllers []*fakeController
}

// draw makes a machine. What its tenant left is on all of its disks.
func draw(t *rapid.T) *machine {
	m := &machine{src: newSource()}
	for c := range rapid.IntRange(0, 2).Draw(t, "NVMe controllers") {
		name := fmt.Sprintf("nvme%d", c)
		controller := newController(rapid.IntRange(1, 3).Draw(t, name+" namespaces"))
		controller.oacs = rapid.SampledFrom([]uint16{0, 2}).Draw(t, name+" format")
		controller.sanicap = rapid.Uint32Range(0, 7).Draw(t, name+" sanitize")
		controller.fna = byte(rapid.IntRange(0, 7).Draw(t, name+" format attributes"))
		controller.lies = rapid.Bool().Draw(t, name+" erases nothing")
		for _, opcode := range []uint8{nvmeSanitize, nvmeFormat} {
			if rapid.IntRange(0, 3).Draw(t, fmt.Sprintf("%s refuses %#x", name, opcode)) == 0 {
				controller.fails[opcode] = &NVMeStatusError{Status: 1}
			}
		}
		m.controllers = append(m.controllers, controller)
		for i, medium := range controller.media {
			d := Disk{Namespace: uint32(i + 1), Group: name}
			m.add(t, fmt.Sprintf("/dev/%sn%d", name, i+1), d, medium, nvmeNamespace{medium, controller})
		}
	}
	for i := range rapid.IntRange(0, 4).Draw(t, "other disks") {
		path := fmt.Sprintf("/dev/sd%c", 'a'+i)
		medium := newMedium(fakeDisk).tenantData()
		medium.loses = rapid.IntRange(0, 5).Draw(t, path+" loses writes") == 0
		// Disks of one group are one medium over several paths, or share an enclosure.
		d := Disk{Group: rapid.SampledFrom([]string{"", "", "shared"}).Draw(t, path+" group")}
		if rapid.Bool().Draw(t, path+" is ATA") {
			a := newATA(rapid.Uint16Range(0, 1<<9-1).Draw(t, path+" security"))
			a.medium, d.ATA = medium, true
			m.add(t, path, d, medium, a)
			continue
		}
		d.WriteZeroes = rapid.Bool().Draw(t, path+" offers to write zeros")
		m.add(t, path, d, medium, &zeroing{medium: medium, lies: rapid.Bool().Draw(t, path+" writes none")})
	}
	if i := slices.IndexFunc(m.src.disks, func(d Disk) bool { return d.InUse != "" }); i >= 0 && rapid.Bool().Draw(t, "a second path to what is in use") {
		m.src.disks[i].WWID = "naa.5"
		p := m.parts[i]
		p.path, p.exempt, p.twin = "/dev/twin", false, true
		m.parts = append(m.parts, p)
		m.src.add(Disk{BlockDevice: inspection.BlockDevice{Path: p.path, WWID: "naa.5"}, Group: "naa.5"}, &zeroing{medium: p.medium})
	}
	return m
}

func (m *machine) add(t *rapid.T, path string, d Disk, medium *medium, dev Device) {
	d.BlockDevice = named(path)
	switch rapid.SampledFrom([]string{"", "", "", "in use", "removable", "read-only", "all"}).Draw(t, path+" is left alone because") {
	case "in use":
		d.InUse = "boot medium of the running system"
	case "removable":
		d.Removable = true
	case "read-only":
		d.ReadOnly = true
	case "all":
		d.InUse, d.Removable, d.ReadOnly = "mounted at /", true, true
	}
	p := part{path: path, medium: medium, exempt: d.InUse != "" || d.Removable || d.ReadOnly, before: map[int64][block]byte{}}
	for at, content := range medium.blocks {
		p.before[at] = *content
	}
	m.parts = append(m.parts, p)
	m.src.add(d, dev)
}

// touched says what became of a disk that was to be left alone; empty: nothing.
func (m *machine) touched(p part) string {
	now := map[int64][block]byte{}
	for at, content := range p.medium.blocks {
		now[at] = *content
	}
	switch {
	case !maps.Equal(p.before, now):
		return "its content has changed"
	case p.medium.writes != 0:
		return "it was written to"
	case slices.Contains(m.src.opened, p.path), slices.Contains(m.src.looked, p.path):
		return "it was opened"
	}
	return ""
}

// TestNothingIsTouchedThatIsLeftAlone: whatever disks a machine has, however they share controllers, and whatever goes
// wrong, those in use, removable and read-only ones keep every byte. Without an order, all do.
func TestNothingIsTouchedThatIsLeftAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := draw(t)
		var order inspection.Mandate
		mode := rapid.SampledFrom([]inspection.CleanMode{"", inspection.CleanNone, inspection.CleanMetadata, inspection.CleanFull, inspection.CleanFull, "shred"}).Draw(t, "mode")
		if mode != "" {
			order = mandate(t, mode)
		}
		records, err := Clean(t.Context(), order, m.src, Options{Clock: newSteppingClock()})
		ordered := mode == inspection.CleanMetadata || mode == inspection.CleanFull
		if permitted := order.Permits(); permitted != (err == nil) || permitted && len(records) != len(m.parts) {
			t.Fatalf("mode %q: %d records of %d disks, %v", mode, len(records), len(m.parts), err)
		}
		for i, p := range m.parts {
			if p.exempt || p.twin || !order.Permits() {
				if why := m.touched(p); why != "" {
					t.Fatalf("%s, mode %q: %s", p.path, mode, why)
				}
			}
			if records == nil {
				continue
			}
			r := records[i]
			if r.Path != p.path || p.exempt != (r.Result == inspection.CleanedExempt) {
				t.Fatalf("%s: on record %+v", p.path, r)
			}
			if (p.twin || !ordered) && r.Result == inspection.CleanedOK {
				t.Fatalf("%s, mode %q: on record as clean: %+v", p.path, mode, r)
			}
			if mode == inspection.CleanFull && r.Result == inspection.CleanedOK {
				for at, content := range p.medium.blocks {
					if strings.Contains(string(content[:]), "of a tenant") {
						t.Fatalf("%s: on record as clean by %s, and a tenant's data is at byte %d", p.path, r.Method, at*block)
					}
				}
			}
		}
	})
}
