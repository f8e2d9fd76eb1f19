package maintenance

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
)

// stand is the controller, with a test in the place of all others.
type stand struct {
	*controllertest.API
	*Reconciler
	told []string
}

func newStand(t *testing.T, objects ...client.Object) *stand {
	t.Helper()
	s := &stand{API: controllertest.NewAPI(t, objects...)}
	s.Reconciler = &Reconciler{Client: s.API, APIReader: s.API, Recorder: s}
	return s
}

// Eventf makes the stand an event recorder.
func (s *stand) Eventf(_, _ runtime.Object, _, reason, _, _ string, _ ...any) {
	s.told = append(s.told, reason)
}

// is settles a maintenance and checks it.
func (s *stand) is(t *testing.T, name string, state metalv1.ServerMaintenanceState, reason string) {
	t.Helper()
	s.Settle(t, s.Reconciler, name)
	m := controllertest.Read[metalv1.ServerMaintenance](t, s.API, name)
	if m.Status.State != state || m.Status.ObservedGeneration != m.Generation {
		t.Errorf("%s is %s of generation %d, want %s of %d", name, m.Status.State, m.Status.ObservedGeneration, state, m.Generation)
	}
	status := metav1.ConditionFalse
	if state == metalv1.ServerMaintenanceStateInMaintenance {
		status = metav1.ConditionTrue
	}
	controllertest.Says(t, m.Status.Conditions, metalv1.ConditionInMaintenance, status, reason)
}

func (s *stand) claim(t *testing.T) *metalv1.ServerClaim {
	t.Helper()
	return controllertest.Read[metalv1.ServerClaim](t, s.API, "ns/c")
}

func (s *stand) server(t *testing.T) *metalv1.Server {
	t.Helper()
	return controllertest.Read[metalv1.Server](t, s.API, "s")
}

// letsGo is the controller of Servers, once a maintenance has ended.
func (s *stand) letsGo(t *testing.T) {
	t.Helper()
	controllertest.Change(t, s.API, "s", func(o *metalv1.Server) {
		o.Spec.ServerMaintenanceRef, o.Spec.MaintenanceBootConfigurationRef = nil, nil
	})
}

func because(m *metalv1.ServerMaintenance) {
	m.Annotations = map[string]string{metalv1.AnnotationReason: "a fan is loud"}
}

func TestTheOwnerIsAskedAndAnswers(t *testing.T) {
	s := newStand(t, serverIn("Reserved", claimedServer), claimWith(nil), newMaintenance("m", because))
	s.is(t, "ns/m", metalv1.ServerMaintenanceStatePending, metalv1.ReasonWaitingForApproval)
	claim := s.claim(t)
	if _, asked := claim.Labels[metalv1.LabelMaintenanceNeeded]; !asked || claim.Annotations[metalv1.AnnotationMaintenanceReason] != "a fan is loud" {
		t.Errorf("labels %v, annotations %v", claim.Labels, claim.Annotations)
	}
	controllertest.Change(t, s.API, "ns/c", func(c *metalv1.ServerClaim) {
		c.Labels[metalv1.LabelMaintenanceApproved], c.Labels[metalv1.LabelMaintenanceApproval] = "true", "true"
	})
	s.is(t, "ns/m", metalv1.ServerMaintenanceStateInMaintenance, metalv1.ReasonMaintenanceGranted)
	if ref := s.server(t).Spec.ServerMaintenanceRef; ref == nil || ref.Name != "m" {
		t.Fatalf("the server is not had: %v", ref)
	}
	controllertest.ChangeStatus(t, s.API, "ns/m", func(m *metalv1.ServerMaintenance) { m.Status = metalv1.ServerMaintenanceStatus{} })
	s.is(t, "ns/m", metalv1.ServerMaintenanceStateInMaintenance, metalv1.ReasonMaintenanceGranted)

	s.Remove(t, controllertest.Read[metalv1.ServerMaintenance](t, s.API, "ns/m"))
	s.is(t, "ns/m", metalv1.ServerMaintenanceStateInMaintenance, metalv1.ReasonMaintenanceEnding)
	s.letsGo(t)
	s.Settle(t, s.Reconciler, "ns/m")
	claim = s.claim(t)
	for _, label := range []string{metalv1.LabelMaintenanceNeeded, metalv1.LabelMaintenanceApproved, metalv1.LabelMaintenanceApproval} {
		if _, left := claim.Labels[label]; left {
			t.Errorf("the claim still has the label %s", label)
		}
	}
	if _, left := claim.Annotations[metalv1.AnnotationMaintenanceReason]; left || !controllertest.Gone[metalv1.ServerMaintenance](t, s.API, "ns/m") {
		t.Error("something of the maintenance is left")
	}
}

func TestOneAtATime(t *testing.T) {
	s := newStand(t, serverIn("Available"), newMaintenance("a", priority(1)), newMaintenance("b", priority(7), later))
	s.is(t, "ns/a", metalv1.ServerMaintenanceStatePending, metalv1.ReasonWaitingForTurn)
	s.is(t, "ns/b", metalv1.ServerMaintenanceStateInMaintenance, metalv1.ReasonMaintenanceGranted)
	s.is(t, "ns/a", metalv1.ServerMaintenanceStatePending, metalv1.ReasonWaitingForTurn)
	s.Remove(t, controllertest.Read[metalv1.ServerMaintenance](t, s.API, "ns/b"))
	s.is(t, "ns/a", metalv1.ServerMaintenanceStatePending, metalv1.ReasonWaitingForTurn)
	s.letsGo(t)
	s.Settle(t, s.Reconciler, "ns/b")
	s.is(t, "ns/a", metalv1.ServerMaintenanceStateInMaintenance, metalv1.ReasonMaintenanceGranted)
}

func TestABootConfigurationThatCannotBeBootedIsFailed(t *testing.T) {
	s := newStand(t, serverIn("Available"), newMaintenance("m", func(m *metalv1.ServerMaintenance) {
		m.Spec.ServerBootConfigurationTemplate = &metalv1.ServerBootConfigurationTemplate{Name: "t"}
		m.Spec.ServerBootConfigurationTemplate.Spec.Image = "registry/tool:1"
	}))
	s.is(t, "ns/m", metalv1.ServerMaintenanceStateInMaintenance, metalv1.ReasonMaintenanceGranted)
	config := controllertest.Read[metalv1.ServerBootConfiguration](t, s.API, "ns/t")
	if config.Spec.ServerRef.Name != "s" || config.Spec.Image != "registry/tool:1" || s.server(t).Spec.MaintenanceBootConfigurationRef == nil {
		t.Fatalf("it boots %+v", config.Spec)
	}
	say := func(state metalv1.ServerBootConfigurationState) {
		controllertest.ChangeStatus(t, s.API, "ns/t", func(c *metalv1.ServerBootConfiguration) {
			c.Status.State, c.Status.ObservedGeneration = state, c.Generation
		})
	}
	say(metalv1.ServerBootConfigurationStateError)
	s.Settle(t, s.Reconciler, "ns/m")
	m := controllertest.Read[metalv1.ServerMaintenance](t, s.API, "ns/m")
	if m.Status.State != metalv1.ServerMaintenanceStateFailed || s.server(t).Spec.ServerMaintenanceRef == nil {
		t.Errorf("state %s, server %v", m.Status.State, s.server(t).Spec.ServerMaintenanceRef)
	}
	controllertest.Says(t, m.Status.Conditions, metalv1.ConditionInMaintenance, metav1.ConditionTrue, metalv1.ReasonBootConfigurationError, "ns/t")
	say(metalv1.ServerBootConfigurationStateReady)
	s.is(t, "ns/m", metalv1.ServerMaintenanceStateInMaintenance, metalv1.ReasonMaintenanceGranted)
}

// TestAMaintenanceThatIsDeletedAsAnOrphanLeavesNoBootConfiguration: the garbage collector takes its owner away long before the server is
// back where it was.
func TestAMaintenanceThatIsDeletedAsAnOrphanLeavesNoBootConfiguration(t *testing.T) {
	s := newStand(t, serverIn("Available"), newMaintenance("m", func(m *metalv1.ServerMaintenance) {
		m.Spec.ServerBootConfigurationTemplate = &metalv1.ServerBootConfigurationTemplate{Name: "t"}
		m.Spec.ServerBootConfigurationTemplate.Spec.Image = "registry/tool:1"
	}))
	s.is(t, "ns/m", metalv1.ServerMaintenanceStateInMaintenance, metalv1.ReasonMaintenanceGranted)
	s.Remove(t, controllertest.Read[metalv1.ServerMaintenance](t, s.API, "ns/m"))
	controllertest.Change(t, s.API, "ns/t", func(c *metalv1.ServerBootConfiguration) { c.OwnerReferences = nil })
	s.Settle(t, s.Reconciler, "ns/m")
	controllertest.Change(t, s.API, "s", func(server *metalv1.Server) {
		server.Spec.ServerMaintenanceRef, server.Spec.MaintenanceBootConfigurationRef = nil, nil
	})
	s.Settle(t, s.Reconciler, "ns/m")
	if !controllertest.Gone[metalv1.ServerMaintenance](t, s.API, "ns/m") || !controllertest.Gone[metalv1.ServerBootConfiguration](t, s.API, "ns/t") {
		t.Error("the maintenance, or its boot configuration, is still there")
	}
}

func TestOperationsOnAMaintenance(t *testing.T) {
	operation := func(value string) func(*metalv1.ServerMaintenance) {
		return func(m *metalv1.ServerMaintenance) {
			m.Annotations = map[string]string{metalv1.AnnotationOperation: value}
		}
	}
	s := newStand(t, serverIn("Available"), newMaintenance("i", operation(metalv1.OperationIgnore)), newMaintenance("m", operation("dance")))
	s.Settle(t, s.Reconciler, "ns/i")
	if len(s.Writes("")) != 0 {
		t.Errorf("one that is to be ignored was written to: %v", s.Writes(""))
	}
	s.is(t, "ns/m", metalv1.ServerMaintenanceStateInMaintenance, metalv1.ReasonMaintenanceGranted)
	if s.told[0] != metalv1.ReasonUnsupportedOperation {
		t.Errorf("events %v", s.told)
	}
}
