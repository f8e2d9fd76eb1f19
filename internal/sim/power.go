package sim

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/farrier-dev/farrier/internal/sim/fault"
)

// PowerState is Resource.PowerState of DSP0268.
type PowerState string

// The power states a machine goes through.
const (
	PowerOff    PowerState = "Off"
	PoweringOn  PowerState = "PoweringOn"
	PowerOn     PowerState = "On"
	PoweringOff PowerState = "PoweringOff"
)

// The reset types that every simulated system allows.
var resetTypes = []string{"On", "ForceOff", "GracefulShutdown", "GracefulRestart", "ForceRestart", "ForceOn", "PowerCycle", "PushPowerButton"}

// action is what a reset comes down to.
type action int

const (
	nothing action = iota // it already is so, or is becoming so
	refuse                // it cannot be done in this state
	start
	stop
	shutdown // asks the operating system
	restart
	shutdownAndStart
)

// decideReset is the whole table of reset types (DSP0268, Resource.ResetType).
// Before an operating system runs nobody hears the power button but the
// firmware, which turns the machine off at once.
func decideReset(power PowerState, osRuns bool, resetType string) action {
	ask, askRestart := shutdown, shutdownAndStart
	if !osRuns {
		ask, askRestart = stop, restart
	}
	type row struct{ off, poweringOn, on, poweringOff action }
	r := map[string]row{
		"On":               {start, nothing, nothing, refuse},
		"ForceOn":          {start, nothing, nothing, refuse},
		"ForceOff":         {nothing, stop, stop, stop},
		"GracefulShutdown": {nothing, stop, ask, nothing},
		"GracefulRestart":  {refuse, restart, askRestart, refuse},
		"ForceRestart":     {refuse, restart, restart, restart},
		"PowerCycle":       {refuse, restart, restart, restart},
		"PushPowerButton":  {start, stop, ask, nothing},
	}[resetType]
	switch power {
	case PowerOff:
		return r.off
	case PoweringOn:
		return r.poweringOn
	case PowerOn:
		return r.on
	default:
		return r.poweringOff
	}
}

// resetByBMC is a reset that comes over Redfish, which faults can get hold of.
func (m *Machine) resetByBMC(resetType string) (changed bool, err error) {
	m.toldPower() // a power state that is frozen is the one from before
	if s, ok := m.bmc.struck(fault.PowerLies, ""); ok && s.Value.Text == "asked" {
		m.tell(s.ID, askedPower(resetType))
		return true, nil
	}
	if _, ok := m.bmc.struck(fault.IgnoreShutdown, ""); ok && (resetType == "GracefulShutdown" || resetType == "GracefulRestart") {
		return true, nil
	}
	return m.Reset(resetType)
}

// askedPower is what a reset promises.
func askedPower(resetType string) PowerState {
	if resetType == "ForceOff" || resetType == "GracefulShutdown" {
		return PowerOff
	}
	return PowerOn
}

// tell makes the BMC claim a power state for as long as a fault lasts.
func (m *Machine) tell(by string, power PowerState) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.told, m.toldBy = power, by
}

// toldPower is what the BMC says, which is what PowerState is but for faults.
func (m *Machine) toldPower() PowerState {
	s, ok := m.bmc.struck(fault.PowerLies, "")
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case !ok:
		return m.power
	case m.toldBy == s.ID:
		return m.told
	case s.Value.Text == "frozen":
		m.told, m.toldBy = m.power, s.ID
	}
	return m.power
}

// selfTest is how long that takes now.
func (m *Machine) selfTest() time.Duration {
	takes := m.rack.opts.Timing.POST
	if s, ok := m.bmc.struck(fault.SlowPOST, ""); ok {
		takes += s.Value.Duration
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.bricked {
		takes = forever
	}
	return takes
}

// Reset does what a reset action at the BMC does. It returns at once; the
// machine changes in its own time. changed is false where there was nothing to
// do.
func (m *Machine) Reset(resetType string) (changed bool, err error) {
	if !slices.Contains(resetTypes, resetType) {
		return false, fmt.Errorf("reset type %q is not one of %v", resetType, resetTypes)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.resets == nil {
		m.resets = map[string]int{}
	}
	m.resets[resetType]++
	switch a := decideReset(m.power, m.episode != nil && m.episode.osRuns, resetType); {
	case a == nothing:
		return false, nil
	case a == refuse:
		return false, fmt.Errorf("reset type %s is not possible while %s", resetType, m.power)
	case a == start:
		m.startLocked()
	case m.computer != nil:
		m.switchLocked(a)
	case a == stop:
		m.stopLocked()
	case a == restart:
		m.stopLocked()
		m.startLocked()
	case a == shutdown:
		m.shutdownLocked(false)
	case a == shutdownAndStart:
		m.shutdownLocked(true)
	}
	return true, nil
}

// PowerState is what the BMC reports.
func (m *Machine) PowerState() PowerState {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.power
}

// startLocked begins an episode: the time from power-on to power-off. Whatever
// runs in it ends with its context.
func (m *Machine) startLocked() {
	if m.rack.ctx.Err() != nil {
		return
	}
	e := m.beginLocked()
	m.power = PoweringOn
	m.applyBiosLocked()
	m.startBIOSLocked()
	m.log().V(1).Info("powered on", "boot", e.record.Number)
	m.tellPowerLocked()
	run := m.run
	if m.computer != nil {
		run = m.runComputer
	}
	m.rack.spawn(func() { run(e) })
}

func (m *Machine) stopLocked() {
	m.endLocked()
	m.power = PowerOff
	m.log().V(1).Info("powered off")
	m.tellPowerLocked()
}

// tellPowerLocked writes a change of power into the log, and tells who wants to know.
func (m *Machine) tellPowerLocked() {
	text := fmt.Sprintf("The power state of the resource %s has changed to %s.", m.systemURI(), m.power)
	m.events.add(m.bmc.now(), "OK", "ResourceEvent.1.3.ResourcePowerStateChanged", text)
	m.bmc.emit(happening{"StatusChange", "OK", "ResourceEvent.1.3.ResourcePowerStateChanged", text, m.systemURI()})
}

// shutdownLocked lets the operating system take its time. A negative time is
// one that never listens.
func (m *Machine) shutdownLocked(thenStart bool) {
	m.power = PoweringOff
	e, takes := m.episode, m.rack.opts.Timing.Shutdown
	if takes < 0 {
		return
	}
	m.rack.spawn(func() {
		if !m.rack.wait(e.ctx, takes) {
			return
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.episode != e {
			return
		}
		m.stopLocked()
		if thenStart {
			m.startLocked()
		}
	})
}

// spawn runs what belongs to the rack, unless that is being stopped.
func (r *Rack) spawn(f func()) {
	r.stopping.Lock()
	defer r.stopping.Unlock()
	if r.ctx.Err() == nil {
		r.running.Go(f)
	}
}

// wait lets time pass. It is false when the context ended first.
func (r *Rack) wait(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := r.opts.Clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C():
		return true
	case <-ctx.Done():
		return false
	}
}
