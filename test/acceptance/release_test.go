package acceptance

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/sim/fault"
	testlab "github.com/farrier-dev/farrier/test/lab"
)

// inject makes BMC i misbehave until it is told otherwise.
func (l *lab) inject(t *testing.T, i int, spec fault.Spec) (cure func()) {
	t.Helper()
	spec.BMCs = []int{i + 1}
	entry, err := l.InjectFault(spec)
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		if err := l.ClearFault(entry.ID); err != nil {
			t.Fatal(err)
		}
	}
}

// index is the number of the machine behind a Server.
func (l *lab) index(t *testing.T, server string) int {
	t.Helper()
	for i, info := range l.BMCs() {
		if info.Name+"-system-0" == server {
			return i
		}
	}
	t.Fatalf("no machine is called %s", server)
	return 0
}

func (p *running) deleteClaim(name string) {
	p.t.Helper()
	if err := p.Delete(p.t.Context(), &metalv1.ServerClaim{ObjectMeta: objectMeta("default", name)}); err != nil {
		p.t.Fatal(err)
	}
}

// serverSays waits until a condition of a Server has that status and reason.
func (p *running) serverSays(name, kind string, status metav1.ConditionStatus, reason string) {
	p.t.Helper()
	p.Eventually(kind+" of "+name, func(ctx context.Context) error {
		var s metalv1.Server
		if err := p.Get(ctx, client.ObjectKey{Name: name}, &s); err != nil {
			return err
		}
		if c := apimeta.FindStatusCondition(s.Status.Conditions, kind); c == nil || c.Status != status || c.Reason != reason {
			return fmt.Errorf("want %s %s: %s", status, reason, testlab.ConditionsText(s.Status.Conditions))
		}
		return nil
	})
}

// TestAMachineThatIgnoresItsShutdown: without force its release waits, asks again, and says so; a manager with force ends
// it within the budget. In between the machine is nobody else's.
func TestAMachineThatIgnoresItsShutdown(t *testing.T) {
	l := newLab(t, 1)
	p := l.up(t, "--enforce-power-off=false", "--power-off-budget", "2s")
	l.discover(p)
	_, server, machine := l.runs(p, "web")
	name := server.Name
	sent := l.resetsSent(0)
	l.inject(t, 0, fault.Spec{Kind: fault.IgnoreShutdown})
	p.deleteClaim("web")

	p.serverSays(name, metalv1.ConditionWaitingForPowerOff, metav1.ConditionTrue, "ShuttingDown")
	p.serverSays(name, metalv1.ConditionWaitingForPowerOff, metav1.ConditionTrue, "CommandFailed") // the budget is spent
	asked := sent.Load()
	p.Eventually("the machine is asked again", func(context.Context) error {
		if sent.Load() == asked {
			return fmt.Errorf("%d times, no more", asked)
		}
		return nil
	})
	p.serverSays(name, metalv1.ConditionWaitingForPowerOff, metav1.ConditionTrue, "CommandFailed") // which is still so
	server = p.serverIs(name, metalv1.ServerStateReserved, metalv1.PowerStateOn)
	if server.Spec.ServerClaimRef == nil || server.Annotations[metalv1.AnnotationClaimedBy] == "" {
		t.Errorf("a machine that runs has been let go of: %v, %v", server.Spec.ServerClaimRef, server.Annotations)
	}
	if n := machine.Resets()["ForceOff"]; n != 0 {
		t.Errorf("forced off %d times, and force is switched off", n)
	}

	p.Stop()
	p = l.up(t, "--power-off-budget", "2s")
	p.Eventually("the machine is forced off", func(context.Context) error {
		if machine.Resets()["ForceOff"] == 0 {
			return errors.New("it is not")
		}
		return nil
	})
	server = p.serverIs(name, metalv1.ServerStateAvailable, metalv1.PowerStateOff)
	if server.Spec.ServerClaimRef != nil || server.Annotations[metalv1.AnnotationClaimedBy] != "" {
		t.Errorf("a free server still belongs to somebody: %v %v", server.Spec.ServerClaimRef, server.Annotations)
	}
	p.serverSays(name, metalv1.ConditionCleaned, metav1.ConditionTrue, metalv1.ReasonCleaned)
}

// TestAServerThatIsDeletedInCleanup: it goes when it is clean, and not before; what is made anew is discovered.
func TestAServerThatIsDeletedInCleanup(t *testing.T) {
	l := newLab(t, 1)
	p := l.up(t, "--cleanup", "full")
	l.discover(p)
	_, server, _ := l.runs(p, "web")
	name := server.Name
	cure := l.inject(t, 0, fault.Spec{Kind: fault.OldProbe})
	p.deleteClaim("web")
	p.serverSays(name, metalv1.ConditionCleaned, metav1.ConditionFalse, metalv1.ReasonProbeCannotClean)
	old := p.serverIs(name, metalv1.ServerStateCleanup, metalv1.PowerStateOn)
	if err := p.Delete(t.Context(), old.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	p.serverSays(name, "DeletionWaits", metav1.ConditionTrue, "NotClean")

	p.Kill() // what keeps it is no memory of a process
	p = l.up(t, "--cleanup", "full")
	p.observed(name)
	kept := p.serverIs(name, metalv1.ServerStateCleanup, metalv1.PowerStateOn)
	if kept.UID != old.UID || kept.Annotations[metalv1.AnnotationClaimedBy] == "" {
		t.Fatalf("it is not the one that was deleted: %v", kept.ObjectMeta)
	}
	erased := func() (all bool) {
		all = true
		for _, d := range l.Machine(0).Disks() {
			all = all && len(d.Traces()) == 0
		}
		return all
	}
	if erased() {
		t.Fatal("nothing is on its disks: the test proves nothing")
	}
	cure()
	p.annotated(kept, metalv1.AnnotationOperation, metalv1.OperationRetry)
	p.Eventually("a server is made anew", func(ctx context.Context) error {
		var s metalv1.Server
		if err := p.Get(ctx, client.ObjectKey{Name: name}, &s); err != nil {
			return err
		}
		if s.UID == old.UID {
			return fmt.Errorf("the old one is there, and is %s: %s", s.Status.State, testlab.ConditionsText(s.Status.Conditions))
		}
		if !erased() {
			t.Errorf("the old one is gone, and what its user left is still there")
		}
		return nil
	})
	p.serverIs(name, metalv1.ServerStateAvailable, metalv1.PowerStateOff)
}

// TestAResetThatTheBMCDoesNotCarryOut: what it answers is in status, in one event and in one line of log, and stays while it is tried
// again; when it does, that is over.
func TestAResetThatTheBMCDoesNotCarryOut(t *testing.T) {
	l := newLab(t, 1)
	p := l.up(t, "--bmc-poll-interval", "1s")
	l.discover(p)
	name := l.BMCs()[0].Name + "-system-0"
	cure := l.inject(t, 0, fault.Spec{Kind: fault.ServerError, Path: `/Actions/ComputerSystem\.Reset$`})
	l.ignition(p, "web", "ignition")
	l.claim(p, "web")
	p.serverSays(name, metalv1.ConditionPoweringOn, metav1.ConditionTrue, "CommandFailed")
	p.event(name, "CommandFailed")
	p.polled(l, 0)
	var s metalv1.Server
	if err := p.Get(t.Context(), client.ObjectKey{Name: name}, &s); err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"500", "ComputerSystem.Reset", "InternalError"} {
		if c := apimeta.FindStatusCondition(s.Status.Conditions, metalv1.ConditionPoweringOn); c == nil || c.Reason != "CommandFailed" || !strings.Contains(c.Message, word) {
			t.Errorf("%s is not in %s", word, testlab.ConditionsText(s.Status.Conditions))
		}
		if n := strings.Count(p.Log(), "power command failed"); n != 1 || !strings.Contains(p.Log(), word) {
			t.Errorf("%d lines of log; %q in it: %v", n, word, strings.Contains(p.Log(), word))
		}
	}
	cure()
	p.serverIs(name, metalv1.ServerStateReserved, metalv1.PowerStateOn)
	p.serverSays(name, metalv1.ConditionPoweringOn, metav1.ConditionFalse, "Started")
}
