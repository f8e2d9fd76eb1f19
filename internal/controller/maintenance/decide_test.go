package maintenance

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func newMaintenance(name string, change ...func(*metalv1.ServerMaintenance)) *metalv1.ServerMaintenance {
	m := &metalv1.ServerMaintenance{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID("uid-" + name), CreationTimestamp: metav1.NewTime(start)}}
	m.Spec.ServerRef.Name = "s"
	for _, c := range change {
		c(m)
	}
	return m
}

func rival(name string, change ...func(*metalv1.ServerMaintenance)) metalv1.ServerMaintenance {
	return *newMaintenance(name, change...)
}

func enforced(m *metalv1.ServerMaintenance) { m.Spec.Policy = metalv1.ServerMaintenancePolicyEnforced }

func priority(p int32) func(*metalv1.ServerMaintenance) {
	return func(m *metalv1.ServerMaintenance) { m.Spec.Priority = p }
}

func later(m *metalv1.ServerMaintenance) {
	m.CreationTimestamp = metav1.NewTime(start.Add(time.Hour))
}

func serverIn(state metalv1.ServerState, change ...func(*metalv1.Server)) *metalv1.Server {
	s := &metalv1.Server{ObjectMeta: metav1.ObjectMeta{Name: "s", Annotations: map[string]string{}}}
	s.Status.State = state
	for _, c := range change {
		c(s)
	}
	return s
}

func claimedServer(s *metalv1.Server) {
	s.Spec.ServerClaimRef = &metalv1.ImmutableObjectReference{Namespace: "ns", Name: "c"}
	s.Annotations[metalv1.AnnotationClaimedBy] = "claim-uid"
}

func claimWith(labels map[string]string) *metalv1.ServerClaim {
	return &metalv1.ServerClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c", UID: "claim-uid", Labels: labels}}
}

func TestDecide(t *testing.T) {
	approval := map[string]string{metalv1.LabelMaintenanceApproved: "true"}
	former := map[string]string{metalv1.LabelMaintenanceApproval: "true"}
	for name, tc := range map[string]struct {
		view   view
		state  metalv1.ServerMaintenanceState
		reason string
		take   bool
	}{
		"free server":              {view{server: serverIn("Available")}, "InMaintenance", metalv1.ReasonMaintenanceGranted, true},
		"no such server":           {view{}, "Pending", metalv1.ReasonServerNotFound, false},
		"claimed, not asked yet":   {view{server: serverIn("Reserved", claimedServer), claim: claimWith(nil)}, "Pending", metalv1.ReasonWaitingForApproval, false},
		"claimed, refused":         {view{server: serverIn("Reserved", claimedServer), claim: claimWith(map[string]string{metalv1.LabelMaintenanceApproved: "false"})}, "Pending", metalv1.ReasonWaitingForApproval, false},
		"claimed, approved":        {view{server: serverIn("Reserved", claimedServer), claim: claimWith(approval)}, "InMaintenance", metalv1.ReasonMaintenanceGranted, true},
		"claimed, as before 0.6":   {view{server: serverIn("Reserved", claimedServer), claim: claimWith(former)}, "InMaintenance", metalv1.ReasonMaintenanceGranted, true},
		"claimed, enforced":        {view{obj: newMaintenance("m", enforced), server: serverIn("Reserved", claimedServer), claim: claimWith(nil)}, "InMaintenance", metalv1.ReasonMaintenanceGranted, true},
		"claimed, status wiped":    {view{obj: newMaintenance("m", enforced), server: serverIn("", claimedServer), claim: claimWith(nil)}, "InMaintenance", metalv1.ReasonMaintenanceGranted, true},
		"its claim is gone":        {view{server: serverIn("Reserved", claimedServer)}, "Pending", metalv1.ReasonWaitingForServer, false},
		"kept for its owner":       {view{server: serverIn("Released", claimedServer)}, "InMaintenance", metalv1.ReasonMaintenanceGranted, true},
		"being cleaned":            {view{server: serverIn("Cleanup", func(s *metalv1.Server) { s.Annotations[metalv1.AnnotationClaimedBy] = "u" })}, "Pending", metalv1.ReasonWaitingForServer, false},
		"being cleaned, status is": {view{server: serverIn("Available", func(s *metalv1.Server) { s.Annotations[metalv1.AnnotationClaimedBy] = "u" })}, "Pending", metalv1.ReasonWaitingForServer, false},
		"being discovered":         {view{server: serverIn("Discovery")}, "Pending", metalv1.ReasonWaitingForServer, false},
		"nothing known":            {view{server: serverIn("")}, "Pending", metalv1.ReasonWaitingForServer, false},
		"never looked at":          {view{server: serverIn("Initial")}, "InMaintenance", metalv1.ReasonMaintenanceGranted, true},
		"in error":                 {view{server: serverIn("Error")}, "InMaintenance", metalv1.ReasonMaintenanceGranted, true},
		"parked":                   {view{server: serverIn("Parked", func(s *metalv1.Server) { s.Annotations[metalv1.AnnotationParked] = "true" })}, "Pending", metalv1.ReasonWaitingForServer, false},
		"another has it": {view{server: serverIn("Maintenance", func(s *metalv1.Server) {
			s.Spec.ServerMaintenanceRef = &metalv1.ObjectReference{Namespace: "ns", Name: "other"}
		})}, "Pending", metalv1.ReasonWaitingForTurn, false},
		"it has it, status wiped": {view{server: serverIn("", func(s *metalv1.Server) {
			s.Spec.ServerMaintenanceRef = &metalv1.ObjectReference{Namespace: "ns", Name: "m"}
		})}, "InMaintenance", metalv1.ReasonMaintenanceGranted, false},
		"a higher priority waits": {view{server: serverIn("Available"), rivals: []metalv1.ServerMaintenance{rival("o", priority(5), later)}}, "Pending", metalv1.ReasonWaitingForTurn, false},
		"enforced goes first":     {view{server: serverIn("Available"), rivals: []metalv1.ServerMaintenance{rival("o", enforced, later)}}, "Pending", metalv1.ReasonWaitingForTurn, false},
		"the older goes first":    {view{server: serverIn("Available"), rivals: []metalv1.ServerMaintenance{rival("o", later)}}, "InMaintenance", metalv1.ReasonMaintenanceGranted, true},
		"one without approval is not waited for": {
			view{obj: newMaintenance("m", enforced), server: serverIn("Reserved", claimedServer), claim: claimWith(nil), rivals: []metalv1.ServerMaintenance{rival("o", priority(9))}},
			"InMaintenance", metalv1.ReasonMaintenanceGranted, true,
		},
		"unknown policy": {view{obj: newMaintenance("m", func(m *metalv1.ServerMaintenance) { m.Spec.Policy = "Later" }), server: serverIn("Available")}, "Failed", metalv1.ReasonInvalidSpec, false},
		"unknown power":  {view{obj: newMaintenance("m", func(m *metalv1.ServerMaintenance) { m.Spec.ServerPower = "Half" }), server: serverIn("Available")}, "Failed", metalv1.ReasonInvalidSpec, false},
		"template for another": {view{obj: newMaintenance("m", func(m *metalv1.ServerMaintenance) {
			m.Spec.ServerBootConfigurationTemplate = &metalv1.ServerBootConfigurationTemplate{Name: "t"}
			m.Spec.ServerBootConfigurationTemplate.Spec.ServerRef.Name = "x"
		}), server: serverIn("Available")}, "Failed", metalv1.ReasonInvalidSpec, false},
		"template's name taken": {view{obj: newMaintenance("m", func(m *metalv1.ServerMaintenance) {
			m.Spec.ServerBootConfigurationTemplate = &metalv1.ServerBootConfigurationTemplate{Name: "t"}
		}), server: serverIn("Available"), boot: &metalv1.ServerBootConfiguration{}}, "Failed", metalv1.ReasonBootConfigurationTaken, false},
	} {
		t.Run(name, func(t *testing.T) {
			v := tc.view
			if v.obj == nil {
				v.obj = newMaintenance("m")
			}
			v.rivals = append(v.rivals, *v.obj)
			got := v.decide()
			if got.state != tc.state || got.reason != tc.reason || got.take != tc.take {
				t.Errorf("%s because %s (%s), take %v; want %s because %s, take %v", got.state, got.reason, got.message, got.take, tc.state, tc.reason, tc.take)
			}
		})
	}
}
