package acceptance

import (
	"context"
	"fmt"
	"maps"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/sim"
	testlab "github.com/farrier-dev/farrier/test/lab"
)

// TestKilledWhileReserved: a machine that runs for a claim is not touched when the manager dies and comes
// back, nor when its status is wiped.
func TestKilledWhileReserved(t *testing.T) {
	l := newLab(t, 2)
	p := l.up(t)
	l.discover(p)
	_, server, machine := l.runs(p, "web")
	name, boot := server.Name, p.boots(machine, sim.OutcomeInstalled)
	resets := machine.Resets()

	p.Kill()
	p = l.up(t)
	p.observed(name)
	p.serverIs(name, metalv1.ServerStateReserved, metalv1.PowerStateOn)
	if again := p.bound("web"); again != name {
		t.Errorf("the claim is bound to %s, and was to %s", again, name)
	}

	server = p.serverIs(name, metalv1.ServerStateReserved, metalv1.PowerStateOn)
	before := server.DeepCopy()
	server.Status = metalv1.ServerStatus{}
	if err := p.Status().Patch(t.Context(), server, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	p.serverIs(name, metalv1.ServerStateReserved, metalv1.PowerStateOn)
	if got := machine.Resets(); !maps.Equal(got, resets) {
		t.Errorf("the running machine was reset: %v, before the kill %v", got, resets)
	}
	if records := machine.Record(); records[len(records)-1].Number != boot.Number {
		t.Errorf("the machine booted again: %d, before the kill %d", records[len(records)-1].Number, boot.Number)
	}

	// Released after the kill: off, cleaned, free, and taken by the next.
	if err := p.Delete(t.Context(), &metalv1.ServerClaim{ObjectMeta: objectMeta("default", "web")}); err != nil {
		t.Fatal(err)
	}
	free := p.serverIs(name, metalv1.ServerStateAvailable, metalv1.PowerStateOff)
	if free.Spec.ServerClaimRef != nil || free.Annotations[metalv1.AnnotationClaimedBy] != "" {
		t.Errorf("a free server still belongs to somebody: %v %v", free.Spec.ServerClaimRef, free.Annotations)
	}
	p.Eventually("what the claim owned is gone", func(ctx context.Context) error {
		err := p.Get(ctx, client.ObjectKey{Namespace: "default", Name: "web"}, &metalv1.ServerBootConfiguration{})
		if !apierrors.IsNotFound(err) {
			return fmt.Errorf("the boot configuration of the deleted claim is still there (%v)", err)
		}
		return nil
	})
	l.claim(p, "web")
	again := p.bound("web")
	p.boots(l.machine(p, again), sim.OutcomeInstalled)
}

// observed waits until the product has asked the BMC of a server after its start.
func (p *running) observed(name string) {
	p.t.Helper()
	p.Eventually("server "+name+" is observed", func(ctx context.Context) error {
		var s metalv1.Server
		if err := p.Get(ctx, client.ObjectKey{Name: name}, &s); err != nil {
			return err
		}
		for _, c := range s.Status.Conditions {
			if c.Type == metalv1.ConditionReady && c.Status == "True" {
				return nil
			}
		}
		return fmt.Errorf("%s", testlab.ConditionsText(s.Status.Conditions))
	})
}
