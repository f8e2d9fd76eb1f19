package server

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// TestAReleasedServerHasNothingToBoot: what its claim had it boot is gone, and nothing says that it could be booted.
func TestAReleasedServerHasNothingToBoot(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		lives[metalv1.ServerStateReleased](t, s)
		server := s.is(t, metalv1.ServerStateReleased)
		if server.Spec.BootConfigurationRef != nil || server.Spec.ServerClaimRef == nil {
			t.Errorf("it boots %v, and belongs to %v", server.Spec.BootConfigurationRef, server.Spec.ServerClaimRef)
		}
		s.says(t, metalv1.ConditionBootReady, metav1.ConditionFalse, "NothingToBoot")
	})
}

// TestAParkedServerWhoseClaimIsGoneCannotBoot: likewise, though nothing is written there but status.
func TestAParkedServerWhoseClaimIsGoneCannotBoot(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		claim := s.reserved(t)
		s.operate(t, metalv1.OperationPark)
		s.is(t, metalv1.ServerStateParked)
		s.ends(t, claim)
		s.pass(t, 5*time.Second)
		s.is(t, metalv1.ServerStateParked)
		s.says(t, metalv1.ConditionBootReady, metav1.ConditionFalse, "BootConfigurationMissing")
	})
}
