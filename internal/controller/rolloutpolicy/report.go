package rolloutpolicy

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	farrierv1 "github.com/farrier-dev/farrier/api/farrier/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	eventsender "github.com/farrier-dev/farrier/internal/controller/events"
	"github.com/farrier-dev/farrier/internal/rollout"
)

// Reasons of the condition Ready of a RolloutPolicy.
const (
	reasonFollowed = "Followed"
	reasonInvalid  = "InvalidSpec"
)

// Events of a Set, or of an object that no Set has made.
const (
	eventWave = "WaveBegan"
	eventHeld = "RolloutHeld"
)

// mostRollouts bounds what one status lists.
const mostRollouts = 200

// report writes the status of every policy, where it says anything new.
func (r *Reconciler) report(ctx context.Context, v *view, stands []stand) error {
	of := map[string][]stand{}
	for _, s := range stands {
		of[s.change.Policy] = append(of[s.change.Policy], s)
	}
	for name, p := range v.policies {
		to := p.object.DeepCopy()
		status := &to.Status
		status.ObservedGeneration = to.Generation
		ready := metav1.Condition{Type: metalv1.ConditionReady, Status: metav1.ConditionTrue, Reason: reasonFollowed, Message: fmt.Sprintf("%d rollouts go by it", len(of[name])), ObservedGeneration: to.Generation}
		if p.err != nil {
			ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, reasonInvalid, fmt.Sprintf("Nothing that goes by it begins: %v", p.err)
		}
		apimeta.SetStatusCondition(&status.Conditions, ready)
		before := status.Rollouts
		status.Rollouts = nil
		for _, s := range of[name] {
			if len(status.Rollouts) == mostRollouts {
				break
			}
			status.Rollouts = append(status.Rollouts, r.rolloutOf(v, s, before))
		}
		slices.SortFunc(status.Rollouts, func(a, b farrierv1.Rollout) int {
			return cmp.Or(strings.Compare(a.Kind, b.Kind), strings.Compare(a.Name, b.Name))
		})
		if equality.Semantic.DeepEqual(p.object.Status, *status) {
			continue
		}
		patch := client.MergeFromWithOptions(p.object, client.MergeFromWithOptimisticLock{})
		if err := r.Status().Patch(ctx, to, patch, client.FieldOwner(metalv1.FieldManager)); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("write the status of RolloutPolicy %q: %w", name, err)
		}
	}
	return nil
}

// rolloutOf says how a change stands, and tells the Set what is new of it.
func (r *Reconciler) rolloutOf(v *view, s stand, before []farrierv1.Rollout) farrierv1.Rollout {
	now := summary(s)
	since := metav1.NewTime(v.now.UTC().Truncate(1e9))
	now.Since = &since
	at := slices.IndexFunc(before, func(b farrierv1.Rollout) bool { return b.Kind == now.Kind && b.Name == now.Name })
	if at >= 0 && before[at].Reason == now.Reason && before[at].Wave == now.Wave {
		now.Since = before[at].Since
	}
	if s.decision == nil {
		return now
	}
	switch {
	case (now.Reason == string(rollout.FailureLimit) || now.Reason == string(rollout.GateShut)) && (at < 0 || before[at].Reason != now.Reason):
		r.event(s.change.Object, corev1.EventTypeWarning, eventHeld, "Nothing further begins: "+now.Message)
	case s.decision.First:
		text := fmt.Sprintf("Wave %d of %d begins", now.Wave, now.Waves)
		if s.decision.Gates != "" {
			text += ": " + s.decision.Gates
		}
		r.event(s.change.Object, corev1.EventTypeNormal, eventWave, text)
	}
	return now
}

func (r *Reconciler) event(about client.Object, kind, reason, message string) {
	eventsender.Send(r.Recorder, about, nil, kind, reason, message)
}

// summary is how a change stands.
func summary(s stand) farrierv1.Rollout {
	d, count := s.decision, func(n int) int32 { return int32(min(n, 1<<30)) }
	out := farrierv1.Rollout{
		Kind: s.change.Kind, Name: s.change.Object.GetName(), Targets: count(len(s.change.children)),
		ObservedGeneration: s.change.Object.GetGeneration(), Hold: s.change.Object.GetAnnotations()[metalv1.AnnotationRollout], FailuresAccepted: count(s.change.accepted),
	}
	if d == nil {
		out.Waiting, out.Reason, out.Message = out.Targets-count(s.already), reasonInvalid, "The RolloutPolicy cannot be followed"
		return out
	}
	out.Wave, out.Waves = count(d.Wave), count(d.Waves)
	out.InProgress, out.Failed, out.Completed = count(d.Begun), count(d.Failed), count(d.Done+s.already)
	out.Waiting = out.Targets - out.InProgress - out.Failed - out.Completed
	switch {
	case d.Held != nil && out.Waiting > 0:
		out.Reason, out.Message = string(d.Held.Reason), d.Held.Message
	case out.InProgress > 0:
		out.Reason = farrierv1.ReasonInProgress
		var said []string
		if d.Gates != "" {
			said = append(said, d.Gates)
		}
		if s.first != nil {
			said = append(said, s.first.Message)
		}
		out.Message = strings.Join(said, "; ")
	case out.Waiting > 0 && s.first != nil:
		out.Reason, out.Message = string(s.first.Reason), s.first.Message
	case out.Failed > 0:
		out.Reason = farrierv1.ReasonCompletedWithFailures
	default:
		out.Reason = farrierv1.ReasonCompleted
	}
	return out
}
