package verb

import (
	"context"
	"fmt"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	farrierv1 "github.com/farrier-dev/farrier/api/farrier/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/rolloutpermit"
	"github.com/farrier-dev/farrier/internal/rollout"
)

// RolloutSet is a Set whose rollout is steered.
type RolloutSet struct {
	API    client.Client
	Object client.Object
	// Kind is that of the Set.
	Kind string
	// Failed is how many of its targets have failed.
	Failed int
	// Read reads how the rollout stands; nil: no RolloutPolicy tells of it.
	Read func(context.Context) (*farrierv1.Rollout, error)
}

// HoldRollout keeps the rollout of a Set from going on: metalv1.RolloutPaused or metalv1.RolloutAborted.
func HoldRollout(s RolloutSet, word string) []Order {
	done := "nothing further of %s %s begins; what has begun ends"
	if word == metalv1.RolloutAborted {
		done = "nothing further of %s %s begins, and what has not begun lost its permit; what has begun ends"
	}
	return []Order{s.annotate(fmt.Sprintf(done, s.Kind, s.Object.GetName()), map[string]any{metalv1.AnnotationRollout: word})}
}

// ResumeRollout lets the rollout of a Set go on, and accepts the failures that there are.
func ResumeRollout(s RolloutSet) []Order {
	changes := map[string]any{metalv1.AnnotationRollout: nil}
	done := fmt.Sprintf("%s %s goes on", s.Kind, s.Object.GetName())
	if s.Failed > 0 {
		changes[metalv1.AnnotationFailuresAccepted] = rolloutpermit.Accept(s.Object, s.Failed)
		done += fmt.Sprintf("; the limits of failures count from the %d that there are", s.Failed)
	}
	return []Order{s.annotate(done, changes)}
}

// AwaitRollout waits until nothing of the rollout waits or is in progress. That something has failed, or keeps it from going on, is an error.
func AwaitRollout(s RolloutSet) []Order {
	name := strings.ToLower(s.Kind) + "/" + s.Object.GetName()
	var last farrierv1.Rollout
	return []Order{{
		Kubectl: []string{"kubectl wait " + name + " --for=condition=Ready --timeout=24h"},
		Write:   func(context.Context) error { return nil },
		Look: func(ctx context.Context) (bool, string, error) {
			r, err := s.Read(ctx)
			if err == nil && r != nil {
				err = s.API.Get(ctx, client.ObjectKeyFromObject(s.Object), s.Object)
			}
			if err != nil || r == nil || !about(r, s.Object) {
				return false, "Waiting for a RolloutPolicy to tell of " + name, err
			}
			last = *r
			doing := fmt.Sprintf("Wave %d of %d: %d wait, %d are in progress, %d are done, %d have failed", r.Wave, r.Waves, r.Waiting, r.InProgress, r.Completed, r.Failed)
			switch held := r.Reason; {
			case held == farrierv1.ReasonCompleted:
				return true, "", nil
			case held == farrierv1.ReasonCompletedWithFailures:
				return false, "", fmt.Errorf("%s is over: %d are done, %d have failed", name, r.Completed, r.Failed)
			case r.InProgress == 0 && (held == string(rollout.FailureLimit) || held == string(rollout.GateShut) || held == string(rollout.Paused) || held == string(rollout.Aborted)):
				return false, "", fmt.Errorf("%s does not go on: %s: %s", name, held, r.Message)
			}
			return false, doing, nil
		},
		Done: func() string { return fmt.Sprintf("%s is done: all %d targets", name, last.Targets) },
	}}
}

// about reports whether what is told of a rollout is about its Set as it is now.
func about(r *farrierv1.Rollout, set client.Object) bool {
	return r.ObservedGeneration == set.GetGeneration() && r.Hold == set.GetAnnotations()[metalv1.AnnotationRollout] &&
		int(r.FailuresAccepted) == rolloutpermit.AcceptedFailures(set)
}

// annotate is the Order that sets annotations; nil removes one.
func (s RolloutSet) annotate(done string, changes map[string]any) Order {
	command := []string{"kubectl annotate", strings.ToLower(s.Kind), s.Object.GetName(), "--overwrite"}
	for _, key := range []string{metalv1.AnnotationRollout, metalv1.AnnotationFailuresAccepted} {
		switch value, ok := changes[key]; {
		case ok && value == nil:
			command = append(command, key+"-")
		case ok:
			command = append(command, fmt.Sprintf("%s=%v", key, value))
		}
	}
	fields := merge{"metadata": merge{"annotations": merge(changes)}}
	return Order{
		Kubectl: []string{strings.Join(command, " ")},
		Write:   func(ctx context.Context) error { return patch(ctx, s.API, s.Object, fields) },
		Done:    func() string { return done },
	}
}
