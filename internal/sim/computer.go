package sim

import (
	"context"
	"slices"
)

// Computer is a machine whose firmware and operating system run for real, in place of those that this package simulates. The BMC in front of
// it is the same.
type Computer interface {
	// Run switches it on and returns when it is off: ctx has ended, which cuts the power; it has switched itself off; or, with an error, it has
	// died. Each start of its firmware asks boot what to boot. on is called when the power is on.
	Run(ctx context.Context, boot func() Boot, on func()) error
	// PressPower presses the power button, which asks the operating system to shut down. It does nothing while the computer is off.
	PressPower()
	// Modes are the boot modes of its firmware (BootSourceOverrideMode), the usual one first.
	Modes() []string
}

// The boot modes.
const (
	ModeUEFI   = "UEFI"
	ModeLegacy = "Legacy"
)

// Boot is what the BMC tells the firmware of a computer at one of its starts.
type Boot struct {
	// Override counts for this start; its target is BootNone where there is none.
	Override BootOverride
	// Order are BootPXE and BootDisk in the boot order.
	Order []BootTarget
}

// Computers have the machines of a rack be computers.
type Computers struct {
	// MemoryMiB and Disks, sizes in bytes, are what each of them has.
	MemoryMiB int
	Disks     []int64
	// New makes the computer that fits what its BMC says of it.
	New func(Chassis) Computer
}

// Chassis is what the BMC of a computer says of it.
type Chassis struct {
	// Index is among the machines of the rack, from 0.
	Index int
	// Name is that of its BMC; where that has several machines, with the number of this one.
	Name                                                string
	UUID, Serial, Manufacturer, Model, SKU, BoardSerial string
	BIOSVersion                                         string
	MAC                                                 string // of its network port
	MemoryMiB                                           int
	Disks                                               []ChassisDisk
}

// ChassisDisk is an NVMe disk of a computer.
type ChassisDisk struct {
	Serial string
	Bytes  int64
}

// model is the hardware of computers.
func (c *Computers) model() *model {
	m := &model{
		name: "VM", sku: "AN-VM", sockets: 1, dimms: 1, dimmMiB: c.MemoryMiB, dimmMHz: 4800, ports: 1, portMbps: 1000, controller: protocolNVMe,
		processor: processorModel{vendor: "AuthenticAMD", name: "QEMU TCG CPU", cores: 1, threads: 1, mhz: 2000},
	}
	for _, bytes := range c.Disks {
		m.disks = append(m.disks, diskModel{count: 1, nameless: true, vendor: "QEMU", name: "QEMU NVMe Ctrl", bytes: bytes, media: "SSD", protocol: protocolNVMe})
	}
	return m
}

// build makes the computer of a machine, where its rack has some.
func (m *Machine) build() {
	c := m.rack.opts.Computers
	if c == nil {
		return
	}
	chassis := Chassis{
		Index: m.index, Name: m.bmc.name(), UUID: m.uuid, Serial: m.serial, Manufacturer: m.bmc.quirks.manufacturer, Model: m.name, SKU: m.sku,
		BoardSerial: m.partSerial("board"), BIOSVersion: m.biosVersionLocked(), MAC: m.portMAC(0), MemoryMiB: c.MemoryMiB,
	}
	if m.rack.opts.SystemsPerBMC > 1 {
		chassis.Name += "-" + m.systemID()
	}
	for _, d := range m.diskList() {
		chassis.Disks = append(chassis.Disks, ChassisDisk{Serial: d.serial, Bytes: d.bytes})
	}
	m.computer = c.New(chassis)
	m.override.Mode = m.computer.Modes()[0]
}

// modes are the boot modes that the BMC offers.
func (m *Machine) modes() []string {
	if m.computer == nil {
		return bootModes
	}
	return m.computer.Modes()
}

// targets are the boot targets that the BMC offers: of a computer, those that its firmware knows.
func (m *Machine) targets() []BootTarget {
	switch {
	case m.computer == nil:
		return bootTargets()
	case slices.Contains(m.computer.Modes(), ModeUEFI):
		return []BootTarget{BootNone, BootPXE, BootDisk, BootUEFIHTTP}
	default:
		return []BootTarget{BootNone, BootPXE, BootDisk}
	}
}

// runComputer is one episode of a computer.
func (m *Machine) runComputer(e *episode) {
	err := m.computer.Run(e.ctx, func() Boot { return m.nextBoot(e) }, func() { m.switchedOn(e) })
	m.mu.Lock()
	defer m.mu.Unlock()
	e.record.Outcome = OutcomeRan
	if err != nil && e.ctx.Err() == nil {
		e.record.Outcome, e.record.Why = OutcomeFailed, err.Error()
		m.log().Info("machine died and is off", "error", err)
	}
	m.endLocked()
	m.power = PowerOff
	m.log().V(1).Info("powered off")
	m.tellPowerLocked()
	if e.again {
		m.startLocked()
	}
}

// nextBoot is what the firmware boots now. An override for one boot is used up.
func (m *Machine) nextBoot(e *episode) Boot {
	m.mu.Lock()
	defer m.mu.Unlock()
	b := Boot{Override: m.useOverrideLocked(e)}
	for _, option := range m.bootOptionsLocked() {
		target := BootPXE
		if option >= m.ports {
			target = BootDisk
		}
		b.Order = append(b.Order, target)
	}
	return b
}

func (m *Machine) switchedOn(e *episode) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.episode != e || m.power != PoweringOn {
		return
	}
	m.power, e.osRuns = PowerOn, true
	m.tellPowerLocked()
}

// switchLocked does to a computer what a reset comes down to. The power state follows when it has happened.
func (m *Machine) switchLocked(a action) {
	m.episode.again = a == restart || a == shutdownAndStart
	if a == shutdown || a == shutdownAndStart {
		m.rack.spawn(m.computer.PressPower)
		return
	}
	m.power = PoweringOff
	m.tellPowerLocked()
	m.episode.cancel()
}
