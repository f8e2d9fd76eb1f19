package server

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootview/bootmethod"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
	"github.com/farrier-dev/farrier/internal/controller/derivedboot"
	"github.com/farrier-dev/farrier/internal/ignition"
	"github.com/farrier-dev/farrier/internal/image/registry"
)

// theProbe is the name of the boot configuration of the probe.
const theProbe = namespace + "/" + host

// derives runs a test whose internal boots are derived, and has the boot of the probe prepared.
func derives(t *testing.T, test func(*testing.T, *stand)) {
	t.Helper()
	stands(t, func(t *testing.T, s *stand) {
		s.Derived = &derivedboot.Configs{Namespace: namespace}
		for controllertest.Gone[metalv1.ServerBootConfiguration](t, s.API, theProbe) {
			s.settle(t)
		}
		test(t, s)
	})
}

// probeImage is what the probe boots.
var probeImage = derivedboot.Image{Reference: "registry/probe:1", Plan: registry.Plan{Digest: "sha256:1", UKI: &registry.Layer{Digest: "sha256:2"}}}

// derived is what the controllers of boot configurations and of delivery make of it: a UKI, that is ready.
func (s *stand) derived(t *testing.T) {
	t.Helper()
	s.Derived.Plan(controllertest.Read[metalv1.ServerBootConfiguration](t, s.API, theProbe), probeImage, map[string]func(bootmethod.Object){
		bootmethod.HTTP.Kind: func(o bootmethod.Object) {
			o.(*bootv1.HTTPBootConfig).Spec.UKIURL = "http://boot.example.org:8082/httpboot/x.efi"
		},
	})
	obj, made := s.Derived.Get(bootmethod.HTTP.Kind, types.NamespacedName{Namespace: namespace, Name: host})
	if !made {
		t.Fatal("nothing was derived")
	}
	its := bootmethod.ConfigOf(obj)
	*its.State, *its.ObservedGeneration = bootmethod.StateReady, obj.GetGeneration()
	s.Derived.Report(bootmethod.HTTP, obj)
}

// TestADerivedBootHasOneSecret: it holds the ignition and the access to the machine.
func TestADerivedBootHasOneSecret(t *testing.T) {
	t.Parallel()
	derives(t, func(t *testing.T, s *stand) {
		config := controllertest.Read[metalv1.ServerBootConfiguration](t, s.API, theProbe)
		if config.Spec.IgnitionSecretRef.Name != host+"-ssh" {
			t.Errorf("its ignition is in %s", config.Spec.IgnitionSecretRef.Name)
		}
		secret := controllertest.Read[corev1.Secret](t, s.API, theProbe+"-ssh")
		hasKeys(t, secret, "pem", "pub", "password", "ignition", "format")
		token := ignition.Token(s.TokenKey, string(s.read(t).UID), s.attempt(t, theProbe).ID)
		if payload, _, err := ignition.Payload(string(secret.Data["format"]), secret.Data["ignition"]); err != nil || !strings.Contains(string(payload), "/probe/"+token) {
			t.Errorf("the ignition has no token: %v", err)
		}
		if !controllertest.Gone[corev1.Secret](t, s.API, theProbe) {
			t.Error("there is another Secret")
		}
		// An earlier version had two.
		s.Add(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: host, Annotations: map[string]string{metalv1.AnnotationType: metalv1.TypeInternal}}})

		s.derived(t)
		s.ready(t, theProbe)
		s.pass(t, 20*time.Second)
		s.reports(t)
		s.pass(t, 10*time.Second)
		s.is(t, metalv1.ServerStateAvailable)
		for _, name := range []string{theProbe, theProbe + "-ssh"} {
			if !controllertest.Gone[corev1.Secret](t, s.API, name) {
				t.Errorf("Secret %s was left behind", name)
			}
		}
	})
}

// TestADerivedBootIsOrderedWithItsImage: not before it is known how the machine boots, whatever status says from before a start; and it is written
// down, for whoever starts next.
func TestADerivedBootIsOrderedWithItsImage(t *testing.T) {
	t.Parallel()
	derives(t, func(t *testing.T, s *stand) {
		s.ready(t, theProbe)
		s.pass(t, 20*time.Second)
		if a := s.attempt(t, theProbe); a.Begun() {
			t.Fatalf("ordered before it is known what is booted: %v", a)
		}
		s.says(t, metalv1.ConditionBootReady, metav1.ConditionFalse, "BootConfigurationPending")
		s.derived(t)
		s.pass(t, 20*time.Second)
		config := controllertest.Read[metalv1.ServerBootConfiguration](t, s.API, theProbe)
		if plan, ordered := derivedboot.Ordered(config); !ordered || plan.Digest != "sha256:1" || plan.UKI == nil {
			t.Errorf("ordered is %v: %+v", ordered, plan)
		}
		if got := s.hw.Overrides(); len(got) != 1 || got[0] != uri+" UefiHttp" {
			t.Errorf("its boot was set to %v", got)
		}
	})
}

// TestAStartDoesNotSwitchOnWhatIsNotDerivedYet: the boot was ordered before, and how the machine boots is unknown for longer than a boot waits for
// boot servers.
func TestAStartDoesNotSwitchOnWhatIsNotDerivedYet(t *testing.T) {
	t.Parallel()
	derives(t, func(t *testing.T, s *stand) {
		s.derived(t)
		s.ready(t, theProbe)
		s.silent = true
		s.settle(t)
		if !s.attempt(t, theProbe).Open() {
			t.Fatal("it is not ordered")
		}
		s.restart(t)
		s.Derived = &derivedboot.Configs{Namespace: namespace}
		s.pass(t, time.Minute)
		if got := s.hw.Resets(); count(got, "On") != 0 {
			t.Fatalf("the machine was told %v", got)
		}
		s.derived(t)
		s.pass(t, 30*time.Second)
		if got := s.hw.Overrides(); count(s.hw.Resets(), " On") != 1 || len(got) != 1 || got[0] != uri+" UefiHttp" {
			t.Errorf("the machine was told %v, its boot was set to %v", s.hw.Resets(), got)
		}
	})
}
