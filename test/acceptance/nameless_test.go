package acceptance

import (
	"strings"
	"testing"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/sim"
	"github.com/farrier-dev/farrier/internal/sim/fault"
)

// TestABMCThatTellsNoUUID: its machine is found by its MAC address, and says itself which UUID it has. A claim then
// takes it like any other.
func TestABMCThatTellsNoUUID(t *testing.T) {
	l := newLab(t, 2)
	if _, err := l.InjectFault(fault.Spec{Kind: fault.NoUUID, Share: 1}); err != nil {
		t.Fatal(err)
	}
	p := l.up(t)
	l.discover(p)
	for i, info := range l.BMCs() {
		name := info.Name + "-system-0"
		machine := l.Machine(i)
		record := p.boots(machine, sim.OutcomeProbe)
		if !strings.Contains(record.CommandLine, "/ignition/"+machine.UUID()) {
			t.Errorf("%s booted %q", name, record.CommandLine)
		}
		server := p.serverIs(name, metalv1.ServerStateAvailable, metalv1.PowerStateOff)
		if server.Spec.SystemUUID != machine.UUID() {
			t.Errorf("%s: spec.systemUUID %q, and the machine reported %s", name, server.Spec.SystemUUID, machine.UUID())
		}
	}
	l.runs(p, "web")
}
