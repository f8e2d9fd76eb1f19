package vm

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/go-logr/logr"

	"github.com/farrier-dev/farrier/internal/sim"
)

// Machine is a virtual machine. It implements sim.Computer.
type Machine struct {
	spec
	in     *network
	logger logr.Logger

	mu      sync.Mutex
	monitor *monitor // of the process that runs; nil: none does
}

// Modes implements sim.Computer.
func (m *Machine) Modes() []string { return m.kind.Firmware.modes() }

// PressPower implements sim.Computer.
func (m *Machine) PressPower() {
	m.mu.Lock()
	running := m.monitor
	m.mu.Unlock()
	if running == nil {
		return
	}
	if err := running.execute("system_powerdown"); err != nil {
		m.logger.Info("power button not pressed", "error", err)
	}
}

// Reasons of QEMU's event SHUTDOWN for which firmware starts anew, or the machine has switched itself off.
const (
	guestReset    = "guest-reset"
	guestShutdown = "guest-shutdown"
)

// Run implements sim.Computer.
func (m *Machine) Run(ctx context.Context, boot func() sim.Boot, on func()) error {
	if err := m.prepare(); err != nil {
		return err
	}
	for ctx.Err() == nil {
		reason, err := m.runOnce(ctx, planBoot(m.kind.Firmware, boot()), on)
		if err != nil || reason != guestReset {
			return err
		}
		m.logger.V(1).Info("machine restarts itself")
	}
	return nil
}

// runOnce is one start of the firmware, and what comes of it. It returns why the machine went off.
func (m *Machine) runOnce(ctx context.Context, p plan, on func()) (reason string, err error) {
	serial, err := openConsole(m.console())
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, serial.close()) }()
	variables, err := m.variablesFor(p)
	if err != nil {
		return "", err
	}
	process, err := m.launch(ctx, p, variables, serial)
	if err != nil {
		return "", err
	}
	monitor := newMonitor(process.monitor)
	if err := monitor.greet(); err != nil {
		return "", process.died(ctx, err)
	}
	m.set(monitor)
	defer m.set(nil)
	on()
	monitor.listen()
	err = process.wait()
	switch reason = monitor.ended(); {
	case ctx.Err() != nil || reason == guestReset || reason == guestShutdown:
		return reason, nil
	case err != nil:
		return reason, process.died(ctx, err)
	case reason != "":
		return reason, fmt.Errorf("QEMU ended: %s", reason)
	}
	return reason, process.died(ctx, errors.New("QEMU ended"))
}

func (m *Machine) set(running *monitor) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.monitor = running
}
