package sim

import (
	"context"
	"slices"
)

// bootSequence is what firmware does to find something to boot: what the override says, and where nothing comes of that and
// its vendor's firmware tries again by itself, its boot order after a pause, and so on until ctx ends.
func (n *network) bootSequence(ctx context.Context, override BootOverride) (Outcome, string) {
	outcome, why := n.boot(ctx, override)
	m := n.machine
	pause := m.rack.opts.Timing.BootRetry
	if pause <= 0 || m.bmc.quirks.bootsOnce {
		return outcome, why
	}
	for tries := m.rack.opts.BootTimeout / pause; tries > 0 && n.mayRetry(outcome); tries-- {
		m.settle(n.episode, outcome, why)
		if !m.rack.wait(ctx, pause) {
			break
		}
		m.retries(n.episode)
		outcome, why = n.bootInOrder(ctx)
	}
	return outcome, why
}

// mayRetry says that nothing was booted and that nobody is asked for either: the setup and a prompt wait for a person.
func (n *network) mayRetry(outcome Outcome) bool {
	n.machine.mu.Lock()
	defer n.machine.mu.Unlock()
	return (outcome == OutcomeFailed || outcome == OutcomeFirmware) && !n.atPrompt && n.episode.record.Kernel.IsZero()
}

// bootInOrder tries each boot option in its turn. Only the first port has a cable. What is said of a round that came to nothing
// is why the network could not be booted: that there is nothing on the disks is no news.
func (n *network) bootInOrder(ctx context.Context) (outcome Outcome, why string) {
	outcome, why = OutcomeFirmware, "the boot order names nothing that boots"
	for _, option := range n.machine.bootOptions() {
		var found Outcome
		var said string
		switch {
		case option == 0:
			found, said = n.bootPXE(ctx, BootOverride{})
		case option >= n.machine.ports:
			found, said = n.fromDisk(ctx)
		default:
			continue
		}
		if !n.mayRetry(found) {
			return found, said
		}
		if outcome != OutcomeFailed {
			outcome, why = found, said
		}
	}
	return outcome, why
}

// bootOptions are the positions in bootOptionNames of those that the boot order names.
func (m *Machine) bootOptions() (options []int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.bootOptionsLocked()
}

func (m *Machine) bootOptionsLocked() (options []int) {
	for _, reference := range m.bootOrder {
		if i := slices.Index(bootReferences(m), reference); i >= 0 {
			options = append(options, i)
		}
	}
	return options
}
