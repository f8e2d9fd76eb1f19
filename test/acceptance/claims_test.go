package acceptance

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/allocator"
	"github.com/farrier-dev/farrier/internal/sim"
)

// unbound waits until a claim says, for that reason and in these words, why it has no server.
func (p *running) unbound(c *metalv1.ServerClaim, reason string, words ...string) {
	p.t.Helper()
	p.Eventually("why claim "+c.Name+" is not bound", func(context.Context) error {
		message := p.says(c, func() []metav1.Condition { return c.Status.Conditions }, metalv1.ConditionBound, reason)
		for _, word := range words {
			if !strings.Contains(message, word) {
				return fmt.Errorf("%q is not said in %q", word, message)
			}
		}
		if c.Status.Phase != metalv1.ServerClaimPhaseUnbound {
			return fmt.Errorf("phase %s", c.Status.Phase)
		}
		return nil
	})
}

// changeServer changes labels, annotations or spec of a Server.
func (p *running) changeServer(name string, change func(*metalv1.Server)) {
	p.t.Helper()
	p.Eventually("Server "+name+" is changed", func(ctx context.Context) error {
		var s metalv1.Server
		if err := p.Get(ctx, client.ObjectKey{Name: name}, &s); err != nil {
			return err
		}
		change(&s)
		return p.Update(ctx, &s)
	})
}

// delete deletes an object and waits until it is gone.
func (p *running) delete(obj client.Object) {
	p.t.Helper()
	if err := p.Delete(p.t.Context(), obj); err != nil {
		p.t.Fatal(err)
	}
	p.gone(obj, obj.GetUID())
}

// gone waits until there is no object of a name, or another one.
func (p *running) gone(obj client.Object, uid types.UID) {
	p.t.Helper()
	p.Eventually(fmt.Sprintf("%T %s is gone", obj, obj.GetName()), func(ctx context.Context) error {
		err := p.Get(ctx, client.ObjectKeyFromObject(obj), obj)
		if apierrors.IsNotFound(err) || err == nil && obj.GetUID() != uid {
			return nil
		}
		return fmt.Errorf("still there, finalizers %v: %w", obj.GetFinalizers(), err)
	})
}

// TestClaimsThatNoServerFits: each says why at once, for how many servers, and gets one when that is no longer so; and each can
// be deleted, whatever it waits for.
func TestClaimsThatNoServerFits(t *testing.T) {
	l := newLab(t, 2)
	p := l.up(t)
	l.discover(p)
	first, second := l.BMCs()[0].Name+"-system-0", l.BMCs()[1].Name+"-system-0"
	p.changeServer(first, func(s *metalv1.Server) { metav1.SetMetaDataLabel(&s.ObjectMeta, "rack", "r1") })
	p.changeServer(second, func(s *metalv1.Server) { s.Spec.Taints = []metalv1.Taint{{Key: "example.org/loud", Value: "very"}} })
	rack := func(name string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchLabels: map[string]string{"rack": name}}
	}

	nothing := l.claim(p, "nothing", func(c *metalv1.ServerClaim) { c.Spec.ServerSelector = rack("r7") })
	p.unbound(nothing, metalv1.ReasonNoMatchingServer, "spec.serverSelector (rack=r7) matches none of 2 Servers")
	contradiction := l.claim(p, "contradiction", func(c *metalv1.ServerClaim) {
		c.Spec.ServerRef, c.Spec.ServerSelector = &metalv1.LocalObjectReference{Name: first}, rack("r2")
	})
	p.unbound(contradiction, allocator.ReasonSelectorMismatch, "spec.serverSelector", "spec.serverRef", first)
	tainted := l.claim(p, "tainted", func(c *metalv1.ServerClaim) {
		c.Spec.ServerRef = &metalv1.LocalObjectReference{Name: second}
		c.Spec.Tolerations = []metalv1.Toleration{{Key: "example.org/loud", Value: "a little"}}
	})
	p.unbound(tainted, metalv1.ReasonTaintNotTolerated, second, "example.org/loud")

	// What is contradictory is so as long as the labels are.
	p.changeServer(first, func(s *metalv1.Server) { s.Labels["rack"] = "r2" })
	if name := p.bound("contradiction"); name != first {
		t.Errorf("bound to %s", name)
	}
	whichever := l.claim(p, "whichever")
	p.unbound(whichever, metalv1.ReasonTaintNotTolerated, "2 Servers match", "1 with a taint that is not tolerated", "1 of other claims")
	p.changeServer(second, func(s *metalv1.Server) { s.Spec.Unclaimable = true })
	p.unbound(tainted, allocator.ReasonServerNotClaimable, second, "is unclaimable")
	for _, c := range []*metalv1.ServerClaim{nothing, contradiction, tainted, whichever} {
		p.delete(c)
	}
	p.serverIs(first, metalv1.ServerStateAvailable, metalv1.PowerStateOff)
}

// TestTaintsWithoutKey: a taint or a toleration without a key is refused at its field.
func TestTaintsWithoutKey(t *testing.T) {
	p := beside(t)
	for path, object := range map[string]client.Object{
		"spec.taints[1].key": &metalv1.Server{ObjectMeta: objectMeta("", "s"), Spec: metalv1.ServerSpec{
			SystemUUID: "4c4c4544-0043-3510-8052-b7c04f4e4d32", Taints: []metalv1.Taint{{Key: "a"}, {Value: "x"}},
		}},
		"spec.tolerations[0].key": &metalv1.ServerClaim{ObjectMeta: objectMeta("default", "c"), Spec: metalv1.ServerClaimSpec{
			Power: metalv1.PowerOn, Image: "registry.example/os:1", Tolerations: []metalv1.Toleration{{Operator: metalv1.TolerationOpExists}},
		}},
		"spec.taint.key": &metalv1.ServerReadinessRule{ObjectMeta: objectMeta("", "r"), Spec: metalv1.ServerReadinessRuleSpec{
			Conditions:      []metalv1.ReadinessCondition{{Type: "Burned", RequiredStatus: metav1.ConditionTrue}},
			EnforcementMode: metalv1.ReadinessEnforcementModeContinuous,
		}},
	} {
		if err := p.Create(t.Context(), object); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), path) {
			t.Errorf("want it refused at %s, got %v", path, err)
		}
	}
}

// TestAClaimMadeAnewDuringRelease: a claim under the name of one whose server is still being released is another one. It waits
// for the cleanup, says so, and its machine has been cleaned before it boots.
func TestAClaimMadeAnewDuringRelease(t *testing.T) {
	l := newLab(t, 1)
	p := l.up(t)
	l.discover(p)
	old, server, machine := l.runs(p, "web")
	name, before := server.Name, p.boots(machine, sim.OutcomeInstalled)
	if err := p.Delete(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	var anew *metalv1.ServerClaim
	p.Eventually("the name is free", func(ctx context.Context) error {
		anew = &metalv1.ServerClaim{ObjectMeta: objectMeta("default", "web"), Spec: *old.Spec.DeepCopy()}
		anew.Spec.ServerRef = &metalv1.LocalObjectReference{Name: name}
		return p.Create(ctx, anew)
	})
	p.Eventually("the new claim has the server", func(ctx context.Context) error {
		if err := p.Get(ctx, client.ObjectKey{Name: name}, server); err != nil {
			return err
		}
		if owner := server.Annotations[metalv1.AnnotationClaimedBy]; owner != string(anew.UID) {
			return fmt.Errorf("it is marked with %q, the old claim was %s and the new one is %s", owner, old.UID, anew.UID)
		}
		return nil
	})
	after := p.boots(machine, sim.OutcomeInstalled)
	cleaned := false
	for _, record := range machine.Record() {
		cleaned = cleaned || record.Number > before.Number && record.Number < after.Number && record.Outcome == sim.OutcomeProbe
	}
	if after.Number == before.Number || !cleaned {
		t.Errorf("boots %+v: want a cleanup between %d and %d", machine.Record(), before.Number, after.Number)
	}
	if got := p.bound("web"); got != name {
		t.Errorf("bound to %s", got)
	}
}

// TestClaimsOfDeletedServers: a claimed Server outlives its deletion, in maintenance too, until its claim lets go of it; and
// where one is gone all the same its claim says so and can be deleted.
func TestClaimsOfDeletedServers(t *testing.T) {
	l := newLab(t, 1)
	p := l.up(t)
	l.discover(p)
	web, server, _ := l.runs(p, "web")
	name := server.Name

	m := maintenanceOf(name, "work", func(m *metalv1.ServerMaintenance) { m.Spec.ServerPower = metalv1.PowerOff })
	if err := p.Create(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	p.serverIs(name, metalv1.ServerStateMaintenance, metalv1.PowerStateOff)
	if err := p.Delete(t.Context(), server); err != nil {
		t.Fatal(err)
	}
	p.delete(m)
	if now := p.serverIs(name, metalv1.ServerStateReserved, metalv1.PowerStateOn); now.UID != server.UID || now.DeletionTimestamp.IsZero() {
		t.Errorf("after the maintenance: UID %s, was %s, deleted at %v", now.UID, server.UID, now.DeletionTimestamp)
	}
	p.delete(web)
	p.gone(&metalv1.Server{ObjectMeta: objectMeta("", name)}, server.UID)
	// Its BMC shows the machine still: it is found anew, and looked at.
	p.serverIs(name, metalv1.ServerStateAvailable, metalv1.PowerStateOff)

	again := l.claim(p, "web")
	p.bound("web")
	// Somebody removes the finalizer, and the BMC that would bring the Server back.
	if err := p.Delete(t.Context(), &metalv1.Endpoint{ObjectMeta: objectMeta("", l.BMCs()[0].Name)}); err != nil {
		t.Fatal(err)
	}
	bmc := &metalv1.BMC{ObjectMeta: objectMeta("", l.BMCs()[0].Name)}
	if err := p.Delete(t.Context(), bmc); err != nil {
		t.Fatal(err)
	}
	p.Eventually("the BMC is gone", func(ctx context.Context) error {
		if err := p.Get(ctx, client.ObjectKeyFromObject(bmc), bmc); !apierrors.IsNotFound(err) {
			return fmt.Errorf("still there: %w", err)
		}
		return nil
	})
	found := &metalv1.Server{}
	if err := p.Get(t.Context(), client.ObjectKey{Name: name}, found); err != nil {
		t.Fatal(err)
	}
	if err := p.Delete(t.Context(), found); err != nil {
		t.Fatal(err)
	}
	p.changeServer(name, func(s *metalv1.Server) { s.Finalizers = nil })
	p.unbound(again, allocator.ReasonServerNotFound, name)
	p.delete(again)
}

// TestAnUnknownOperation is removed, with an event.
func TestAnUnknownOperation(t *testing.T) {
	l := newLab(t, 1)
	p := l.up(t)
	l.discover(p)
	name := l.BMCs()[0].Name + "-system-0"
	p.changeServer(name, func(s *metalv1.Server) {
		metav1.SetMetaDataAnnotation(&s.ObjectMeta, metalv1.AnnotationOperation, "dance")
	})
	p.Eventually("the operation is removed", func(ctx context.Context) error {
		var s metalv1.Server
		if err := p.Get(ctx, client.ObjectKey{Name: name}, &s); err != nil {
			return err
		}
		if _, left := s.Annotations[metalv1.AnnotationOperation]; left {
			return errors.New("it is there still")
		}
		return nil
	})
	p.event(name, metalv1.ReasonUnsupportedOperation)
	p.serverIs(name, metalv1.ServerStateAvailable, metalv1.PowerStateOff)
}

// TestAClaimIsDeletedAsAnOrphan: the garbage collector is asked to leave what belongs to the claim, and nothing of it is in the way of the next
// claim of its name.
func TestAClaimIsDeletedAsAnOrphan(t *testing.T) {
	l := newLab(t, 1)
	p := l.up(t)
	l.discover(p)
	old, server, machine := l.runs(p, "web")
	before := p.boots(machine, sim.OutcomeInstalled)
	left := []client.Object{
		&metalv1.ServerBootConfiguration{ObjectMeta: objectMeta("default", "web")}, &bootv1.IPXEBootConfig{ObjectMeta: objectMeta("default", "web")},
	}
	for _, obj := range left {
		if err := p.Get(t.Context(), client.ObjectKeyFromObject(obj), obj); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Delete(t.Context(), old, client.PropagationPolicy(metav1.DeletePropagationOrphan)); err != nil {
		t.Fatal(err)
	}
	p.gone(old, old.UID)
	for _, obj := range left {
		p.gone(obj, obj.GetUID())
	}
	again := l.claim(p, "web")
	p.serverIs(p.bound("web"), metalv1.ServerStateReserved, metalv1.PowerStateOn)
	if after := p.boots(machine, sim.OutcomeInstalled); after.Number == before.Number {
		t.Errorf("the next claim of that name has booted nothing: %+v", machine.Record())
	}
	p.event(server.Name, "Claimed")
	p.Eventually("its boot configuration is ready", func(context.Context) error {
		p.says(again, func() []metav1.Condition { return again.Status.Conditions }, metalv1.ConditionBootReady, "BootConfigurationReady")
		return nil
	})
}

// TestAnUnknownOperationOnAClaim is removed, with an event.
func TestAnUnknownOperationOnAClaim(t *testing.T) {
	p := beside(t)
	c := &metalv1.ServerClaim{ObjectMeta: objectMeta("default", "c"), Spec: metalv1.ServerClaimSpec{Power: metalv1.PowerOn}}
	c.Annotations = map[string]string{metalv1.AnnotationOperation: "dance"}
	p.create(c)
	p.Eventually("the operation is removed", func(ctx context.Context) error {
		if err := p.Get(ctx, client.ObjectKeyFromObject(c), c); err != nil {
			return err
		}
		if _, left := c.Annotations[metalv1.AnnotationOperation]; left {
			return errors.New("it is there still")
		}
		return nil
	})
	p.event("c", metalv1.ReasonUnsupportedOperation)
	p.event("c", metalv1.ReasonNoMatchingServer)
}
