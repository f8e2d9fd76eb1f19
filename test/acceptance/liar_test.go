package acceptance

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/sim"
	"github.com/farrier-dev/farrier/internal/sim/fault"
	testlab "github.com/farrier-dev/farrier/test/lab"
)

// resetsSent counts what BMC i is told over Redfish, whatever it makes of that.
func (l *lab) resetsSent(i int) *atomic.Int64 {
	var sent atomic.Int64
	l.SetFault(i, sim.FaultFunc(func(r *http.Request) sim.Effect {
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/Actions/ComputerSystem.Reset") {
			sent.Add(1)
		}
		return sim.EffectNone
	}))
	return &sent
}

// polled waits until BMC i has been asked often enough that whatever is decided of its lies has been.
func (p *running) polled(l *lab, i int) {
	p.t.Helper()
	from := l.Stats(i).Requests
	p.Eventually("the BMC is polled", func(context.Context) error {
		if now := l.Stats(i).Requests; now < from+5 {
			return fmt.Errorf("%d requests, before %d", now, from)
		}
		return nil
	})
}

// TestABMCThatDoesNothingAndSaysItDid: its machine is never seen from inside. That is found out, said, and left to a
// person; no machine is switched on and off for ever.
func TestABMCThatDoesNothingAndSaysItDid(t *testing.T) {
	l := newLab(t, 1)
	sent := l.resetsSent(0)
	cure := l.inject(t, 0, fault.Spec{Kind: fault.PowerLies})
	p := l.up(t, "--discovery-timeout", "30s", "--discovery-retries", "0", "--bmc-poll-interval", "1s")
	l.endpoint(p, l.BMCs()[0])
	name := l.BMCs()[0].Name + "-system-0"
	p.Eventually("the discovery is given up", func(ctx context.Context) error {
		var s metalv1.Server
		if err := p.Get(ctx, client.ObjectKey{Name: name}, &s); err != nil {
			return err
		}
		if s.Status.State != metalv1.ServerStateError {
			return fmt.Errorf("is %s: %s", s.Status.State, testlab.ConditionsText(s.Status.Conditions))
		}
		return nil
	})
	p.serverSays(name, metalv1.ConditionReady, metav1.ConditionFalse, "DiscoveryFailed")
	if n := len(l.Machine(0).Record()); n != 0 {
		t.Fatalf("the machine has booted %d times: the BMC does not lie", n)
	}
	// Off and on, for each boot that a discovery may make.
	n := sent.Load()
	if n == 0 || n > 8 {
		t.Errorf("the BMC was told %d times", n)
	}
	p.polled(l, 0)
	if now := sent.Load(); now != n {
		t.Errorf("given up, and the BMC was told %d times more", now-n)
	}

	cure()
	p.annotated(&metalv1.Server{ObjectMeta: objectMeta("", name)}, metalv1.AnnotationOperation, metalv1.OperationRetry)
	p.serverIs(name, metalv1.ServerStateAvailable, metalv1.PowerStateOff)
}

// TestABMCThatIsBehindTheTruth: it says Off of a machine that runs, and On of one that is off. Nothing is ordered again and
// again for that, it is said what is waited for, and all goes on when the BMC tells the truth.
func TestABMCThatIsBehindTheTruth(t *testing.T) {
	l := newLab(t, 1)
	p := l.up(t, "--power-off-budget", "2s", "--bmc-poll-interval", "1s")
	l.discover(p)
	name := l.BMCs()[0].Name + "-system-0"
	machine := l.Machine(0)

	cure := l.inject(t, 0, fault.Spec{Kind: fault.PowerLies, Value: "frozen"}) // Off
	l.ignition(p, "web", "ignition")
	l.claim(p, "web")
	p.serverSays(name, metalv1.ConditionPoweringOn, metav1.ConditionTrue, "BootOrdered")
	p.Eventually("the machine, which nobody has seen on, is told to come back", func(context.Context) error {
		records := machine.Record()
		for _, f := range records[len(records)-1].Fetches {
			if f.What == sim.WhatScript && f.Status == http.StatusServiceUnavailable {
				return nil
			}
		}
		return fmt.Errorf("%d boots, the last fetched %+v", len(records), records[len(records)-1].Fetches)
	})
	resets := machine.Resets()
	p.polled(l, 0)
	p.serverIs(name, metalv1.ServerStateReserved, metalv1.PowerStateOff)
	if got := machine.Resets(); !maps.Equal(got, resets) {
		t.Errorf("resets %v, before %v", got, resets)
	}
	cure()
	p.serverIs(name, metalv1.ServerStateReserved, metalv1.PowerStateOn)
	p.boots(machine, sim.OutcomeInstalled)
	p.serverSays(name, metalv1.ConditionPoweringOn, metav1.ConditionFalse, "Started")
	if got := machine.Resets(); !maps.Equal(got, resets) || len(machine.Record()) != 2 { // the probe, the claim
		t.Errorf("resets %v, before %v; booted %d times", got, resets, len(machine.Record()))
	}

	cure = l.inject(t, 0, fault.Spec{Kind: fault.PowerLies, Value: "frozen"}) // On
	p.deleteClaim("web")
	p.Eventually("the machine is off, and was forced off because its BMC says that it is not", func(context.Context) error {
		if state, n := machine.PowerState(), machine.Resets()["ForceOff"]-resets["ForceOff"]; state != sim.PowerOff || n == 0 {
			return fmt.Errorf("is %s, forced %d times", state, n)
		}
		return nil
	})
	p.serverSays(name, metalv1.ConditionWaitingForPowerOff, metav1.ConditionTrue, "ShuttingDown")
	resets = machine.Resets()
	p.polled(l, 0)
	server := p.serverIs(name, metalv1.ServerStateReserved, metalv1.PowerStateOn)
	if server.Spec.ServerClaimRef == nil {
		t.Error("a machine of which nobody knows that it is off has been let go of")
	}
	if got := machine.Resets(); !maps.Equal(got, resets) {
		t.Errorf("resets %v, before %v", got, resets)
	}
	cure()
	p.serverIs(name, metalv1.ServerStateAvailable, metalv1.PowerStateOff)
	p.serverSays(name, metalv1.ConditionCleaned, metav1.ConditionTrue, metalv1.ReasonCleaned)
}
