package bootservers

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/sim"
	"github.com/farrier-dev/farrier/test/product"
)

// TestTheWholePath: machines are discovered, claimed, booted, released and cleaned through boot servers that have no Kubernetes. The manager is
// killed when it has switched a claimed machine on and the machine has asked for nothing yet: it boots all the same, from a boot server that
// was not asked before, and what it fetched is in conditions when the manager is back, once.
func TestTheWholePath(t *testing.T) {
	w := newWorld(t, 2)
	w.Discover(w.Running)
	for i := range w.BMCs() {
		w.onlyFrom(w.Machine(i), 0, w.servers[0])
	}
	seen := w.countDeliveries()

	w.DHCP.Lock()
	w.Ignition(w.Running, "web", "ignition")
	claim := w.Claim(w.Running, "web")
	name := w.Bound("web")
	w.ServerIs(name, metalv1.ServerStateReserved, metalv1.PowerStateOn)
	machine := w.MachineOf(w.Running, name)
	before := len(machine.Record())
	if boots := machine.Record(); len(boots[before-1].Fetches) > 0 || boots[before-1].Outcome != "" {
		t.Fatalf("the machine boots already: %+v", boots[before-1])
	}
	w.manager.Kill()
	w.BootURL.Store(w.servers[1].url)
	w.DHCP.Unlock()
	w.Boots(machine, sim.OutcomeInstalled)
	w.onlyFrom(machine, before-1, w.servers[1])
	if boots := len(machine.Record()); boots != before {
		t.Errorf("the machine has booted %d times, want %d", boots, before)
	}

	epoch := w.servers[1].follows("")
	w.startManager()
	w.delivered(machine)
	w.servers[1].follows(epoch)
	w.servers[1].Kill() // what it has told stays told
	w.servers[1].start()
	w.servers[1].isReady()
	w.ServerIs(name, metalv1.ServerStateReserved, metalv1.PowerStateOn)
	w.listed()

	// Probes report to the boot URL, which is the first boot server's.
	w.BootURL.Store(w.servers[0].url)
	if err := w.Delete(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	w.ServerIs(name, metalv1.ServerStateAvailable, metalv1.PowerStateOff)
	w.onlyFrom(machine, before, w.servers[0])
	for what, n := range seen.all() {
		if n != 1 {
			t.Errorf("%s became true %d times", what, n)
		}
	}
}

// listed waits until the manager says that both boot servers follow, and are as they should be.
func (w *world) listed() {
	w.t.Helper()
	w.Eventually("the list of boot servers", func(context.Context) error {
		out, problem, code := product.Ask(w.t, product.Farrier, "boot-servers", "--kubeconfig", w.managerArgs[1], "--manager-namespace", managerNamespace)
		if code != 0 {
			return fmt.Errorf("%s%s", out, problem)
		}
		for _, b := range w.servers {
			name, site, _ := strings.Cut(b.name, "=")
			if !slices.ContainsFunc(slices.Collect(strings.Lines(out)), func(line string) bool {
				f := strings.Fields(line) // "-" stands for what there is not; a time has two fields
				return len(f) == 9 && f[0] == name && f[1] == cmp.Or(site, "-") && f[2] == "yes" && f[5] == "yes" && f[8] == "-"
			}) {
				return fmt.Errorf("%s is not as it should be:\n%s", name, out)
			}
		}
		return nil
	})
}

// onlyFrom checks that a machine has fetched from one boot server alone, from a boot on.
func (w *world) onlyFrom(m *sim.Machine, boot int, b *bootServer) {
	w.t.Helper()
	for _, record := range m.Record()[boot:] {
		if len(record.Fetches) == 0 {
			w.t.Errorf("boot %d has fetched nothing", record.Number)
		}
		for _, fetch := range record.Fetches {
			if !strings.HasPrefix(fetch.URL, b.url+"/") {
				w.t.Errorf("boot %d: fetched %s, want everything from %s", record.Number, fetch.URL, b.url)
			}
		}
	}
}

// told are the conditions of what a machine fetches.
var told = []string{bootv1.ConditionIPXEScriptFetched, bootv1.ConditionIgnitionDataFetched}

// delivered waits until it is known what a machine has fetched.
func (w *world) delivered(m *sim.Machine) {
	w.t.Helper()
	w.Eventually("what the machine has fetched, in conditions", func(ctx context.Context) error {
		var list bootv1.IPXEBootConfigList
		if err := w.List(ctx, &list, client.InNamespace("default")); err != nil {
			return err
		}
		if len(list.Items) == 0 {
			return errNone
		}
		for _, c := range list.Items {
			for _, kind := range told {
				if !apimeta.IsStatusConditionTrue(c.Status.Conditions, kind) {
					return fmt.Errorf("%s of %s: %+v", kind, c.Name, c.Status.Conditions)
				}
			}
		}
		return nil
	})
}

// deliveries counts how often conditions of boot configs in the tenant's namespace became true.
type deliveries struct {
	mu    sync.Mutex
	is    map[string]metav1.ConditionStatus
	count map[string]int
}

func (w *world) countDeliveries() *deliveries {
	w.t.Helper()
	watcher, err := client.NewWithWatch(w.api.RESTConfig(), client.Options{Scheme: w.Scheme()})
	if err != nil {
		w.t.Fatal(err)
	}
	changes, err := watcher.Watch(w.t.Context(), &bootv1.IPXEBootConfigList{}, client.InNamespace("default"))
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(changes.Stop)
	d := &deliveries{is: map[string]metav1.ConditionStatus{}, count: map[string]int{}}
	go func(events <-chan watch.Event) {
		for e := range events {
			if config, ok := e.Object.(*bootv1.IPXEBootConfig); ok {
				d.see(config)
			}
		}
	}(changes.ResultChan())
	return d
}

func (d *deliveries) see(config *bootv1.IPXEBootConfig) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range config.Status.Conditions {
		what := config.Name + " " + c.Type
		if c.Status == metav1.ConditionTrue && d.is[what] != metav1.ConditionTrue && (c.Type == told[0] || c.Type == told[1]) {
			d.count[what]++
		}
		d.is[what] = c.Status
	}
}

func (d *deliveries) all() map[string]int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.count
}
