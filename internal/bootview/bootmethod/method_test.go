package bootmethod

import (
	"reflect"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/image/registry"
)

// TestEveryRowIsWhole: whoever goes through the table finds the same of each method.
func TestEveryRowIsWhole(t *testing.T) {
	targets := map[string]bmc.BootTarget{"IPXEBootConfig": bmc.BootPXE, "HTTPBootConfig": bmc.BootUEFIHTTP}
	layer := &registry.Layer{}
	image := registry.Plan{Kernel: layer, Initramfs: layer, Squashfs: layer, UKI: layer}
	server := &metalv1.Server{Spec: metalv1.ServerSpec{SystemUUID: "u"}}
	server.Status.NetworkInterfaces = []metalv1.NetworkInterface{{MACAddress: "m", IPs: []string{"i"}}}
	for _, m := range Methods {
		t.Run(m.Kind, func(t *testing.T) {
			obj := m.New()
			if kind := reflect.TypeOf(obj).Elem().Name(); kind != m.Kind || reflect.TypeOf(m.NewList()).Elem().Name() != kind+"List" {
				t.Errorf("its object is a %s", kind)
			}
			if found, ok := ByKind(m.Kind); !ok || found.Kind != m.Kind {
				t.Error("it is not found by its kind")
			}
			if m.Target != string(targets[m.Kind]) {
				t.Errorf("its boot override is %s", m.Target)
			}
			m.Plan(image, Machine{Server: server, BootURL: "http://b", Ignition: &bootv1.LocalObjectReference{Name: "s"}})(obj)
			c := ConfigOf(obj)
			if c == nil || c.SystemUUID != "u" || len(c.AllAddresses()) == 0 || len(c.Secrets()) != 1 {
				t.Fatalf("what was planned is read as %+v", c)
			}
			*c.State, *c.DeliveryAttempt = StateReady, "a"
			*c.Conditions = append(*c.Conditions, metav1.Condition{Type: "Ready"})
			if again := ConfigOf(obj); *again.State != StateReady || *again.DeliveryAttempt != "a" || len(*again.Conditions) != 1 {
				t.Error("its status is not the object's")
			}
			if m.Plan(registry.Plan{}, Machine{Server: server}) != nil {
				t.Error("it boots an image that holds nothing")
			}
			if m.Name == "" || len(c.URLs) == 0 || c.URLs[0].Value == "" {
				t.Errorf("%q fetches %v", m.Name, c.URLs)
			}
			if made := m.Made(obj); (m.File != nil) != (made.URL != "") || m.File != nil && (!made.ours() || len(m.Conditions[m.File.Delivered]) == 0) {
				t.Errorf("its firmware fetches %q", made.URL)
			}
			if len(m.Conditions[bootview.DeliveredIgnition]) == 0 || len(m.Conditions) < 2 {
				t.Errorf("its deliveries turn %v true", m.Conditions)
			}
		})
	}
	if ConfigOf(server) != nil {
		t.Error("a Server is no boot config")
	}
	if _, ok := ByKind("Server"); ok {
		t.Error("a Server is no boot config")
	}
}
