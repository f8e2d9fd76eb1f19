package bmc

import (
	"net/http"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/bmc/macprefix"
	"github.com/farrier-dev/farrier/internal/controller/bmcsecret"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
)

// ships gives the stand a make whose default password the BMC has.
func (s *stand) ships(t *testing.T) {
	t.Helper()
	prefixes, err := macprefix.New(macprefix.Entry{Prefix: "02fa44", DefaultCredentials: []macprefix.Credential{{Username: "u", Password: "right"}}})
	if err != nil {
		t.Fatal(err)
	}
	s.Prefixes = prefixes
	controllertest.Change(t, s.API, "s", func(o *metalv1.BMCSecret) {
		o.Annotations = map[string]string{metalv1.AnnotationDefaultCredentials: bmcsecret.Trial{}.String()}
	})
	s.bmc.Set(system(uri1, uuid1))
}

func TestDefaultCredentialsAreReplacedIfThatIsWanted(t *testing.T) {
	for _, wanted := range []bool{true, false} {
		stands(t, func(t *testing.T, s *stand) {
			s.ships(t)
			s.RotateDefaults = wanted
			b := s.pass(t, 5*time.Minute)
			if !wanted {
				controllertest.Says(t, b.Status.Conditions, metalv1.ConditionDefaultCredentials, metav1.ConditionTrue, metalv1.ReasonCredentialsAccepted)
				if s.bmc.Sets() != 0 || s.bmc.Password() != "right" {
					t.Error("the password was changed, and nobody wanted that")
				}
				return
			}
			s.rotated(t, "s", 1)
			if _, still := s.secret(t).Annotations[metalv1.AnnotationDefaultCredentials]; still {
				t.Error("the new password passes for one of the vendor's")
			}
			s.pass(t, 2*time.Hour)
			s.rotated(t, "s", 1)
			if got := s.told(metalv1.ReasonReplacingDefaults); len(got) != 1 {
				t.Errorf("events %q", got)
			}
		})
	}
}

func TestDefaultCredentialsThatCannotBeReplacedAreTriedAgainAfterAnHour(t *testing.T) {
	stands(t, func(t *testing.T, s *stand) {
		s.ships(t)
		s.RotateDefaults = true
		s.bmc.OnPassword(func(string) (bool, error) {
			return false, &bmc.Error{Kind: bmc.KindRejected, Op: "PATCH", StatusCode: http.StatusBadRequest}
		})
		b := s.pass(t, 50*time.Minute)
		controllertest.Says(t, b.Status.Conditions, metalv1.ConditionRotated, metav1.ConditionFalse, metalv1.ReasonRotationFailed)
		controllertest.Says(t, b.Status.Conditions, metalv1.ConditionReady, metav1.ConditionTrue, metalv1.ReasonConnected)
		s.over(t, 1)
		s.bmc.OnPassword(nil)
		s.pass(t, 20*time.Minute)
		s.rotated(t, "s", 2)
	})
}

func TestReplacingDefaultCredentialsOutlivesTheProcess(t *testing.T) {
	stands(t, func(t *testing.T, s *stand) {
		s.ships(t)
		s.RotateDefaults = true
		for range 12 { // a look each
			s.settle(t)
			s.openable(t)
			s.restart(t)
			s.RotateDefaults = true
		}
		s.pass(t, 70*time.Minute) // what was tried and not seen to the end counts as an attempt
		s.openable(t)
		if s.bmc.Password() == "right" || s.bmc.Logins()["right"] == 0 {
			t.Error("the default password is still in use")
		}
	})
}
