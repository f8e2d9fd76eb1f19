package bootdelivery

import (
	"context"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
	"github.com/farrier-dev/farrier/internal/ipxeapi/assignment"
)

// TestAnAttemptIsAcknowledgedWhenAllOfItIsServed: the firmware chooses between iPXE and UEFI HTTP, so both are needed,
// in whatever order they come.
func TestAnAttemptIsAcknowledgedWhenAllOfItIsServed(t *testing.T) {
	for name, httpFirst := range map[string]bool{"iPXE first": false, "HTTP first": true} {
		t.Run(name, func(t *testing.T) {
			objects := ours(ordered("a"))
			http := &bootv1.HTTPBootConfig{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c", OwnerReferences: objects[2].GetOwnerReferences()}}
			http.Spec.SystemUUID, http.Spec.UKIURL = uuid, bootURL+"/httpboot/x.efi"
			s := newStand(t, append(objects, http)...)
			first, second := s.ipxe, s.http
			if httpFirst {
				first, second = second, first
			}
			s.Settle(t, first, "ns/c")
			if s.Acknowledged("a") || len(s.servers) != 0 {
				t.Error("half of it is served, and the boot goes ahead")
			}
			s.Settle(t, second, "ns/c")
			if !s.Acknowledged("a") || len(s.servers) != 1 {
				t.Errorf("acknowledged %v, servers woken %v", s.Acknowledged("a"), s.servers)
			}
		})
	}
}

// TestIgnitionReadTwiceIsSaid: with both addresses, once, until the next boot is ordered.
func TestIgnitionReadTwiceIsSaid(t *testing.T) {
	s := newStand(t, ours(ordered("first"))...)
	s.Delivered(fetched(bootview.DeliveredIgnition, "first", "10.0.0.7"))
	s.Delivered(fetched(bootview.DeliveredIgnition, "first", "10.0.0.66"))
	told := events.NewFakeRecorder(8)
	s.Recorder = told
	s.Settle(t, s.ipxe, "ns/c")
	if len(told.Events) != 1 {
		t.Errorf("events: %d", len(told.Events))
	} else if e := <-told.Events; !strings.Contains(e, "IgnitionReadAgain") || !strings.Contains(e, "10.0.0.66") {
		t.Errorf("event %q", e)
	}
	conditions := func() []metav1.Condition { return s.readIPXE(t, "ns/c").Status.Conditions }
	controllertest.Says(t, conditions(), bootv1.ConditionIgnitionReadAgain, metav1.ConditionTrue, "ReadAgain", "first", "10.0.0.7,", "10.0.0.66")
	controllertest.Says(t, conditions(), bootv1.ConditionIgnitionDataFetched, metav1.ConditionTrue, "Delivered", "10.0.0.7")

	s.ForgetWrites()
	s.Delivered(fetched(bootview.DeliveredIgnition, "first", "10.0.0.9"))
	s.Settle(t, s.ipxe, "ns/c")
	if w := s.Writes(""); len(w) != 0 {
		t.Errorf("the third is no news, and written is %v", w)
	}
	controllertest.Change(t, s.API, "ns/c", func(c *metalv1.ServerBootConfiguration) { order(c, "second") })
	s.Settle(t, s.ipxe, "ns/c")
	controllertest.Says(t, conditions(), bootv1.ConditionIgnitionReadAgain, metav1.ConditionFalse, "BootOrdered")
}

// TestTheWritesOfABootAreBounded: however often a machine asks, each kind of delivery is one write, and none is made
// while it asks.
func TestTheWritesOfABootAreBounded(t *testing.T) {
	s := newStand(t, ours(ordered("a"))...)
	s.Settle(t, s.ipxe, "ns/c")
	s.ForgetWrites()
	kinds := []bootview.DeliveryKind{bootview.DeliveredScript, bootview.DeliveredIgnition}
	for range 1000 {
		for _, kind := range kinds {
			s.Delivered(fetched(kind, "a", "10.0.0.7"))
		}
	}
	if w := s.Writes(""); len(w) != 0 {
		t.Errorf("written while the machine asks: %v", w)
	}
	s.Settle(t, s.ipxe, "ns/c")
	if w := s.Writes(""); len(w) != 1 {
		t.Errorf("2,000 deliveries that come together are one write, not %v", w)
	}
}

func TestKernelArgumentsAreReportedWhereTheyStand(t *testing.T) {
	s := newStand(t, ours(func(o *metalv1.Server, _ *metalv1.ServerBootConfiguration, _ *bootv1.IPXEBootConfig) {
		o.Annotations = map[string]string{metalv1.AnnotationKernelArgs: "a\nimgexec evil"}
	})...)
	s.Settle(t, s.ipxe, "ns/c")
	checkError(t, s.readIPXE(t, "ns/c"), `Server "s": metadata.annotations[farrier.dev/kernel-args]: newline`)
}

// TestWhatButaneWarnsOfIsSaid: once, and the ignition is delivered all the same.
func TestWhatButaneWarnsOfIsSaid(t *testing.T) {
	s := newStand(t, append(ours(withIgnition), secret("secret", map[string]string{"format": "fcos", "ignition": "variant: fcos\nversion: 1.4.0\nsystemdd: {}\n"}))...)
	told := events.NewFakeRecorder(8)
	s.Recorder = told
	s.Settle(t, s.ipxe, "ns/c")
	controllertest.Says(t, s.readIPXE(t, "ns/c").Status.Conditions, metalv1.ConditionReady, metav1.ConditionTrue, "Ready", `Secret "secret"`, "systemdd")
	s.Settle(t, s.ipxe, "ns/c")
	if len(told.Events) != 1 {
		t.Fatalf("events: %d", len(told.Events))
	}
	if e := <-told.Events; !strings.Contains(e, "IgnitionWarning") {
		t.Errorf("event %q", e)
	}
}

// TestOthersNamespacesDoNotSpeakForMachines: what people write counts where it is allowed to, and what a boot
// configuration makes everywhere.
func TestOthersNamespacesDoNotSpeakForMachines(t *testing.T) {
	for name, objects := range map[string][]client.Object{"by hand": {handWritten("c")}, "ours": ours(ordered("a"))} {
		t.Run(name, func(t *testing.T) {
			s := newStand(t, objects...)
			s.Grants = func(_ context.Context, namespace string) (assignment.Grant, error) {
				return assignment.Grant{Operator: namespace == "boot"}, nil
			}
			s.Settle(t, s.ipxe, "ns/c")
			_, status := s.View.ByUUID(uuid)
			config := s.readIPXE(t, "ns/c")
			if name == "ours" {
				checkReady(t, config)
				return
			}
			if status != bootview.Unknown {
				t.Errorf("the view has it: %v", status)
			}
			controllertest.Says(t, config.Status.Conditions, metalv1.ConditionReady, metav1.ConditionFalse, "NotGranted", "--boot-namespaces")
		})
	}
}
