package sim

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
)

// BootOverride is what the BMC tells the firmware to boot from.
type BootOverride struct {
	Enabled string // Disabled, Once, Continuous
	Target  BootTarget
	Mode    string // UEFI, Legacy
	HTTPURI string
}

const (
	overrideDisabled   = "Disabled"
	overrideOnce       = "Once"
	overrideContinuous = "Continuous"
)

// Machine is one server: what the BMC turns on and off.
type Machine struct {
	inventory

	rack *Rack
	bmc  *bmc
	// computer is what is switched on, where firmware and operating system are not simulated; nil: they are.
	computer Computer
	number   int        // among the machines of its BMC, from 1
	ip       netip.Addr // of its first network port
	events   eventLog

	mu        sync.Mutex
	power     PowerState
	override  BootOverride
	bootOrder []string
	led       string
	assetTag  string
	resets    map[string]int
	episode   *episode // nil while it is off
	records   []*BootRecord
	disks     []*Disk // nil until somebody looks
	boots     int
	consoles  []*console // views of the serial console

	newBIOS           string // version, if it was updated
	biosBackup        backup
	waitingBIOS       func() // what the next start does about firmware that was written; nil: nothing
	bricked           bool   // its firmware does not get through the self test any more
	bios, pendingBios object // attributes that are, or will be, other than at first
	told              PowerState
	toldBy            string // the fault that makes the BMC tell that
}

// episode is the time from one power-on to the next power-off.
type episode struct {
	ctx    context.Context
	cancel context.CancelFunc
	record *BootRecord
	osRuns bool
	again  bool // a computer is switched on again once it is off
}

func newMachine(b *bmc, number int, inv inventory, ip netip.Addr) *Machine {
	m := &Machine{
		inventory: inv, rack: b.rack, bmc: b, number: number, ip: ip,
		power: PowerOff, led: "Off",
		override: BootOverride{Enabled: overrideDisabled, Target: BootNone, Mode: ModeUEFI},
	}
	for i := range bootOptionNames(inv) {
		m.bootOrder = append(m.bootOrder, bootReference(i))
	}
	m.build()
	return m
}

func bootReference(i int) string { return fmt.Sprintf("Boot%04d", i+1) }

// log is made when something is said: ten thousand machines rarely say anything.
func (m *Machine) log() logr.Logger { return m.rack.opts.Logger.WithValues("systemUUID", m.uuid) }

// UUID is the machine's SMBIOS UUID, canonical.
func (m *Machine) UUID() string { return m.uuid }

// Serial is the machine's serial number.
func (m *Machine) Serial() string { return m.serial }

// MAC is the address of the port that boots.
func (m *Machine) MAC() string { return m.portMAC(0) }

// IP is the address that the machine's own requests come from.
func (m *Machine) IP() netip.Addr { return m.ip }

// Resets counts the reset actions that the BMC accepted, by type.
func (m *Machine) Resets() map[string]int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.resets)
}

// BootOverride is what the next boot would do.
func (m *Machine) BootOverride() BootOverride {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.override
}

// Record is what the machine remembers of its last boots, oldest first.
func (m *Machine) Record() []BootRecord {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make([]BootRecord, 0, len(m.records))
	for _, r := range m.records {
		c := *r
		c.Fetches = slices.Clone(r.Fetches)
		c.Console = slices.Clone(r.Console)
		out = append(out, c)
	}
	return out
}

// beginLocked opens an episode and its record.
func (m *Machine) beginLocked() *episode {
	m.boots++
	e := &episode{record: &BootRecord{Number: m.boots, Start: m.rack.opts.Clock.Now()}}
	e.ctx, e.cancel = context.WithCancel(m.rack.ctx)
	m.episode = e
	if m.records = append(m.records, e.record); len(m.records) > maxRecords {
		m.records = slices.Delete(m.records, 0, len(m.records)-maxRecords)
	}
	m.changedLocked()
	return e
}

func (m *Machine) endLocked() {
	e := m.episode
	if e == nil {
		return
	}
	e.cancel()
	m.episode = nil
	e.record.End = m.rack.opts.Clock.Now()
	defer m.changedLocked()
	if e.record.Outcome == "" {
		e.record.Outcome, e.record.Why = OutcomeInterrupted, "powered off before the boot had come to anything"
	}
}

// note changes the record of an episode.
func (m *Machine) note(e *episode, change func(*BootRecord)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change(e.record)
	m.changedLocked()
}

// settle says what an episode came to. The first word counts.
func (m *Machine) settle(e *episode, outcome Outcome, why string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e.record.Outcome != "" || m.episode != e {
		return
	}
	e.record.Outcome, e.record.Why, e.record.Settled = outcome, why, m.rack.opts.Clock.Now()
	m.changedLocked()
	m.log().V(1).Info("boot ended", "boot", e.record.Number, "result", outcome, "message", why)
}

// retries takes back what an episode came to: its firmware tries again.
func (m *Machine) retries(e *episode) {
	m.note(e, func(r *BootRecord) {
		if r.Outcome == OutcomeFailed || r.Outcome == OutcomeFirmware {
			r.Outcome, r.Settled = "", time.Time{}
			r.Retries++
		}
	})
}
