package bootconfig

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootview/booturl"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
)

// change is something that others do to what a boot configuration depends on; n makes it differ from the one before.
type change struct {
	name string
	do   func(t *testing.T, s *stand, n int)
}

var changes = []change{
	{"another NIC", func(t *testing.T, s *stand, n int) {
		controllertest.ChangeStatus(t, s.API, "s", func(o *metalv1.Server) {
			o.Status.NetworkInterfaces = []metalv1.NetworkInterface{{
				Name: "eth0", MACAddress: fmt.Sprintf("02:00:00:00:%02x:%02x", n>>8&0xff, n&0xff), IPs: []string{fmt.Sprintf("10.1.%d.%d", n>>8&0xff, n&0xff)},
			}}
		})
	}},
	{"another UUID", func(t *testing.T, s *stand, n int) {
		controllertest.Change(t, s.API, "s", func(o *metalv1.Server) { o.Spec.SystemUUID = fmt.Sprintf("00000000-0000-0000-0001-%012x", n) })
	}},
	{"another ignition Secret", func(t *testing.T, s *stand, n int) {
		controllertest.Change(t, s.API, "ns/c", func(o *metalv1.ServerBootConfiguration) {
			o.Spec.IgnitionSecretRef = &metalv1.LocalObjectReference{Name: fmt.Sprintf("ignition-%d", n)}
		})
	}},
	{"a hand in an IPXEBootConfig", func(t *testing.T, s *stand, n int) {
		controllertest.Change(t, s.API, "ns/c", func(o *bootv1.IPXEBootConfig) { o.Spec.KernelURL = fmt.Sprintf("http://elsewhere/%d", n) })
	}},
	{"a deleted HTTPBootConfig", func(t *testing.T, s *stand, _ int) { s.Remove(t, s.http(t)) }},
	{"a wiped status", func(t *testing.T, s *stand, _ int) {
		controllertest.ChangeStatus(t, s.API, "ns/c", func(o *metalv1.ServerBootConfiguration) { o.Status = metalv1.ServerBootConfigurationStatus{} })
	}},
}

// Two controllers, an old leader and a new one, reconcile in any order: each change is answered by one write to each
// object, and then by none.
func TestTwoReconcilersWriteOnce(t *testing.T) {
	s, _ := pushed(t, both)
	s.resolved(t)
	s.delivered(t)
	twin := &Reconciler{Client: s.API, APIReader: s.API, Images: s.Images, Sites: booturl.Single(bootURL), Architecture: "amd64"}
	reconcilers := []*Reconciler{s.Reconciler, twin}
	kinds := []string{"IPXEBootConfig", "HTTPBootConfig", "ServerBootConfiguration"}
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		for range rapid.IntRange(1, 4).Draw(rt, "changes") {
			n++
			c := rapid.SampledFrom(changes).Draw(rt, "change")
			c.do(t, s, n)
			s.ForgetWrites()
			for i, turn := range rapid.Permutation([]int{0, 0, 1, 1}).Draw(rt, "order") {
				s.Step(t, reconcilers[turn], "ns/c")
				for _, kind := range kinds {
					if w := s.Writes(kind); len(w) > 1 {
						rt.Fatalf("%s: after %d reconciles %d writes to %s: %v", c.name, i+1, len(w), kind, w)
					}
				}
			}
			if w := s.Writes(""); len(w) == 0 {
				rt.Fatalf("%s: nothing was written", c.name)
			}
		}
		s.delivered(t)
	})
	uuid, macs := s.ipxe(t).Spec.SystemUUID, s.http(t).Spec.NetworkIdentifiers
	server := controllertest.Read[metalv1.Server](t, s.API, "s")
	nic := server.Status.NetworkInterfaces[0]
	if uuid != server.Spec.SystemUUID || s.http(t).Spec.SystemUUID != uuid || macs[0] != nic.IPs[0] || macs[1] != nic.MACAddress {
		t.Errorf("in the end UUID %s and identifiers %v, want %s and those of %v", uuid, macs, server.Spec.SystemUUID, nic)
	}
}

// One that has not heard of what the other one did changes nothing of it.
func TestAReconcilerBehindItsTimeChangesNothing(t *testing.T) {
	for _, c := range changes {
		t.Run(c.name, func(t *testing.T) {
			s, _ := pushed(t, both)
			s.resolved(t)
			s.delivered(t)
			behind := &Reconciler{
				Client: s.Lagging(t, &metalv1.ServerList{}, &metalv1.ServerBootConfigurationList{}, &bootv1.IPXEBootConfigList{}, &bootv1.HTTPBootConfigList{}), APIReader: s.API,
				Images: s.Images, Sites: booturl.Single(bootURL), Architecture: "amd64",
			}
			c.do(t, s, 1)
			s.settle(t)
			before := versions(t, s)
			// A conflict or none: it does not matter which.
			_, _ = behind.Reconcile(t.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "ns", Name: "c"}})
			if diff := cmp.Diff(before, versions(t, s)); diff != "" {
				t.Errorf("it wrote (-before +after):\n%s", diff)
			}
		})
	}
}

func versions(t *testing.T, s *stand) map[string]string {
	t.Helper()
	all := map[string]string{}
	for kind, o := range map[string]metav1.Object{
		"config": controllertest.Read[metalv1.ServerBootConfiguration](t, s.API, "ns/c"), "iPXE": s.ipxe(t), "HTTP": s.http(t),
	} {
		all[kind] = o.GetResourceVersion()
	}
	return all
}

// TestWhatIsLeftOfABootConfigurationIsDeleted: somebody has had that deleted without what belongs to it. What people wrote stays.
func TestWhatIsLeftOfABootConfigurationIsDeleted(t *testing.T) {
	s, _ := pushed(t, both)
	s.resolved(t)
	s.delivered(t)
	s.Remove(t, controllertest.Read[metalv1.ServerBootConfiguration](t, s.API, "ns/c"))
	controllertest.Change(t, s.API, "ns/c", func(o *bootv1.IPXEBootConfig) { o.OwnerReferences = nil })
	controllertest.Change(t, s.API, "ns/c", func(o *bootv1.HTTPBootConfig) { o.OwnerReferences, o.Annotations = nil, nil })
	s.Settle(t, s.Reconciler, "ns/c")
	if !controllertest.Gone[bootv1.IPXEBootConfig](t, s.API, "ns/c") {
		t.Error("an IPXEBootConfig without an owner is left")
	}
	if controllertest.Gone[bootv1.HTTPBootConfig](t, s.API, "ns/c") {
		t.Error("an HTTPBootConfig that people wrote is gone")
	}
}

// TestTheNextBootConfigurationOfThatName takes over what was left.
func TestTheNextBootConfigurationOfThatName(t *testing.T) {
	s, _ := pushed(t, kernel)
	s.resolved(t)
	s.delivered(t)
	old := controllertest.Read[metalv1.ServerBootConfiguration](t, s.API, "ns/c")
	s.Remove(t, old)
	controllertest.Change(t, s.API, "ns/c", func(o *bootv1.IPXEBootConfig) { o.OwnerReferences, o.Spec.SystemUUID = nil, "another" })
	again := newConfig(old.Spec.Image)
	s.Add(t, again)
	s.settle(t)
	checkState(t, s.delivered(t), metalv1.ServerBootConfigurationStateReady)
	if child := s.ipxe(t); !metav1.IsControlledBy(child, again) || child.Spec.SystemUUID != uuid || child.Annotations[metalv1.AnnotationMadeFor] != string(again.UID) {
		t.Errorf("it is of %v, for %s, made for %v", child.OwnerReferences, child.Spec.SystemUUID, child.Annotations)
	}
}
