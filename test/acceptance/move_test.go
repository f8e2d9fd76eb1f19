package acceptance

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	ipxev1 "github.com/farrier-dev/farrier/api/ipxe/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/sim"
	"github.com/farrier-dev/farrier/test/product"
)

// TestMoveToAnotherUp: what a farrier up holds moves to another one, whose admission judges every object. The machine that runs is not touched, the target goes
// on, and the source stays paused when it is started again.
func TestMoveToAnotherUp(t *testing.T) {
	l := newLab(t, 2)
	p := l.up(t)
	l.discover(p)
	claim, server, machine := l.runs(p, "web")
	config := &metalv1.ServerBootConfiguration{ObjectMeta: objectMeta(claim.Namespace, claim.Name)}
	p.says(config, func() []metav1.Condition { return config.Status.Conditions }, bootv1.ConditionIgnitionDataFetched, "Delivered") // before, it counts as booting
	p.profile("rescue", server.Spec.SystemUUID)
	if err := p.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: objectMeta("default", "mine")}); err != nil {
		t.Fatal(err)
	}
	source := l.DataDir
	l.DataDir = t.TempDir() // one that exists gets a cluster of its own
	q := l.up(t)
	resets, boots := machine.Resets(), len(machine.Record())

	args := []string{"move", "--kubeconfig", p.Kubeconfig, "--to-kubeconfig", q.Kubeconfig}
	plan, stderr, code := product.Ask(t, product.Farrier, append(args, "--dry-run")...)
	if code != 0 || !strings.Contains(plan, "move ServerClaim default/web\n") || strings.Contains(plan, "mine") {
		t.Errorf("dry run: %d\n%s%s", code, plan, stderr)
	}
	out, stderr, code := product.Ask(t, product.Farrier, args...)
	if code != 0 || !strings.Contains(out, "acts from now on") || !strings.Contains(out, "Secret default/web") {
		t.Fatalf("move: %d %s%s", code, out, stderr)
	}
	q.observed(server.Name)
	q.serverIs(server.Name, metalv1.ServerStateReserved, metalv1.PowerStateOn)
	if again := q.bound(claim.Name); again != server.Name {
		t.Errorf("the claim is bound to %s, and was to %s", again, server.Name)
	}
	var profile ipxev1.Profile
	if err := q.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "rescue"}, &profile); err != nil {
		t.Error(err)
	}
	l.ignition(q, "next", "ignition")
	l.claim(q, "next")
	q.boots(l.machine(q, q.bound("next")), sim.OutcomeInstalled)
	if got := machine.Resets(); !maps.Equal(got, resets) || len(machine.Record()) != boots {
		t.Errorf("the running machine was touched: resets %v, before %v; %d boots, before %d", got, resets, len(machine.Record()), boots)
	}

	// Started again, the source answers as before and does nothing.
	p.Kill()
	again := start(t, source)
	again.Eventually("it says that it is paused", func(context.Context) error {
		if !strings.Contains(again.Log(), "paused by the Lease") {
			return errors.New(again.Log())
		}
		return nil
	})
	var servers metalv1.ServerList
	if err := again.List(t.Context(), &servers); err != nil || len(servers.Items) > 0 {
		t.Errorf("%d servers are still at the source: %v", len(servers.Items), err)
	}
	q.delete(&metalv1.ServerClaim{ObjectMeta: objectMeta("default", "web")})
	q.serverIs(server.Name, metalv1.ServerStateAvailable, metalv1.PowerStateOff)
}

// profile makes a Profile and an Assignment of it to a machine.
func (p *running) profile(name, uuid string) {
	p.t.Helper()
	profile := &ipxev1.Profile{ObjectMeta: objectMeta("default", name)}
	profile.Spec.IPXE = "#!ipxe\nexit\n"
	assignment := &ipxev1.Assignment{ObjectMeta: objectMeta("default", name)}
	assignment.Spec.ProfileName, assignment.Spec.SubjectSelectors = name, map[string][]string{"uuid": {uuid}}
	for _, obj := range []client.Object{profile, assignment} {
		if err := p.Create(p.t.Context(), obj); err != nil {
			p.t.Fatal(err)
		}
	}
}
