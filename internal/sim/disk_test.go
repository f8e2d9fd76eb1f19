package sim

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	testclock "k8s.io/utils/clock/testing"

	"github.com/farrier-dev/farrier/internal/inspection"
	"github.com/farrier-dev/farrier/internal/sim/fault"
)

// cleaned boots the machine twice: as a tenant has it, and as the probe that is
// ordered to clean in a mode. It returns the second report of the probe.
func cleaned(t *testing.T, m *Machine, site *bootSite, mode inspection.CleanMode) (BootRecord, []inspection.Registration) {
	t.Helper()
	tenant(t, m, site)
	site.mu.Lock()
	site.order = `{"cleanup":{"mode":"` + string(mode) + `"}}`
	site.mu.Unlock()
	site.setIgnition(site.probeIgnition(m.UUID()))
	orderNetworkBoot(t, m)
	record := settled(t, m)
	return record, site.registrations()
}

// tenant installs a system and turns the machine off again.
func tenant(t *testing.T, m *Machine, site *bootSite) {
	t.Helper()
	site.setIgnition(plainIgnition)
	orderNetworkBoot(t, m)
	if r := settled(t, m); r.Outcome != OutcomeInstalled {
		t.Fatalf("outcome %q: %s", r.Outcome, r.Why)
	}
	if _, err := m.Reset("ForceOff"); err != nil {
		t.Fatal(err)
	}
}

// machineOf finds a machine of a model: models differ in how their disks are wiped.
func machineOf(t *testing.T, rack *Rack, model string) *Machine {
	t.Helper()
	for i := range rack.bmcs {
		if m := rack.Machine(i); m.name == model {
			return m
		}
	}
	t.Fatalf("no %s in this rack", model)
	return nil
}

func methodsOf(records []inspection.DiskCleanup) []string {
	var out []string
	for _, r := range records {
		out = append(out, r.Method)
	}
	return slices.Compact(out)
}

func TestTenantLeavesTraces(t *testing.T) {
	site := newBootSite(t)
	rack := startRack(t, Options{BootURL: site.bootURL})
	tenant(t, rack.Machine(0), site)
	for i, d := range rack.Disks(0) {
		want := []Trace{TracePartitions, TraceBackup, TraceFileSystem, TraceData}
		if i > 0 {
			want = []Trace{TraceFileSystem, TraceData}
		}
		if diff := cmp.Diff(want, d.Traces()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", d.Path(), diff)
		}
	}
}

func TestCleaning(t *testing.T) {
	for _, tc := range []struct {
		model   string
		mode    inspection.CleanMode
		methods []string
		left    []Trace
	}{
		{"A120", inspection.CleanFull, []string{"nvme-sanitize-block-erase"}, nil},
		{"A120", inspection.CleanMetadata, []string{"metadata"}, []Trace{TraceData}},
		{"S480", inspection.CleanFull, []string{"ata-secure-erase-enhanced", "write-zeroes"}, nil},
	} {
		t.Run(tc.model+" "+string(tc.mode), func(t *testing.T) {
			site := newBootSite(t)
			m := machineOf(t, startRack(t, Options{Servers: 12, BootURL: site.bootURL}), tc.model)
			record, reports := cleaned(t, m, site, tc.mode)
			if record.Outcome != OutcomeProbe || len(reports) != 2 {
				t.Fatalf("outcome %q: %s; %d reports", record.Outcome, record.Why, len(reports))
			}
			if reports[0].Data.Cleanup != nil {
				t.Errorf("the first report tells of cleaning: %+v", reports[0].Data.Cleanup)
			}
			records := reports[1].Data.Cleanup
			if diff := cmp.Diff(tc.methods, methodsOf(records)); diff != "" || len(records) != len(m.Disks()) {
				t.Errorf("%d records, methods (-want +got):\n%s", len(records), diff)
			}
			for i, d := range m.Disks() {
				if r := records[i]; r.Result != inspection.CleanedOK || r.Path != d.Path() || r.Serial != d.Serial() || r.WWID != d.wwid {
					t.Errorf("record %+v", r)
				}
				if diff := cmp.Diff(tc.left, d.Traces()); diff != "" || d.Empty() != (tc.left == nil) {
					t.Errorf("%s (-want +got):\n%s", d.Path(), diff)
				}
			}
		})
	}
}

func TestCleaningOfADiskThatFails(t *testing.T) {
	for _, model := range []string{"A120", "S480"} {
		site := newBootSite(t)
		rack := startRack(t, Options{Servers: 12, BootURL: site.bootURL, Faults: []fault.Spec{{Kind: fault.DiskFails, Share: 1, Value: "2"}}})
		m := machineOf(t, rack, model)
		_, reports := cleaned(t, m, site, inspection.CleanFull)
		for i, r := range reports[len(reports)-1].Data.Cleanup {
			want := inspection.CleanedOK
			if i == 1 {
				want = inspection.CleanedFailed
			}
			if r.Result != want || (r.Error == "") != (want == inspection.CleanedOK) {
				t.Errorf("%s: %+v", model, r)
			}
		}
		if d := m.Disks()[1]; !slices.Contains(d.Traces(), TraceData) {
			t.Errorf("%s: a disk that fails lost its data", model)
		}
	}
}

func TestOldProbe(t *testing.T) {
	site := newBootSite(t)
	rack := startRack(t, Options{BootURL: site.bootURL, Faults: []fault.Spec{{Kind: fault.OldProbe, Share: 1}}})
	record, reports := cleaned(t, rack.Machine(0), site, inspection.CleanFull)
	if record.Outcome != OutcomeProbe || len(reports) != 1 || reports[0].Data.Capabilities != nil {
		t.Errorf("outcome %q, %d reports, capabilities %v", record.Outcome, len(reports), reports[0].Data.Capabilities)
	}
	if rack.Disks(0)[0].Traces() == nil {
		t.Error("an agent that cannot clean cleaned")
	}
}

func TestPowerOffDuringErase(t *testing.T) {
	site := newBootSite(t)
	clock := testclock.NewFakeClock(time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC))
	rack := startRack(t, Options{Servers: 12, BootURL: site.bootURL, Clock: clock, Timing: Timing{Erase: time.Hour}})
	m := machineOf(t, rack, "A120")
	tenant(t, m, site)
	site.mu.Lock()
	site.order = `{"cleanup":{"mode":"full"}}`
	site.mu.Unlock()
	site.setIgnition(site.probeIgnition(m.UUID()))
	orderNetworkBoot(t, m)
	eventually(t, "the agent waits for a sanitize operation", clock.HasWaiters)
	if _, err := m.Reset("ForceOff"); err != nil {
		t.Fatal(err)
	}
	settled(t, m)
	if len(site.registrations()) != 1 || m.Disks()[0].Traces() == nil || m.Disks()[0].Erases() != 0 {
		t.Errorf("%d reports, traces %v", len(site.registrations()), m.Disks()[0].Traces())
	}
}

func TestBootState(t *testing.T) {
	site := newBootSite(t)
	m := startRack(t, Options{BootURL: site.bootURL}).Machine(0)
	site.setIgnition(`{"ignition":{"version":"3.4.0"},"systemd":{"units":[{"name":"booted.service","enabled":true,
	 "contents":"[Service]\nExecStart=/usr/bin/curl -fsS -X POST --data @/run/booted ` + site.URL + `/probe/t/bootstate\n"}]}}`)
	site.fail("/probe/t/bootstate", 401)
	orderNetworkBoot(t, m)
	if r := settled(t, m); r.Outcome != OutcomeInstalled || r.Why != "" {
		t.Fatalf("outcome %q: %s", r.Outcome, r.Why)
	}
	site.mu.Lock()
	states := site.states
	site.mu.Unlock()
	if len(states) != 1 || !states[0].Booted || states[0].SystemUUID != m.UUID() {
		t.Errorf("boot states %+v", states)
	}
	// A system that has installed itself boots from disk, until that is wiped.
	for _, want := range []Outcome{OutcomeInstalled, OutcomeFirmware} {
		if _, err := m.Reset("ForceRestart"); err != nil {
			t.Fatal(err)
		}
		if r := settled(t, m); r.Outcome != want {
			t.Errorf("outcome %q: %s, want %q", r.Outcome, r.Why, want)
		}
		m.Disks()[0].zero(0, 16<<20)
	}
}

func TestBootStateOfTheCommandLine(t *testing.T) {
	base, ok := bootStateBase(`/usr/bin/curl -d "{}" "http://b/probe/a%%20b/bootstate"`)
	if !ok || base != "http://b/probe/a%20b" {
		t.Errorf("%q, %t", base, ok)
	}
	if base, ok := bootStateBase("/usr/bin/cat /var/lib/bootstate"); ok {
		t.Errorf("a file is taken for a URL: %q", base)
	}
}

// TestDiskIsADisk compares with plain memory.
func TestDiskIsADisk(t *testing.T) {
	const size = 64 << 10
	random := rand.New(rand.NewPCG(1, 2))
	d := &Disk{drive: drive{diskModel: diskModel{bytes: size}}, blocks: map[int64]*[diskBlock]byte{}}
	want := make([]byte, size)
	for range 2000 {
		at := random.Int64N(size)
		part := make([]byte, random.Int64N(min(3*diskBlock, size-at))+1)
		switch random.IntN(3) {
		case 0:
			for i := range part {
				part[i] = byte(random.Uint32())
			}
			fallthrough
		case 1:
			if _, err := d.WriteAt(part, at); err != nil {
				t.Fatal(err)
			}
			copy(want[at:], part)
		default:
			d.zero(at, int64(len(part)))
			clear(want[at:][:len(part)])
		}
		got := make([]byte, len(part)+100)
		n, _ := d.ReadAt(got, max(at-50, 0))
		if !bytes.Equal(got[:n], want[max(at-50, 0):][:n]) {
			t.Fatalf("what was read at %d is not what was written", at)
		}
	}
	d.zero(0, size)
	if !d.Empty() {
		t.Error("zeros take memory")
	}
	if _, err := d.WriteAt([]byte("x"), size); err == nil || !strings.Contains(err.Error(), "beyond the end") {
		t.Errorf("write at the end: %v", err)
	}
}

func TestAdminShowsDisks(t *testing.T) {
	site := newBootSite(t)
	rack := startRack(t, Options{BootURL: site.bootURL})
	m := rack.Machine(0)
	tenant(t, m, site)
	out, err := rack.adminDisks(0, nil)
	if err != nil {
		t.Fatal(err)
	}
	disks := out.(map[string][]diskState)[m.UUID()]
	if len(disks) != len(m.Disks()) || disks[0].Serial != m.Disks()[0].Serial() || len(disks[0].Traces) != 4 || disks[0].Empty {
		t.Errorf("disks %+v", disks)
	}
}

// TestAProbeOrAKernelThatHangs: the machine stays on, and what comes later is never asked for.
func TestAProbeOrAKernelThatHangs(t *testing.T) {
	for kind, fetched := range map[fault.Kind]bool{fault.SilentProbe: true, fault.KernelPanic: false} {
		t.Run(string(kind), func(t *testing.T) {
			site := newBootSite(t)
			rack := startRack(t, Options{BootURL: site.bootURL, Faults: []fault.Spec{{Kind: kind, Share: 1}}})
			m := rack.Machine(0)
			site.setIgnition(site.probeIgnition(m.UUID()))
			orderNetworkBoot(t, m)
			record := settled(t, m)
			if record.Outcome != OutcomeFailed || len(site.registrations()) != 0 || m.PowerState() != PowerOn {
				t.Errorf("outcome %q, power %s, %d reports", record.Outcome, m.PowerState(), len(site.registrations()))
			}
			if slices.Contains(whats(record), WhatIgnition) != fetched {
				t.Errorf("fetched %v", whats(record))
			}
		})
	}
}
