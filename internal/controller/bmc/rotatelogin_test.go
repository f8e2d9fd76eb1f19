package bmc

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
)

// doubted is a rotation whose order had no answer, by a process that has ended. made says whether the BMC has the new password.
func (s *stand) doubted(t *testing.T, made bool) {
	t.Helper()
	s.rotates(t)
	told := false
	s.bmc.OnPassword(func(string) (bool, error) {
		first := !told
		told = true
		if first {
			return made, &bmc.Error{Kind: bmc.KindConnection, Op: "PATCH", Message: "connection closed before the answer"}
		}
		return true, nil
	})
	for range 20 {
		if told {
			s.restart(t)
			return
		}
		s.Step(t, s.Reconciler, "b")
		s.rack.Pass(time.Second)
	}
	t.Fatal("the BMC was told no password")
}

func (s *stand) tried(t *testing.T) string {
	t.Helper()
	words, _, _ := strings.Cut(s.read(t).Annotations[metalv1.AnnotationRotationTried], "@")
	return words
}

// TestALoginWithoutAnAnswerCountsAsOneThatWasRefused: each is noted, and after three the BMC is left alone, by other processes too.
func TestALoginWithoutAnAnswerCountsAsOneThatWasRefused(t *testing.T) {
	stands(t, func(t *testing.T, s *stand) {
		s.doubted(t, true)
		s.bmc.Fails(&bmc.Error{Kind: bmc.KindTimeout, Op: "POST Sessions", Message: "no answer in time", Err: bmc.ErrLoginUnanswered})
		for _, want := range []string{"next", "next,old", "next,old,next"} {
			s.settle(t)
			if got := s.tried(t); got != want {
				t.Fatalf("noted %q, want %q", got, want)
			}
			s.pass(t, 10*time.Second)
			if got := s.tried(t); got != want {
				t.Fatalf("noted %q at once, want %q", got, want)
			}
			s.rack.Pass(30 * time.Second)
		}
		b := s.pass(t, 2*time.Minute)
		controllertest.Says(t, b.Status.Conditions, metalv1.ConditionRotated, metav1.ConditionUnknown, metalv1.ReasonRotating, "because accounts lock")
		controllertest.Says(t, b.Status.Conditions, metalv1.ConditionReady, metav1.ConditionFalse, metalv1.ReasonAuthenticationFailed, "the next attempt is at")
		s.bmc.Fails(nil)
		before := total(s.bmc.Logins())
		s.restart(t)
		s.pass(t, 50*time.Minute)
		if n := total(s.bmc.Logins()); n != before {
			t.Errorf("asked %d times while it was to be left alone", n-before)
		}
		s.pass(t, 20*time.Minute)
		s.rotated(t, "s", 1)
	})
}

func TestRetryEndsThePause(t *testing.T) {
	stands(t, func(t *testing.T, s *stand) {
		s.doubted(t, true)
		controllertest.Change(t, s.API, "b", func(b *metalv1.BMC) {
			metav1.SetMetaDataAnnotation(&b.ObjectMeta, metalv1.AnnotationRotationTried, "next,old,next@"+s.Reconciler.Clock.Now().Format(time.RFC3339))
		})
		s.pass(t, 5*time.Minute)
		if n := s.bmc.Logins()[s.bmc.Password()]; n != 0 {
			t.Errorf("asked %d times while it was to be left alone", n)
		}
		s.asks(t, metalv1.OperationRetry)
		s.pass(t, 2*time.Minute)
		s.rotated(t, "s", 1)
	})
}

// TestWhatTheBMCHasRefusedIsNotToldAgain: by the next process.
func TestWhatTheBMCHasRefusedIsNotToldAgain(t *testing.T) {
	stands(t, func(t *testing.T, s *stand) {
		s.doubted(t, true)
		controllertest.Change(t, s.API, "b", func(b *metalv1.BMC) {
			metav1.SetMetaDataAnnotation(&b.ObjectMeta, metalv1.AnnotationRotationTried, "old-refused@"+s.Reconciler.Clock.Now().Format(time.RFC3339))
		})
		before := s.bmc.Logins()["right"]
		for range 5 {
			s.Step(t, s.Reconciler, "b")
			s.restart(t)
		}
		s.pass(t, 2*time.Minute)
		s.rotated(t, "s", 1)
		if n := s.bmc.Logins()["right"] - before; n != 0 {
			t.Errorf("told the old password %d times", n)
		}
	})
}
