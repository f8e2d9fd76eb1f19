package acceptance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/image/localregistry"
	"github.com/farrier-dev/farrier/internal/sim"
	testlab "github.com/farrier-dev/farrier/test/lab"
)

// maintenanceOf is a maintenance that asks nobody, unless a change says otherwise.
func maintenanceOf(server, name string, change ...func(*metalv1.ServerMaintenance)) *metalv1.ServerMaintenance {
	m := &metalv1.ServerMaintenance{ObjectMeta: objectMeta("default", name)}
	m.Spec.ServerRef.Name, m.Spec.Policy = server, metalv1.ServerMaintenancePolicyEnforced
	for _, c := range change {
		c(m)
	}
	return m
}

func needsApproval(m *metalv1.ServerMaintenance) {
	m.Spec.Policy = metalv1.ServerMaintenancePolicyOwnerApproval
}

// kernelOf is the repository of the kernel that a machine booted.
func kernelOf(record sim.BootRecord) string {
	kernel, _ := record.Fetched(sim.WhatKernel)
	_, after, _ := strings.Cut(kernel.URL, "imageName=")
	name, _, _ := strings.Cut(after, "&")
	return name[strings.LastIndex(strings.ReplaceAll(name, "%2F", "/"), "/")+1:]
}

// TestMaintenanceBootsItsOwn: the machine of a claim boots what the maintenance brings, from cold, and then what its claim says
// again; the claim has its server all the time.
func TestMaintenanceBootsItsOwn(t *testing.T) {
	l := newLab(t, 1)
	if _, err := l.Registry.Push(t.Context(), "tool", "1", localregistry.SmallImage(7)); err != nil {
		t.Fatal(err)
	}
	p := l.up(t)
	l.discover(p)
	web, claimed, machine := l.runs(p, "web")
	name, first := claimed.Name, p.boots(machine, sim.OutcomeInstalled)

	m := maintenanceOf(name, "swap-disk", func(m *metalv1.ServerMaintenance) {
		m.Spec.LocatorLED = metalv1.IndicatorLEDBlinking
		m.Spec.ServerBootConfigurationTemplate = &metalv1.ServerBootConfigurationTemplate{Name: "tool"}
		m.Spec.ServerBootConfigurationTemplate.Spec.Image = l.Registry.Reference("tool", "1")
		m.Spec.ServerBootConfigurationTemplate.Spec.ServerRef.Name = name
		m.Spec.ServerBootConfigurationTemplate.Spec.IgnitionSecretRef = &metalv1.LocalObjectReference{Name: "web"}
	})
	if err := p.Create(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	runs := func(repository string, after int) (record sim.BootRecord) {
		t.Helper()
		p.Eventually("the machine runs "+repository, func(context.Context) error {
			records := machine.Record()
			record = records[len(records)-1]
			if record.Number <= after || record.Outcome != sim.OutcomeInstalled || !strings.HasSuffix(kernelOf(record), repository) {
				return fmt.Errorf("boot %d of %q came to %q (%s)", record.Number, kernelOf(record), record.Outcome, record.Why)
			}
			return nil
		})
		return record
	}
	tool := runs("tool", first.Number)
	server := p.serverIs(name, metalv1.ServerStateMaintenance, metalv1.PowerStateOn)
	if server.Spec.ServerClaimRef == nil || server.Annotations[metalv1.AnnotationClaimedBy] != string(web.UID) || server.Status.IndicatorLED != metalv1.IndicatorLEDBlinking {
		t.Errorf("in maintenance: claim %v, mark %q, light %s", server.Spec.ServerClaimRef, server.Annotations[metalv1.AnnotationClaimedBy], server.Status.IndicatorLED)
	}
	if got := p.bound("web"); got != name {
		t.Errorf("bound to %s", got)
	}

	tools := &metalv1.ServerBootConfiguration{}
	if err := p.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "tool"}, tools); err != nil {
		t.Fatal(err)
	}
	p.delete(m)
	runs("os", tool.Number)
	server = p.serverIs(name, metalv1.ServerStateReserved, metalv1.PowerStateOn)
	if server.Annotations[metalv1.AnnotationClaimedBy] != string(web.UID) || server.Spec.MaintenanceBootConfigurationRef != nil ||
		server.Spec.BootConfigurationRef == nil || *server.Spec.BootConfigurationRef != *claimed.Spec.BootConfigurationRef {
		t.Errorf("after the maintenance: mark %q, boots %v (maintenance: %v)", server.Annotations[metalv1.AnnotationClaimedBy], server.Spec.BootConfigurationRef, server.Spec.MaintenanceBootConfigurationRef)
	}
	if got := p.bound("web"); got != name {
		t.Errorf("bound to %s", got)
	}
	p.gone(tools, tools.UID)
}

// TestMaintenancesTakeTurns: the highest priority goes first, then who asks nobody, then the oldest; who has no approval holds
// nobody up; and the approval goes with the last that needed it.
func TestMaintenancesTakeTurns(t *testing.T) {
	l := newLab(t, 1)
	p := l.up(t)
	l.discover(p)
	claim, server, _ := l.runs(p, "web")
	name := server.Name
	create := func(name2 string, change ...func(*metalv1.ServerMaintenance)) *metalv1.ServerMaintenance {
		t.Helper()
		m := maintenanceOf(name, name2, change...)
		if err := p.Create(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		return m
	}
	// The old has the last name: where age would not count it would be the last.
	old := create("z-old", needsApproval)
	p.maintenanceSays(old, metalv1.ServerMaintenanceStatePending, metalv1.ReasonWaitingForApproval, "default/web")
	holder := create("holder") // asks nobody, and so does not wait for who has to
	p.maintenanceSays(holder, metalv1.ServerMaintenanceStateInMaintenance, metalv1.ReasonMaintenanceGranted, name)
	enforced := create("enforced")
	urgent := create("urgent", needsApproval, func(m *metalv1.ServerMaintenance) { m.Spec.Priority = 5 })
	p.Eventually("another second", func(context.Context) error { // timestamps of objects have whole seconds
		if !time.Now().After(old.CreationTimestamp.Add(2 * time.Second)) {
			return errors.New("not yet")
		}
		return nil
	})
	young := create("a-young", needsApproval)
	for _, m := range []*metalv1.ServerMaintenance{enforced, urgent, young, old} {
		p.maintenanceSays(m, metalv1.ServerMaintenanceStatePending, metalv1.ReasonWaitingForTurn, "default/holder")
	}
	p.Eventually("the owner agrees", func(ctx context.Context) error {
		if err := p.Get(ctx, client.ObjectKeyFromObject(claim), claim); err != nil {
			return err
		}
		metav1.SetMetaDataLabel(&claim.ObjectMeta, metalv1.LabelMaintenanceApproved, "true")
		return p.Update(ctx, claim)
	})
	// The manager learns of claims in the order of their changes, and of maintenances apart from them: it knows of the approval when it has said something
	// of a younger claim. Otherwise the turn of enforced, which needs none, may come first.
	younger := l.claim(p, "younger", func(c *metalv1.ServerClaim) {
		c.Spec.ServerSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"no": "server"}}
	})
	p.unbound(younger, metalv1.ReasonNoMatchingServer)
	waiting := []*metalv1.ServerMaintenance{urgent, enforced, old, young}
	p.delete(holder)
	for len(waiting) > 0 {
		next := waiting[0]
		p.maintenanceSays(next, metalv1.ServerMaintenanceStateInMaintenance, metalv1.ReasonMaintenanceGranted, name)
		for _, m := range waiting[1:] {
			p.maintenanceSays(m, metalv1.ServerMaintenanceStatePending, metalv1.ReasonWaitingForTurn, "default/"+next.Name)
		}
		waiting = slices.Delete(waiting, 0, 1)
		p.delete(next)
	}
	p.serverIs(name, metalv1.ServerStateReserved, metalv1.PowerStateOn)
	p.Eventually("the owner is asked nothing any more", func(ctx context.Context) error {
		if err := p.Get(ctx, client.ObjectKeyFromObject(claim), claim); err != nil {
			return err
		}
		if len(claim.Labels) != 0 || claim.Annotations[metalv1.AnnotationMaintenanceReason] != "" {
			return fmt.Errorf("labels %v, annotations %v", claim.Labels, claim.Annotations)
		}
		return nil
	})
}

// TestNobodyTakesAServerBetweenMaintenances: a claim waits for the only server there is. It gets it when no maintenance waits any more,
// and not in between.
func TestNobodyTakesAServerBetweenMaintenances(t *testing.T) {
	l := newLab(t, 1)
	p := l.up(t)
	l.discover(p)
	name := l.BMCs()[0].Name + "-system-0"
	var queue []*metalv1.ServerMaintenance
	for i := range 4 {
		m := maintenanceOf(name, fmt.Sprintf("work-%d", i), needsApproval)
		if err := p.Create(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		queue = append(queue, m)
	}
	p.maintenanceSays(queue[0], metalv1.ServerMaintenanceStateInMaintenance, metalv1.ReasonMaintenanceGranted, name)
	for _, m := range queue[1:] {
		p.maintenanceSays(m, metalv1.ServerMaintenanceStatePending, metalv1.ReasonWaitingForTurn, "")
	}
	l.ignition(p, "web", "ignition")
	web := l.claim(p, "web")
	for i, m := range queue {
		p.unbound(web, metalv1.ReasonAllMatchingServersBusy, "in maintenance")
		p.delete(m)
		if i+1 < len(queue) {
			p.maintenanceSays(queue[i+1], metalv1.ServerMaintenanceStateInMaintenance, metalv1.ReasonMaintenanceGranted, name)
		}
	}
	p.serverIs(name, metalv1.ServerStateReserved, metalv1.PowerStateOn)
	var lives []string
	for line := range strings.Lines(p.Log()) {
		if _, keys, is := strings.Cut(line, "server changed state "); is {
			_, state, _ := strings.Cut(keys, "state=")
			lives = append(lives, strings.TrimSpace(state))
		}
	}
	lives = lives[slices.Index(lives, string(metalv1.ServerStateMaintenance)):]
	if n := len(slices.Compact(lives)); n > 3 { // Maintenance, Available, Reserved
		t.Errorf("it was %v", lives)
	}
}

// TestAForeignMaintenanceKeepsItsServer: a reference that leads nowhere is somebody else's, and the server is his until he lets go of it.
func TestAForeignMaintenanceKeepsItsServer(t *testing.T) {
	l := newLab(t, 1)
	p := l.up(t, "--bmc-poll-interval", "1s")
	l.discover(p)
	name := l.BMCs()[0].Name + "-system-0"
	p.changeServer(name, func(s *metalv1.Server) {
		s.Spec.ServerMaintenanceRef = &metalv1.ObjectReference{Namespace: "firmware", Name: "flash"}
	})
	p.serverSays(name, "ForeignMaintenance", metav1.ConditionTrue, "NotFound")
	l.ignition(p, "web", "ignition")
	web := l.claim(p, "web")
	p.unbound(web, metalv1.ReasonAllMatchingServersBusy, "in maintenance")
	p.polled(l, 0)
	if s := p.serverIs(name, metalv1.ServerStateMaintenance, metalv1.PowerStateOff); s.Spec.ServerMaintenanceRef == nil {
		t.Error("its reference was removed")
	}
	p.changeServer(name, func(s *metalv1.Server) { s.Spec.ServerMaintenanceRef = nil })
	p.serverIs(name, metalv1.ServerStateReserved, metalv1.PowerStateOn)
}

// maintenanceSays waits for the state of a maintenance, its reason and a word of it.
func (p *running) maintenanceSays(m *metalv1.ServerMaintenance, state metalv1.ServerMaintenanceState, reason, word string) {
	p.t.Helper()
	p.Eventually("maintenance "+m.Name, func(ctx context.Context) error {
		if err := p.Get(ctx, client.ObjectKeyFromObject(m), m); err != nil {
			return err
		}
		c := apimeta.FindStatusCondition(m.Status.Conditions, metalv1.ConditionInMaintenance)
		if m.Status.State != state || c == nil || c.Reason != reason || !strings.Contains(c.Message, word) {
			return fmt.Errorf("is %s, want %s, %s with %q: %s", m.Status.State, state, reason, word, testlab.ConditionsText(m.Status.Conditions))
		}
		return nil
	})
}

// TestReadinessOfRealConditions: a rule about a condition that Farrier sets itself keeps claims away until it is so, and from
// then on, by its mode, again or not.
func TestReadinessOfRealConditions(t *testing.T) {
	l := newLab(t, 1)
	p := l.up(t)
	rule := func(name string, mode metalv1.ReadinessEnforcementMode) *metalv1.ServerReadinessRule {
		r := &metalv1.ServerReadinessRule{ObjectMeta: objectMeta("", name)}
		r.Spec.Conditions = []metalv1.ReadinessCondition{{Type: "IndicatorApplied", RequiredStatus: metav1.ConditionTrue}, {Type: metalv1.ConditionDiscovered, RequiredStatus: metav1.ConditionTrue}}
		r.Spec.Taint = metalv1.Taint{Key: "example.org/" + name}
		r.Spec.EnforcementMode = mode
		if err := p.Create(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		return r
	}
	always := rule("always", metalv1.ReadinessEnforcementModeContinuous)
	rule("beginning", metalv1.ReadinessEnforcementModeBootstrapOnly)
	l.discover(p)
	server := l.BMCs()[0].Name + "-system-0"
	tainted := func(keys ...string) {
		t.Helper()
		p.Eventually("the taints of "+server, func(ctx context.Context) error {
			var s metalv1.Server
			if err := p.Get(ctx, client.ObjectKey{Name: server}, &s); err != nil {
				return err
			}
			var found []string
			for _, taint := range s.Spec.Taints {
				found = append(found, taint.Key)
			}
			if slices.Sort(found); !slices.Equal(found, keys) {
				return fmt.Errorf("%v, want %v: %s", found, keys, testlab.ConditionsText(s.Status.Conditions))
			}
			return nil
		})
	}
	light := func(led metalv1.IndicatorLED) {
		p.changeServer(server, func(s *metalv1.Server) { s.Spec.IndicatorLED = led })
	}
	tainted("example.org/always", "example.org/beginning")
	c := l.claim(p, "web")
	p.unbound(c, metalv1.ReasonTaintNotTolerated, "1 with a taint that is not tolerated")

	light(metalv1.IndicatorLEDLit)
	tainted()
	if got := p.bound("web"); got != server {
		t.Errorf("bound to %s", got)
	}
	light("")
	tainted("example.org/always")
	p.delete(always)
	tainted()
}
