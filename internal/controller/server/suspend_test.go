package server

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/inspection"
)

// on counts how often the machine was switched on.
func (s *stand) on() int { return count(s.hw.Resets(), " On") }

// TestACleanupThatIsNotHeardOfIsBootedAgain: the machine asked for its probe while nobody answered. Before it is booted again,
// and until it is off, no probe is told to wipe.
func TestACleanupThatIsNotHeardOfIsBootedAgain(t *testing.T) {
	stands(t, func(t *testing.T, s *stand) {
		s.released(t, inspection.CleanFull)
		s.restart(t)
		first, before := s.attempt(t, namespace+"/"+host), s.on()
		s.pass(t, absence-30*time.Second)
		if s.read(t).Annotations[metalv1.AnnotationCleanupHeld] != "" {
			t.Fatal("it is given up too early")
		}
		s.pass(t, 40*time.Second)
		if s.read(t).Annotations[metalv1.AnnotationCleanupHeld] == "" || s.attempt(t, namespace+"/"+host).ID != first.ID {
			t.Fatal("nothing keeps it from wiping")
		}
		if err := s.tells(t, both, nil); err == nil {
			t.Fatal("a probe that is about to be switched off was told to wipe")
		}
		s.pass(t, suspendDelay)
		second := s.attempt(t, namespace+"/"+host)
		if second.ID == first.ID || second.Number != 2 || second.Clean != inspection.CleanFull || s.on() != before {
			t.Fatalf("the next attempt is %v", second)
		}
		if err := s.tells(t, both, nil); err == nil {
			t.Fatal("a probe was told to wipe by a boot that has not begun")
		}
		s.ready(t, namespace+"/"+host)
		s.pass(t, 20*time.Second)
		if a := s.attempt(t, namespace+"/"+host); a.Started == nil || s.on() != before+1 || !slices.Contains(s.told, "ProbeBootedAgain") {
			t.Fatalf("attempt %v; the machine was told %v", a, s.hw.Resets())
		}
		s.mustTell(t, both)
		s.mustTell(t, both, good)
		s.pass(t, 10*time.Second)
		if o := s.is(t, metalv1.ServerStateAvailable); o.Annotations[metalv1.AnnotationCleanupHeld] != "" {
			t.Error("the wipe of the next cleanup is suspended")
		}
	})
}

// TestAWipeIsNotInterruptedForItsSilence: neither one that began long ago, nor one whose report was on its way when it was given up.
func TestAWipeIsNotInterruptedForItsSilence(t *testing.T) {
	stands(t, func(t *testing.T, s *stand) {
		s.released(t, inspection.CleanFull)
		s.mustTell(t, both)
		before := len(s.hw.Resets())
		s.restart(t)
		s.pass(t, 40*time.Minute)
		if got := s.hw.Resets(); len(got) != before {
			t.Errorf("a machine that wipes was told %v", got[before:])
		}
		s.is(t, metalv1.ServerStateCleanup)
	})
	stands(t, func(t *testing.T, s *stand) {
		s.released(t, inspection.CleanFull)
		before := len(s.hw.Resets())
		s.pass(t, absence+10*time.Second)
		suspended := s.read(t).Annotations[metalv1.AnnotationCleanupHeld]
		if suspended == "" {
			t.Fatal("it was not given up")
		}
		s.change(t, removeAnnotation(metalv1.AnnotationCleanupHeld).apply) // the intake has not seen it
		s.mustTell(t, both)
		s.change(t, func(o *metalv1.Server) {
			metav1.SetMetaDataAnnotation(&o.ObjectMeta, metalv1.AnnotationCleanupHeld, suspended)
		})
		s.pass(t, 10*time.Minute)
		if got := s.hw.Resets(); len(got) != before {
			t.Errorf("a machine that wipes was told %v", got[before:])
		}
		if s.is(t, metalv1.ServerStateCleanup).Annotations[metalv1.AnnotationCleanupHeld] != "" {
			t.Error("its report of the disks would be the only one")
		}
	})
}

// TestAProbeThatIsNeverHeardOfFailsTheCleanup: after the last boot has had all of its time.
func TestAProbeThatIsNeverHeardOfFailsTheCleanup(t *testing.T) {
	stands(t, func(t *testing.T, s *stand) {
		s.released(t, inspection.CleanFull)
		before := s.on()
		for range 60 {
			if s.read(t).Status.State != metalv1.ServerStateCleanup {
				break
			}
			s.ready(t, namespace+"/"+host)
			s.pass(t, time.Minute)
		}
		if o := s.is(t, metalv1.ServerStateError); o.Annotations[metalv1.AnnotationCleanupHeld] != "" {
			t.Error("the wipe of the next try is suspended")
		}
		if got := s.on() - before; got > mostBoots-1 || got == 0 {
			t.Errorf("it was booted %d times more", got)
		}
	})
}
