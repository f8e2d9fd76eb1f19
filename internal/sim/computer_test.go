package sim

import (
	"context"
	"errors"
	"slices"
	"testing"
)

// fakeComputer runs as a test says.
type fakeComputer struct {
	modes   []string
	chassis Chassis
	boots   chan Boot // one each start of the firmware
	ends    chan end  // what the test has it do
	pressed chan struct{}
	powers  chan struct{} // held by what runs: two at once are one too many
}

// end is how a computer that runs goes off; restarts: it does not, and its firmware starts again.
type end struct {
	restarts bool
	err      error
}

func newFakeComputer(modes ...string) *fakeComputer {
	return &fakeComputer{modes: modes, boots: make(chan Boot, 16), ends: make(chan end), pressed: make(chan struct{}, 16), powers: make(chan struct{}, 1)}
}

func (c *fakeComputer) Modes() []string { return c.modes }
func (c *fakeComputer) PressPower()     { c.pressed <- struct{}{} }

func (c *fakeComputer) Run(ctx context.Context, boot func() Boot, on func()) error {
	select {
	case c.powers <- struct{}{}:
		defer func() { <-c.powers }()
	default:
		return errors.New("it runs already")
	}
	for {
		c.boots <- boot()
		on()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case e := <-c.ends:
			if !e.restarts {
				return e.err
			}
		}
	}
}

func startComputer(t *testing.T, c *fakeComputer) *Machine {
	t.Helper()
	r := startRack(t, Options{Computers: &Computers{MemoryMiB: 512, Disks: []int64{1 << 30, 2 << 30}, New: func(chassis Chassis) Computer {
		c.chassis = chassis
		return c
	}}})
	return r.Machine(0)
}

func reset(t *testing.T, m *Machine, kind string) {
	t.Helper()
	if _, err := m.Reset(kind); err != nil {
		t.Fatal(err)
	}
}

func awaitPower(t *testing.T, m *Machine, power PowerState) {
	t.Helper()
	eventually(t, string(power), func() bool { return m.PowerState() == power })
}

// The power state of a computer is what happens to it, and not what was ordered.
func TestComputerPower(t *testing.T) {
	c := newFakeComputer(ModeUEFI)
	m := startComputer(t, c)
	reset(t, m, "On")
	<-c.boots
	awaitPower(t, m, PowerOn)

	reset(t, m, "GracefulShutdown")
	<-c.pressed
	if m.PowerState() != PowerOn {
		t.Errorf("%s before the operating system has shut down", m.PowerState())
	}
	c.ends <- end{}
	awaitPower(t, m, PowerOff)

	reset(t, m, "On")
	<-c.boots
	awaitPower(t, m, PowerOn)
	reset(t, m, "ForceRestart")
	<-c.boots
	awaitPower(t, m, PowerOn)

	reset(t, m, "GracefulRestart")
	<-c.pressed
	c.ends <- end{}
	<-c.boots
	awaitPower(t, m, PowerOn)

	reset(t, m, "ForceOff")
	awaitPower(t, m, PowerOff)
	if records := m.Record(); len(records) != 4 || records[3].Outcome != OutcomeRan {
		t.Errorf("%+v", records)
	}
}

// A computer that dies is off, and the record says of what.
func TestComputerDies(t *testing.T) {
	c := newFakeComputer(ModeUEFI)
	m := startComputer(t, c)
	reset(t, m, "On")
	<-c.boots
	c.ends <- end{err: errors.New("out of memory")}
	awaitPower(t, m, PowerOff)
	if last := m.Record()[0]; last.Outcome != OutcomeFailed || last.Why != "out of memory" {
		t.Errorf("%s: %s", last.Outcome, last.Why)
	}
	reset(t, m, "On")
	<-c.boots
	awaitPower(t, m, PowerOn)
}

// An override for one boot is for one start of the firmware, also where the guest restarts itself; one that lasts is for all.
func TestComputerOverride(t *testing.T) {
	for name, c := range map[string]struct {
		enabled     string
		first, then BootTarget
	}{
		"once":       {overrideOnce, BootUEFIHTTP, BootNone},
		"continuous": {overrideContinuous, BootUEFIHTTP, BootUEFIHTTP},
		"disabled":   {overrideDisabled, BootNone, BootNone},
	} {
		t.Run(name, func(t *testing.T) {
			computer := newFakeComputer(ModeUEFI, ModeLegacy)
			m := startComputer(t, computer)
			m.mu.Lock()
			override, order, err := m.patchBoot(m.override, m.bootOrder, object{
				"BootSourceOverrideEnabled": c.enabled, "BootSourceOverrideTarget": string(BootUEFIHTTP), "HttpBootUri": "http://192.0.2.1/a.efi",
				"BootOrder": []any{"Boot0002", "Boot0001"},
			})
			m.override, m.bootOrder = override, order
			m.mu.Unlock()
			if err != nil {
				t.Fatal(err)
			}
			reset(t, m, "On")
			first := <-computer.boots
			computer.ends <- end{restarts: true}
			then := <-computer.boots
			if first.Override.Target != c.first || then.Override.Target != c.then {
				t.Errorf("%s, then %s", first.Override.Target, then.Override.Target)
			}
			if want := []BootTarget{BootDisk, BootPXE}; !slices.Equal(first.Order, want) {
				t.Errorf("order %v, want %v", first.Order, want)
			}
		})
	}
}

// A BMC offers what the firmware behind it can do, and tells of the hardware that the computer was made with.
func TestComputerIsTold(t *testing.T) {
	c := newFakeComputer(ModeLegacy)
	m := startComputer(t, c)
	system, err := getSystem(m, nil)
	if err != nil {
		t.Fatal(err)
	}
	boot := system["Boot"].(object)
	if targets := boot["BootSourceOverrideTarget@Redfish.AllowableValues"].([]BootTarget); slices.Contains(targets, BootUEFIHTTP) || !slices.Contains(targets, BootPXE) {
		t.Errorf("targets %v", targets)
	}
	if boot["BootSourceOverrideMode"] != ModeLegacy {
		t.Errorf("mode %v", boot["BootSourceOverrideMode"])
	}
	m.mu.Lock()
	_, _, err = m.patchBoot(m.override, m.bootOrder, object{"BootSourceOverrideTarget": string(BootUEFIHTTP)})
	m.mu.Unlock()
	if err == nil {
		t.Error("a BIOS takes UEFI HTTP boot")
	}
	if memory := system["MemorySummary"].(object)["TotalSystemMemoryGiB"]; memory != 0.5 {
		t.Errorf("%v GiB", memory)
	}
	told := []string{m.uuid, m.serial, m.MAC(), m.name, m.diskList()[1].serial}
	if given := []string{c.chassis.UUID, c.chassis.Serial, c.chassis.MAC, c.chassis.Model, c.chassis.Disks[1].Serial}; !slices.Equal(told, given) {
		t.Errorf("the BMC tells %q, the computer has %q", told, given)
	}
	if len(driveIDs(m)) != 2 || c.chassis.Disks[1].Bytes != 2<<30 {
		t.Errorf("%v, %+v", driveIDs(m), c.chassis.Disks)
	}
}
