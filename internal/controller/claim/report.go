package claim

import (
	"context"
	"reflect"
	"sync"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/allocator"
	"github.com/farrier-dev/farrier/internal/controller/trouble"
	"github.com/farrier-dev/farrier/internal/diagnosis"
)

// repeatAfter is how often the explanation of a claim that waits is refreshed: its counts change all the time, and a write for each
// change would be one for each claim that waits.
const repeatAfter = time.Minute

// explain writes why the claim has no server: at once when the reason changes, the counts once in a while. It
// returns when to explain again.
func (r *Reconciler) explain(ctx context.Context, obj *metalv1.ServerClaim) (time.Duration, error) {
	name := client.ObjectKeyFromObject(obj)
	verdict := r.pool.Explain(obj)
	last := apimeta.FindStatusCondition(obj.Status.Conditions, metalv1.ConditionBound)
	now := r.Clock.Now()
	r.waiting.note(name, verdict.Reason)
	if last != nil && last.Status == metav1.ConditionFalse && last.Reason == verdict.Reason && last.ObservedGeneration == obj.Generation {
		if rest := r.said.since(name, now).Add(repeatAfter).Sub(now); rest > 0 {
			return rest, nil
		}
	}
	err := r.report(ctx, obj, metalv1.ServerClaimPhaseUnbound,
		metav1.Condition{Status: metav1.ConditionFalse, Reason: verdict.Reason, Message: verdict.Message}, unbootable(obj), nil)
	if err != nil {
		return 0, err
	}
	r.said.at(name, now)
	return repeatAfter, nil
}

// unbootable returns the condition BootReady of a claim without a server.
func unbootable(obj *metalv1.ServerClaim) metav1.Condition {
	if problem := allocator.PowerProblem(obj.Spec.Power); problem != "" {
		return metav1.Condition{Reason: metalv1.ReasonInvalidSpec, Message: "spec.power: " + problem}
	}
	return metav1.Condition{Reason: reasonNotBound}
}

func (r *Reconciler) reportBound(ctx context.Context, obj *metalv1.ServerClaim, server *metalv1.Server, boot metav1.Condition) error {
	return r.report(ctx, obj, metalv1.ServerClaimPhaseBound,
		metav1.Condition{Status: metav1.ConditionTrue, Reason: metalv1.ReasonAllocated, Message: "Server " + server.Name}, boot, server)
}

// report writes status, once, and only if it says anything new.
func (r *Reconciler) report(ctx context.Context, obj *metalv1.ServerClaim, phase metalv1.ServerClaimPhase, bound, boot metav1.Condition, server *metalv1.Server) error {
	before := obj.DeepCopy()
	obj.Status.Phase, obj.Status.ObservedGeneration = phase, obj.Generation
	bound.Type, boot.Type = metalv1.ConditionBound, metalv1.ConditionBootReady
	if boot.Status == "" {
		boot.Status = metav1.ConditionFalse
	}
	for _, c := range []metav1.Condition{bound, boot} {
		c.ObservedGeneration = obj.Generation
		apimeta.SetStatusCondition(&obj.Status.Conditions, c)
	}
	news := trouble.Say(obj, &obj.Status.Conditions, r.wrong(obj, server), r.Clock.Now())
	if reflect.DeepEqual(before.Status, obj.Status) {
		return nil
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.Status().Patch(ctx, obj, patch, client.FieldOwner(metalv1.FieldManager)); err != nil {
		return client.IgnoreNotFound(err)
	}
	r.tell(ctx, before, obj)
	news.Tell(r.Recorder, obj)
	countWait(before, obj, r.Clock.Now())
	return nil
}

// wrong is what is wrong with a claim; nil: nothing is. Its Server looks at the claim too, and at all that the two depend on, so a claim that has one says
// what that says.
func (r *Reconciler) wrong(obj *metalv1.ServerClaim, server *metalv1.Server) *trouble.Sentence {
	if server != nil {
		return trouble.SaidBy(server.Status.Conditions)
	}
	facts := &diagnosis.Facts{Now: r.Clock.Now(), Asked: obj.Namespace + "/" + obj.Name, Claim: obj}
	if r.pool.Empty() {
		facts.Servers = []metalv1.Server{} // as opposed to unknown
	}
	return trouble.Of(diagnosis.Wrong(facts))
}

// said holds when the explanation of each claim was last written. After a start that is unknown and counts as just now.
type said struct {
	mu   sync.Mutex
	when map[client.ObjectKey]time.Time
}

// since returns when the explanation was last written; now if that is unknown.
func (s *said) since(name client.ObjectKey, now time.Time) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t, known := s.when[name]; known {
		return t
	}
	s.put(name, now)
	return now
}

func (s *said) at(name client.ObjectKey, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(name, now)
}

func (s *said) put(name client.ObjectKey, now time.Time) {
	if s.when == nil {
		s.when = map[client.ObjectKey]time.Time{}
	}
	s.when[name] = now
}

func (s *said) forget(name client.ObjectKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.when, name)
}
