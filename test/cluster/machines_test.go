package cluster

import (
	"encoding/json"
	"maps"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/test/lab"
)

// valuesOf is how a site would set up the chart for a lab.
func valuesOf(t *testing.T, l *lab.Lab) []string {
	t.Helper()
	config, err := json.Marshal(map[string]any{
		"probe-os-image": l.Registry.Reference("probe", "1"), "allowed-registries": []string{l.Registry.Address()},
		"plain-http-registries": []string{l.Registry.Address()}, "bmc-fast-poll": "100ms", "bmc-poll-interval": "2s",
	})
	if err != nil {
		t.Fatal(err)
	}
	return []string{"--set-json", "config=" + string(config)}
}

// TestUpgradeWithARunningMachine: an installation with earlier definitions brings a rack from its BMCs to a claimed machine that runs. Then definitions,
// chart and manager are replaced: nobody touches the machine, and the new manager goes on with the rack.
func TestUpgradeWithARunningMachine(t *testing.T) {
	l := lab.New(t, 2)
	c := newCluster(t)
	values := valuesOf(t, l)
	c.helm(append([]string{"install", "farrier", formerChart(t), "--create-namespace"}, values...)...)
	c.served()
	prefixes := []string{"--mac-prefixes-file", l.Prefixes}
	before := c.manage(prefixes...)
	c.services.leadTo(before.webhook())
	l.BootURL.Store(before.boot())
	before.ready()
	l.Discover(c.Running)
	claim, server, machine := l.Runs(c.Running, "web")
	before.stop()

	resets, boots := machine.Resets(), len(machine.Record())
	c.helm(append([]string{"upgrade", "farrier", chart}, values...)...)
	after := c.manage(prefixes...)
	c.services.leadTo(after.webhook())
	l.BootURL.Store(after.boot())
	after.ready()
	if _, other, _ := l.Runs(c.Running, "db"); other.Name == server.Name {
		t.Errorf("the server of one claim, %s, was given to another", server.Name)
	}
	if now := machine.Resets(); !maps.Equal(resets, now) || len(machine.Record()) != boots {
		t.Errorf("the machine was touched: resets %v, then %v; boots %d, then %d", resets, now, boots, len(machine.Record()))
	}
	c.ServerIs(server.Name, metalv1.ServerStateReserved, metalv1.PowerStateOn)
	var now metalv1.ServerClaim
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(claim), &now); err != nil || now.Spec.ServerRef == nil || now.Spec.ServerRef.Name != server.Name {
		t.Errorf("the claim has %v (%v), had %s", now.Spec.ServerRef, err, server.Name)
	}
	after.stop()
}
