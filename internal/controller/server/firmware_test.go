package server

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
	"github.com/farrier-dev/farrier/internal/inspection"
)

func TestABootOrderIsRestoredOnRequest(t *testing.T) {
	system := controllertest.System(uri, uuid)
	system.Boot.Order = []string{"Boot0001", "Boot0002"}
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		s.hw.Set(system)
		s.cleans(inspection.CleanMetadata)
		claim := s.reserved(t)
		if got := s.read(t).Annotations[metalv1.AnnotationBootOrder]; got != "Boot0001,Boot0002" {
			t.Fatalf("remembered: %q", got)
		}
		s.change(t, func(o *metalv1.Server) {
			metav1.SetMetaDataAnnotation(&o.ObjectMeta, metalv1.AnnotationClaimCleanup, "")
		})
		controllertest.Change(t, s.API, "ns/c", func(c *metalv1.ServerClaim) {
			metav1.SetMetaDataAnnotation(&c.ObjectMeta, metalv1.AnnotationCleanup, "boot-order")
		})
		s.hw.Change(uri, func(now *bmc.System) { now.Boot.Order = []string{"Boot0007", "Boot0002", "Boot0001"} }) // its installer did
		s.rack.Look(address)
		s.settle(t)
		s.ends(t, claim)
		s.cleaning(t)
		s.mustTell(t, both, good)
		s.pass(t, 20*time.Second)
		s.is(t, metalv1.ServerStateAvailable)
		if got := s.hw.Order(uri); !slices.Equal(got, []string{"Boot0001", "Boot0002", "Boot0007"}) {
			t.Errorf("the boot order is %v", got)
		}
	})
}

func TestTheDefaultsOfTheBIOSAreRestoredOnRequest(t *testing.T) {
	for _, mode := range []inspection.CleanMode{inspection.CleanMetadata, inspection.CleanNone} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			stands(t, func(t *testing.T, s *stand) {
				s.cleans(mode)
				claim := s.reserved(t)
				s.change(t, func(o *metalv1.Server) {
					metav1.SetMetaDataAnnotation(&o.ObjectMeta, metalv1.AnnotationCleanup, "bios-defaults")
				})
				s.ends(t, claim)
				if mode != inspection.CleanNone {
					s.cleaning(t)
					if a := s.attempt(t, namespace+"/"+host); a.Defaults == nil || a.Started.Before(*a.Defaults) {
						t.Errorf("ordered before the boot: %v", a)
					}
					s.restart(t)
					s.pass(t, 10*time.Second)
					s.mustTell(t, both, good)
				}
				s.pass(t, 20*time.Second)
				s.is(t, metalv1.ServerStateAvailable)
				if got := s.hw.DefaultsRestored(); got != 1 {
					t.Errorf("restored %d times", got)
				}
			})
		})
	}
}

func TestABIOSThatHasNoDefaultsIsAnError(t *testing.T) {
	for _, mode := range []inspection.CleanMode{inspection.CleanMetadata, inspection.CleanNone} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			stands(t, func(t *testing.T, s *stand) {
				s.cleans(mode)
				s.hw.RefusesDefaults(&bmc.Error{Kind: bmc.KindUnsupported, Op: "POST ResetBios", Message: "no such action"})
				claim := s.reserved(t)
				s.change(t, func(o *metalv1.Server) {
					metav1.SetMetaDataAnnotation(&o.ObjectMeta, metalv1.AnnotationCleanup, "bios-defaults")
				})
				s.ends(t, claim)
				s.pass(t, 10*time.Second)
				if mode != inspection.CleanNone {
					s.ready(t, namespace+"/"+host)
					s.pass(t, 20*time.Second)
				}
				s.is(t, metalv1.ServerStateError)
				s.says(t, metalv1.ConditionReady, metav1.ConditionFalse, "NotClean", "BIOS defaults", "no such action")
			})
		})
	}
}
