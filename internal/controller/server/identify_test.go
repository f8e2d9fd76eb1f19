package server

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
)

const mac = "02:00:00:00:00:0a"

// hides makes the BMC tell no UUID, as those do that never learnt it.
func (s *stand) hides() {
	s.hw.Set(controllertest.System(uri, ""))
	s.hw.Holds(bmc.Inventory{Interfaces: []bmc.Interface{{ID: "eno1", MACAddress: mac}}})
	s.rack.Look(address)
}

func TestTheFirstReportTellsTheUUIDOfAServerWithoutOne(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		s.hides()
		s.available(t)
		server := s.read(t)
		if server.Spec.SystemUUID != uuid {
			t.Errorf("system UUID %q, want %s", server.Spec.SystemUUID, uuid)
		}
		s.rack.Look(address)
		s.is(t, metalv1.ServerStateAvailable) // and is the same server
	})
}

func TestAServerOfWhichNothingIsKnownIsNotBooted(t *testing.T) {
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		s.hw.Set(controllertest.System(uri, ""))
		s.rack.Look(address)
		s.pass(t, 2*moment)
		s.is(t, metalv1.ServerStateInitial)
		s.says(t, metalv1.ConditionDiscovered, metav1.ConditionFalse, metalv1.ReasonUUIDMissing, "neither a UUID nor a MAC address")
	})
}

func TestAUUIDIsNotGivenTwice(t *testing.T) {
	namesake := &metalv1.Server{ObjectMeta: metav1.ObjectMeta{Name: "namesake", Annotations: map[string]string{metalv1.AnnotationOperation: metalv1.OperationIgnore}}}
	namesake.Spec.SystemUUID = uuid
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		s.hides()
		s.available(t)
		if got := s.read(t).Spec.SystemUUID; got != "" {
			t.Errorf("system UUID %s, which is another's", got)
		}
		s.says(t, conditionIdentified, metav1.ConditionFalse, "SystemUUIDTaken", uuid, `"namesake"`)
		s.pass(t, 2*duplicateRepeat)
		if got := count(s.told, "SystemUUIDTaken"); got != 1 {
			t.Errorf("told %d times", got)
		}
		s.Remove(t, namesake)
		s.pass(t, 2*duplicateRepeat)
		if got := s.read(t).Spec.SystemUUID; got != uuid {
			t.Errorf("system UUID %q when nobody else has it any more", got)
		}
		s.says(t, conditionIdentified, metav1.ConditionTrue, "Identified", uuid)
	}, namesake)
}

// TestAPlaceholderIdentifiesNoServer: two boards with the UUID that their vendor ships are two machines, and a condition says by what
// each is known.
func TestAPlaceholderIdentifiesNoServer(t *testing.T) {
	const placeholder = "03000200-0400-0500-0006-000700080009"
	other := &metalv1.Server{ObjectMeta: metav1.ObjectMeta{Name: "an-older-one", Annotations: map[string]string{metalv1.AnnotationOperation: metalv1.OperationIgnore}}}
	other.Spec.SystemUUID = placeholder
	t.Parallel()
	stands(t, func(t *testing.T, s *stand) {
		s.hides()
		s.settle(t)
		s.change(t, func(o *metalv1.Server) { o.Spec.SystemUUID = placeholder })
		s.discovering(t)
		s.reportsAs(t, placeholder)
		s.pass(t, 10*time.Second)
		s.is(t, metalv1.ServerStateAvailable)
		s.says(t, conditionIdentified, metav1.ConditionTrue, "NoSystemUUID", "MAC addresses")
	}, other)
}
