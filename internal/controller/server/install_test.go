package server

import (
	"slices"
	"testing"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
	"github.com/farrier-dev/farrier/internal/controller/reportintake"
	"github.com/farrier-dev/farrier/internal/inspection"
)

// image says which image a boot configuration boots, as its controller does.
func (s *stand) image(t *testing.T, digest string) {
	t.Helper()
	controllertest.ChangeStatus(t, s.API, "ns/c", func(c *metalv1.ServerBootConfiguration) {
		c.Status.State, c.Status.ObservedGeneration = metalv1.ServerBootConfigurationStateReady, c.Generation
		c.Status.ImageDigest = digest
		apimeta.SetStatusCondition(&c.Status.Conditions, metav1.Condition{
			Type: metalv1.ConditionReady, Status: metav1.ConditionTrue, Reason: "Ready", ObservedGeneration: c.Generation,
		})
	})
	s.content(t, "ignition 1")
}

// content says which ignition it is that a boot configuration delivers.
func (s *stand) content(t *testing.T, fingerprint string) {
	t.Helper()
	controllertest.ChangeStatus(t, s.API, "ns/c", func(c *metalv1.ServerBootConfiguration) {
		c.Status.IgnitionFingerprint = fingerprint
	})
}

func (s *stand) annotateBoot(t *testing.T, key, value string) {
	t.Helper()
	controllertest.Change(t, s.API, "ns/c", func(c *metalv1.ServerBootConfiguration) { metav1.SetMetaDataAnnotation(&c.ObjectMeta, key, value) })
}

func (s *stand) bootState(t *testing.T, attempt string) error {
	t.Helper()
	intake := reportintake.Intake{Client: s.API, APIReader: s.API, Namespace: namespace, Clock: s.API.Clock}
	return intake.BootState(t.Context(), inspection.BootState{SystemUUID: uuid, Attempt: attempt, Booted: true})
}

// installs takes the server to where a claim with boot policy Once has its system on the disk.
func (s *stand) installs(t *testing.T) *metalv1.ServerClaim {
	t.Helper()
	s.available(t)
	claim := s.claims(t, metalv1.PowerOn)
	s.annotateBoot(t, metalv1.AnnotationBootPolicy, string(metalv1.BootPolicyOnce))
	s.image(t, "sha256:1")
	s.pass(t, 10*time.Second)
	if a := s.attempt(t, "ns/c"); !a.Open() || a.Started == nil {
		t.Fatalf("the installer does not run: %v", a)
	}
	if err := s.bootState(t, s.attempt(t, "ns/c").ID); err != nil {
		t.Fatal(err)
	}
	s.pass(t, 5*time.Second)
	s.is(t, metalv1.ServerStateReserved)
	return claim
}

// goesOff is the machine that is switched off by its own system; it returns what it boots then.
func (s *stand) goesOff(t *testing.T) string {
	t.Helper()
	s.hw.Power(uri, bmc.PowerOff)
	s.rack.Look(address)
	s.pass(t, 20*time.Second)
	if server := s.is(t, metalv1.ServerStateReserved); server.Status.PowerState != metalv1.PowerStateOn {
		t.Fatalf("power %s", server.Status.PowerState)
	}
	boots := s.hw.Overrides()
	return boots[len(boots)-1]
}

func TestWithPolicyAlwaysEveryPowerOnIsANetworkBoot(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		s.reserved(t)
		for range 2 {
			if err := s.bootState(t, s.attempt(t, "ns/c").ID); err != nil {
				t.Fatal(err)
			}
			if got := s.goesOff(t); got != uri+" Pxe" {
				t.Errorf("boots %q", got)
			}
			if a := s.attempt(t, "ns/c"); !a.Open() {
				t.Errorf("its script is not served: %v", a)
			}
		}
	})
}

func TestWithPolicyOnceWhatIsInstalledBootsItsDisk(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		claim := s.installs(t)
		config := controllertest.Read[metalv1.ServerBootConfiguration](t, s.API, "ns/c")
		if got, want := s.read(t).Annotations[metalv1.AnnotationInstalled], string(config.UID)+"/sha256:1"; got != want {
			t.Errorf("installed: %q, want %q", got, want)
		}
		first := s.attempt(t, "ns/c")
		if first.Open() || !first.Exits() {
			t.Errorf("its token is good for ever: %v", first)
		}
		if err := s.bootState(t, first.ID); err != nil {
			t.Errorf("told again: %v", err)
		}
		for range 2 {
			if got := s.goesOff(t); got != uri+" "+string(bmc.BootNone) {
				t.Errorf("boots %q", got)
			}
		}
		if a := s.attempt(t, "ns/c"); !a.Disk || a.Open() || a.Number != 3 {
			t.Errorf("the attempt is %v", a)
		}
		s.restart(t)
		controllertest.ChangeStatus(t, s.API, host, func(o *metalv1.Server) { o.Status = metalv1.ServerStatus{} })
		controllertest.ChangeStatus(t, s.API, "ns/c", func(c *metalv1.ServerBootConfiguration) { c.Status = metalv1.ServerBootConfigurationStatus{} })
		s.pass(t, 10*time.Second)
		if got := s.goesOff(t); got != uri+" "+string(bmc.BootNone) {
			t.Errorf("after a start, with no status, it boots %q", got)
		}
		s.ends(t, claim)
		s.pass(t, 20*time.Second)
		if server := s.is(t, metalv1.ServerStateAvailable); server.Annotations[metalv1.AnnotationInstalled] != "" {
			t.Error("something is installed on a server that is free")
		}
	})
}

func TestWithPolicyOnceWhatIsNotInstalledIsTriedAgain(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		s.available(t)
		s.claims(t, metalv1.PowerOn)
		s.annotateBoot(t, metalv1.AnnotationBootPolicy, string(metalv1.BootPolicyOnce))
		s.pass(t, 10*time.Second)
		if got := s.goesOff(t); got != uri+" Pxe" {
			t.Errorf("boots %q", got)
		}
	})
}

func TestAReinstallIsDoneOnRequestOnly(t *testing.T) {
	for name, change := range map[string]func(*testing.T, *stand){
		"image": func(t *testing.T, s *stand) {
			controllertest.Change(t, s.API, "ns/c", func(c *metalv1.ServerBootConfiguration) { c.Spec.Image = "registry/os:2" })
			s.image(t, "sha256:2")
		},
		"what is in the ignition Secret": func(t *testing.T, s *stand) { s.content(t, "ignition 2") },
		"what a tag means":               func(t *testing.T, s *stand) { s.image(t, "sha256:3") },
		"ignition": func(t *testing.T, s *stand) {
			controllertest.Change(t, s.API, "ns/c", func(c *metalv1.ServerBootConfiguration) {
				c.Spec.IgnitionSecretRef = &metalv1.LocalObjectReference{Name: "other"}
			})
			s.image(t, "sha256:1")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stands(t, func(t *testing.T, s *stand) {
				s.installs(t)
				s.goesOff(t)
				before := s.hw.Resets()
				change(t, s)
				s.pass(t, time.Minute)
				s.is(t, metalv1.ServerStateReserved)
				s.says(t, metalv1.ConditionBootReady, metav1.ConditionFalse, metalv1.ReasonReinstallPending, "sha256:1", metalv1.AnnotationReinstall)
				if got := s.hw.Resets(); !slices.Equal(got, before) {
					t.Errorf("nobody asked, and the machine was told %v", got[len(before):])
				}
				if got := s.goesOff(t); got != uri+" "+string(bmc.BootNone) {
					t.Errorf("boots %q", got)
				}

				s.annotateBoot(t, metalv1.AnnotationReinstall, "please")
				s.pass(t, 30*time.Second)
				s.is(t, metalv1.ServerStateReserved)
				s.says(t, metalv1.ConditionBootReady, metav1.ConditionTrue, "BootConfigurationReady")
				boots, a := s.hw.Overrides(), s.attempt(t, "ns/c")
				if boots[len(boots)-1] != uri+" Pxe" || !a.Open() || a.Off == nil || a.Started == nil {
					t.Errorf("boots %v, attempt %v", boots, a)
				}
				if err := s.bootState(t, a.ID); err != nil {
					t.Fatal(err)
				}
				s.pass(t, 10*time.Second)
				before = s.hw.Resets()
				s.pass(t, time.Minute)
				if got := s.hw.Resets(); !slices.Equal(got, before) {
					t.Errorf("one request, and again the machine was told %v", got[len(before):])
				}
				if got := s.goesOff(t); got != uri+" "+string(bmc.BootNone) {
					t.Errorf("boots %q", got)
				}
			})
		})
	}
}

func TestAReferenceThatIsSetAgainDuringACleanupBootsTheClaim(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		s.cleans(inspection.CleanMetadata)
		s.reserved(t)
		ref := s.read(t).Spec.ServerClaimRef
		s.change(t, func(o *metalv1.Server) { o.Spec.ServerClaimRef = nil })
		s.cleaning(t)
		s.change(t, func(o *metalv1.Server) { o.Spec.ServerClaimRef = ref })
		s.pass(t, 20*time.Second)
		if server := s.is(t, metalv1.ServerStateReserved); server.Spec.BootConfigurationRef.Namespace != "ns" {
			t.Errorf("it boots %v", server.Spec.BootConfigurationRef)
		}
	})
}
