package manager

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controlplane/testapi"
	"github.com/farrier-dev/farrier/internal/sim"
	"github.com/farrier-dev/farrier/test/loopback"
	"github.com/farrier-dev/farrier/test/product"
)

// beside is another cluster that can reach the same rack, without a manager yet. Its managers answer machines at the address boot.
func (s *site) beside(boot string) *site {
	s.t.Helper()
	to := &site{Rack: s.Rack, t: s.t, api: testapi.StartWith(s.t, "--api-address", loopback.Free(s.t)), registry: s.registry, namespace: s.namespace}
	var err error
	if to.Client, err = client.New(to.api.RESTConfig(), client.Options{Scheme: s.Scheme()}); err != nil {
		s.t.Fatal(err)
	}
	kubeconfig := to.install()
	to.args = slices.Clone(s.args)
	for i, arg := range s.args[:len(s.args)-1] {
		switch arg {
		case "--kubeconfig":
			to.args[i+1] = kubeconfig
		case "--boot-address":
			to.args[i+1] = boot
		}
	}
	return to
}

// moveTo is the command line that moves everything to another cluster.
func (s *site) moveTo(to *site, more ...string) []string {
	return append([]string{"move", "--kubeconfig", s.api.Kubeconfig(), "--to-kubeconfig", to.api.Kubeconfig()}, more...)
}

// installed waits until the last boot of a machine has come to its end.
func (s *site) installed(i int) {
	s.t.Helper()
	eventually(s.t, fmt.Sprintf("machine %d is installed", i), func() error {
		boots := s.Machine(i).Record()
		if len(boots) == 0 {
			return errors.New("it has not booted")
		}
		if last := boots[len(boots)-1]; last.Outcome != sim.OutcomeInstalled {
			return fmt.Errorf("its last boot: %q %s", last.Outcome, last.Why)
		}
		return nil
	})
}

// TestMove: a rack with a machine that runs for a claim moves to another cluster, while managers run at both sides, and although the move is killed twice. The
// machine is not touched, its claim stays bound, the rotated password opens its BMC, and the manager there goes on: it serves the next claim and releases
// the first.
func TestMove(t *testing.T) {
	var moved atomic.Bool
	boot := loopback.Free(t)
	s := newSiteOf(t, servers, func(o *sim.Options) {
		before := o.BootURL
		o.BootURL = func() string {
			if moved.Load() {
				return "http://" + boot + "/ipxe/"
			}
			return before()
		}
	})
	to := s.beside(boot)
	first, second := launch(t, "source", s.args...), launch(t, "target", to.args...)
	first.isReady()
	second.isReady()
	s.discover()
	s.rotate(0)
	claimed := s.claim("web")
	s.installed(claimed)
	// One that is about to be allocated: it boots nothing.
	waiting := &metalv1.ServerClaim{}
	waiting.Namespace, waiting.Name = s.namespace, "waiting"
	waiting.Spec.Power = metalv1.PowerOff
	s.create(waiting)

	resets := s.resets()
	for _, said := range []string{"pausing", "copied"} {
		var heard atomic.Bool
		p := product.Run(t, product.Farrier, "move", func(line string) {
			if strings.Contains(line, said) {
				heard.Store(true)
			}
		}, s.moveTo(to)...)
		eventually(t, "the move says "+said, func() error {
			if !heard.Load() {
				return errors.New(p.Log())
			}
			return nil
		})
		p.Kill()
	}
	out, stderr, code := product.Ask(t, product.Farrier, s.moveTo(to)...)
	if code != 0 || !strings.Contains(out, "acts from now on") {
		t.Fatalf("move: %d %s%s", code, out, stderr)
	}
	moved.Store(true)
	logins := s.logins()
	for i := range servers {
		eventually(t, fmt.Sprintf("BMC %d is looked after at the target", i), func() error {
			if got := s.Stats(i).Logins; got == logins[i] {
				return fmt.Errorf("%d logins, as before", got)
			}
			return nil
		})
	}
	to.serverIs(claimed, metalv1.ServerStateReserved, metalv1.PowerStateOn)
	to.boundTo("web", claimed)
	to.boundTo("waiting", -1)
	for i, before := range resets {
		if got := s.Machine(i).Resets(); !maps.Equal(got, before) {
			t.Errorf("machine %d: resets %v after the move, %v before", i, got, before)
		}
	}

	next := to.claim("next")
	to.installed(next)
	if err := to.Delete(t.Context(), &metalv1.ServerClaim{ObjectMeta: metav1.ObjectMeta{Namespace: to.namespace, Name: "web"}}); err != nil {
		t.Fatal(err)
	}
	to.serverIs(claimed, metalv1.ServerStateAvailable, metalv1.PowerStateOff)
	var left metalv1.ServerList
	if err := s.List(t.Context(), &left); err != nil || len(left.Items) > 0 {
		t.Errorf("%d servers are still at the source: %v", len(left.Items), err)
	}
	if holder := s.holder(); holder != "farrier-paused" {
		t.Errorf("the source may act: its lease is held by %q", holder)
	}
	second.stop()
	first.stop()
}

// rotate gives a BMC a new password.
func (s *site) rotate(i int) {
	s.t.Helper()
	var bmc metalv1.BMC
	key := client.ObjectKey{Name: s.BMCs()[i].Name}
	eventually(s.t, "the rotation is asked for", func() error {
		if err := s.Get(s.t.Context(), key, &bmc); err != nil {
			return err
		}
		if bmc.Annotations == nil {
			bmc.Annotations = map[string]string{}
		}
		bmc.Annotations[metalv1.AnnotationOperation] = metalv1.OperationRotateCredentials
		return s.Update(s.t.Context(), &bmc)
	})
	eventually(s.t, "the password is another", func() error {
		if err := s.Get(s.t.Context(), key, &bmc); err != nil {
			return err
		}
		if asked, still := metalv1.OperationOf(&bmc); still {
			return fmt.Errorf("%s is still asked for", asked)
		}
		return nil
	})
}

// boundTo waits until a claim is bound to server i; -1: to any.
func (s *site) boundTo(name string, i int) {
	s.t.Helper()
	eventually(s.t, "claim "+name, func() error {
		var claim metalv1.ServerClaim
		if err := s.Get(s.t.Context(), client.ObjectKey{Namespace: s.namespace, Name: name}, &claim); err != nil {
			return err
		}
		if claim.Status.Phase != metalv1.ServerClaimPhaseBound || claim.Spec.ServerRef == nil {
			return fmt.Errorf("is %s", claim.Status.Phase)
		}
		if i >= 0 && claim.Spec.ServerRef.Name != s.BMCs()[i].Name+"-system-0" {
			return fmt.Errorf("is bound to %s", claim.Spec.ServerRef.Name)
		}
		return nil
	})
}
