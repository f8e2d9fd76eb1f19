package cluster

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/test/lab"
	"github.com/farrier-dev/farrier/test/product"
)

// valuesOf is how a site would set up the chart for a lab, with further flags of the manager.
func valuesOf(t *testing.T, l *lab.Lab, further map[string]any) []string {
	t.Helper()
	flags := map[string]any{
		"probe-os-image": l.Registry.Reference("probe", "1"), "allowed-registries": []string{l.Registry.Address()},
		"plain-http-registries": []string{l.Registry.Address()}, "bmc-fast-poll": "100ms", "bmc-poll-interval": "2s",
	}
	maps.Copy(flags, further)
	config, err := json.Marshal(flags)
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
	values := valuesOf(t, l, nil)
	c.helm(append([]string{"install", "farrier", withLaterKinds(t, formerChart(t)), "--create-namespace"}, values...)...)
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

// TestBootServers: a manager and a boot server with the flags that the chart makes for them, and certificates as an operator makes them where there is no
// cert-manager: machines are inspected and boot by the boot server alone.
func TestBootServers(t *testing.T) {
	l := lab.New(t, 1)
	c := newCluster(t)
	const managerName, serverName = "farrier-boot-stream." + namespace + ".svc", "farrier-bootserver." + namespace + ".svc"
	certificates := filepath.Join(t.TempDir(), "certificates")
	for _, command := range [][]string{{"init"}, {"issue", managerName, "--manager"}, {"issue", serverName}} {
		if out, problem, code := product.Ask(t, product.Farrier, slices.Concat([]string{"cert"}, command, []string{"--dir", certificates})...); code != 0 {
			t.Fatalf("farrier cert %v: %s%s", command, out, problem)
		}
	}
	at, stream := address(), address()+":8444"
	values := valuesOf(t, l, map[string]any{"boot-url": []string{"http://" + at + ":8082"}})
	c.helm(slices.Concat([]string{"install", "farrier", chart, "--create-namespace", "--set", "bootServers.enabled=true,bootStream.certs.mode=secret",
		"--set", "bootStream.certs.managerSecret=stream,bootStream.certs.bootServersSecret=server"}, values)...)
	c.served()
	m := c.manage("--mac-prefixes-file", l.Prefixes, "--boot-stream-address", stream, "--boot-stream-certificates-dir", filepath.Join(certificates, managerName))
	c.services.leadTo(m.webhook())
	server := product.Run(t, product.BootServer, "boot server", nil, "--config", c.flags("farrier-bootserver"), "--managers", stream,
		"--certificates-dir", filepath.Join(certificates, serverName), "--data-dir", t.TempDir(), "--boot-address", at+":8082", "--health-address", at+":8081")
	t.Cleanup(func() {
		server.Kill()
		server.ShowIfFailed()
	})
	m.ready()
	isReady(t, server, at)
	l.BootURL.Store("http://" + at + ":8082")
	l.Discover(c.Running)
	_, _, machine := l.Runs(c.Running, "web")
	for _, boot := range machine.Record() {
		for _, fetch := range boot.Fetches {
			if strings.HasPrefix(fetch.URL, m.boot()) {
				t.Errorf("the machine fetched %s from the manager", fetch.URL)
			}
		}
	}
	if err := server.Stop(); err != nil {
		t.Errorf("the boot server after SIGTERM: %v", err)
	}
	m.stop()
}
