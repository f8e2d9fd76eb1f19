package server

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// operate performs the operation that the server's annotation asks for, and removes it. It says
// whether there was one: its write wakes the server again.
func (r *Reconciler) operate(ctx context.Context, v *View) (bool, error) {
	operation, asked := v.Server.Annotations[metalv1.AnnotationOperation]
	if !asked {
		return false, nil
	}
	change, event := decideOperation(v, operation)
	if change == nil {
		// Once for each reason to wait: the request is looked at with every reconcile.
		if why := operation + " " + event.Message; event.Reason != "" && !r.deferred.is(v.Server.UID, why) {
			r.deferred.set(v.Server.UID, why)
			r.Recorder.Eventf(v.Server, nil, event.Type, event.Reason, event.Reason, "%s", event.Message)
		}
		return false, nil
	}
	before := v.Server.DeepCopy()
	change(v.Server)
	delete(v.Server.Annotations, metalv1.AnnotationOperation)
	if started := v.Server.Annotations[metalv1.AnnotationOperationStarted]; started != before.Annotations[metalv1.AnnotationOperationStarted] {
		r.resets.set(v.Server.UID, started) // before anybody can read of it
	}
	if err := r.patch(ctx, v.Server, before); err != nil {
		return false, err
	}
	r.deferred.set(v.Server.UID, "")
	r.Recorder.Eventf(v.Server, nil, event.Type, event.Reason, event.Reason, "%s", event.Message)
	return true, nil
}

// decideOperation returns what an operation changes; nil: nothing now, the request stays.
func decideOperation(v *View, operation string) (func(*metalv1.Server), Event) {
	if _, reset := resetTypes[operation]; reset {
		return decideReset(v, operation)
	}
	state := derive(v).state
	switch operation {
	case metalv1.OperationRetry:
		if state == metalv1.ServerStateError && v.failedBootLeft() {
			return nil, Event{} // it would find what failed, and fail by it
		}
		again := state == metalv1.ServerStateCleanup && v.hopeless()
		return func(s *metalv1.Server) {
			forgetFailures(s)
			s.Spec.Taints = withoutTaint(s.Spec.Taints, metalv1.TaintNotClean)
			delete(s.Annotations, annotationNotClean)
			if again {
				s.Spec.BootConfigurationRef = nil // another boot is prepared
			}
		}, Event{corev1.EventTypeNormal, "Retried", "Tried again on request"}
	case metalv1.OperationPark:
		if state == metalv1.ServerStateParked {
			return func(*metalv1.Server) {}, Event{corev1.EventTypeNormal, "Parked", "The server is parked already"}
		}
		switch state {
		case metalv1.ServerStateInitial, metalv1.ServerStateDiscovery, metalv1.ServerStateAvailable, metalv1.ServerStateReserved:
		default:
			return nil, Event{corev1.EventTypeNormal, metalv1.ReasonParkDeferred, "Parking waits: the server is in state " + string(state)}
		}
		return func(s *metalv1.Server) { annotate(s, metalv1.AnnotationParked, metalv1.AnnotationTrue) },
			Event{corev1.EventTypeNormal, "Parked", "Parked on request"}
	case metalv1.OperationUnpark:
		again := v.probeInterrupted()
		return func(s *metalv1.Server) {
			delete(s.Annotations, metalv1.AnnotationParked)
			delete(s.Annotations, annotationParkedOff)
			if again {
				s.Spec.BootConfigurationRef = nil // another boot is prepared
			}
		}, Event{corev1.EventTypeNormal, "Unparked", "Unparked on request"}
	}
	return func(*metalv1.Server) {}, Event{corev1.EventTypeWarning, metalv1.ReasonUnsupportedOperation, fmt.Sprintf("Operation %.64q is not supported on a Server", operation)}
}

// probeInterrupted reports whether a server was parked in the middle of a discovery, whose boot has come to nothing by that. One that
// has been reported nevertheless is done with.
func (v *View) probeInterrupted() bool {
	return v.isParked() && v.BootInternal && v.Inspected == "" && v.Server.Spec.ServerClaimRef == nil && v.claimedBy() == "" && v.Attempt.Begun()
}

func withoutTaint(taints []metalv1.Taint, key string) []metalv1.Taint {
	var kept []metalv1.Taint
	for _, t := range taints {
		if t.Key != key {
			kept = append(kept, t)
		}
	}
	return kept
}

// clearPower takes away what is accepted and means nothing: the power of a server is what its claim or its
// maintenance asks for.
func clearPower(s *metalv1.Server) bool {
	asked := s.Spec.Power != ""
	s.Spec.Power = ""
	return asked
}
