package claim

import (
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// Reasons of the power conditions of a Server. Any other is about an order in progress, or its result.
const (
	reasonIdle     = "Idle"
	reasonSelfTest = "SelfTest"
	reasonStarted  = "Started"
)

// powerStep returns the Server's condition about an order to its power: one in progress, or else the result of the last one; nil if there is none.
func powerStep(server *metalv1.Server) *metav1.Condition {
	kinds := []string{metalv1.ConditionPoweringOn, metalv1.ConditionWaitingForPowerOff}
	for _, status := range []metav1.ConditionStatus{metav1.ConditionTrue, metav1.ConditionFalse} {
		for _, kind := range kinds {
			if c := apimeta.FindStatusCondition(server.Status.Conditions, kind); c != nil && c.Status == status && c.Reason != reasonIdle {
				return c
			}
		}
	}
	return nil
}

// powerReason returns the reason of powerStep; empty if there is none.
func powerReason(server *metalv1.Server) string {
	if c := powerStep(server); c != nil {
		return c.Reason
	}
	return ""
}

// tellPower makes events of the claim about the power of its machine: the user of a claim may have no access to Servers.
func (r *Reconciler) tellPower(obj *metalv1.ServerClaim, server *metalv1.Server) {
	step := powerStep(server)
	if !r.steps.news(client.ObjectKeyFromObject(obj), powerReason(server)) {
		return
	}
	kind := corev1.EventTypeNormal
	if strings.HasSuffix(step.Reason, "Failed") {
		kind = corev1.EventTypeWarning
	}
	r.event(obj, nil, kind, step.Reason, "%s", step.Message)
}

// steps holds which power steps of each claim's machine have had an event. The step that this process finds first had its event from
// another process.
type steps struct {
	mu   sync.Mutex
	told map[client.ObjectKey]map[string]bool
}

// begin records that a claim has a server from now on.
func (s *steps) begin(name client.ObjectKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(name, map[string]bool{})
}

// news reports whether a step gets an event: each once until the machine has started. Repeats of an order that fails get none.
func (s *steps) news(name client.ObjectKey, reason string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	told, known := s.told[name]
	switch {
	case !known:
		s.put(name, map[string]bool{reason: true})
		return false
	case reason == "", reason == reasonSelfTest, told[reason]: // a self test is part of each boot
		return false
	case told[reasonStarted]:
		told = map[string]bool{}
		s.put(name, told)
	}
	told[reason] = true
	return true
}

func (s *steps) put(name client.ObjectKey, told map[string]bool) {
	if s.told == nil {
		s.told = map[client.ObjectKey]map[string]bool{}
	}
	s.told[name] = told
}

func (s *steps) forget(name client.ObjectKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.told, name)
}
