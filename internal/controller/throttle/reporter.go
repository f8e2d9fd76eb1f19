package throttle

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	eventsender "github.com/farrier-dev/farrier/internal/controller/events"
)

const (
	// calm is how long nothing must be refused before the object counts as going on.
	calm = 2 * time.Minute
	// lookEvery is how often the reporter checks that, and how often it reports an object at most.
	lookEvery = time.Minute
)

// stall is an object whose account is, or was, overdrawn.
type stall struct {
	at   time.Time // the last refusal
	what what
	told bool      // reported by condition, event and log
	next time.Time // the next check
}

// refuse records that a write or request was above the limit. The caller has locked t.mu.
func (t *Throttle) refuse(s subject, w what, now time.Time) {
	t.refused[w][s.Kind]++
	if o := t.stalled[s]; o != nil {
		o.at, o.what = now, w
		return
	}
	t.stalled[s] = &stall{at: now, what: w}
	t.wake()
}

// adopt records an object whose condition Stalled an earlier process set.
func (t *Throttle) adopt(s subject) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stalled[s] == nil {
		now := t.clock.Now()
		t.stalled[s] = &stall{at: now, told: true, next: now.Add(calm)}
	}
}

// wake wakes the reporter. The caller has locked t.mu.
func (t *Throttle) wake() {
	select {
	case t.changed <- struct{}{}:
	default:
	}
}

// due returns the objects to report now, and when the next check is.
func (t *Throttle) due() (objects map[subject]stall, next time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.clock.Now()
	objects, next = map[subject]stall{}, now.Add(lookEvery)
	for s, o := range t.stalled {
		if o.next.After(now) {
			if o.next.Before(next) {
				next = o.next
			}
			continue
		}
		o.next = now.Add(lookEvery)
		objects[s] = *o
	}
	return objects, next
}

// Reporter reports objects that make no progress.
type Reporter struct {
	Throttle *Throttle
	// Client is not throttled: the reporter writes an object once a minute at most.
	Client   client.Client
	Recorder events.EventRecorder
	Clock    clock.Clock
	Logger   logr.Logger
}

// Start reports until ctx ends.
func (r *Reporter) Start(ctx context.Context) error {
	for {
		timer := r.Clock.NewTimer(r.Look(ctx).Sub(r.Clock.Now()))
		select {
		case <-r.Throttle.changed:
		case <-timer.C():
		case <-ctx.Done():
			timer.Stop()
			return nil
		}
		timer.Stop()
	}
}

// Look reports what is due, and returns when to call it again.
func (r *Reporter) Look(ctx context.Context) time.Time {
	objects, next := r.Throttle.due()
	now := r.Clock.Now()
	for s, o := range objects {
		over := now.Sub(o.at) >= calm
		obj, err := r.say(ctx, s, o, over)
		switch {
		case apierrors.IsNotFound(err), err == nil && over:
			r.Throttle.forget(s, o)
		case err != nil:
			r.Logger.V(1).Info("throttled object not reported", "kind", s.Kind, "object", s.String(), "error", err)
		case !o.told:
			eventsender.Send(r.Recorder, obj, nil, corev1.EventTypeWarning, metalv1.ReasonNoProgress, message(o.what))
			r.Logger.Info("object makes no progress and is throttled", "kind", s.Kind, "object", s.String(), "reason", metalv1.ReasonNoProgress, "requests", o.what.String())
			r.Throttle.reported(s)
		}
	}
	return next
}

// forget drops an object, unless something was refused since the caller looked.
func (t *Throttle) forget(s subject, o stall) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if now := t.stalled[s]; now != nil && now.at.Equal(o.at) {
		delete(t.stalled, s)
	}
}

func (t *Throttle) reported(s subject) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if o := t.stalled[s]; o != nil {
		o.told = true
	}
}

// say sets the condition, or removes it if the throttling is over, where the kind has conditions.
func (r *Reporter) say(ctx context.Context, s subject, o stall, over bool) (client.Object, error) {
	made, err := r.Client.Scheme().New(s.GroupVersionKind)
	if err != nil {
		return nil, fmt.Errorf("make a %s: %w", s.Kind, err)
	}
	obj, ok := made.(client.Object)
	if !ok {
		return nil, fmt.Errorf("%s is no object", s.Kind)
	}
	conditions := conditionsOf(obj)
	if conditions == nil {
		// No cache has objects of this kind. The event needs only the name.
		obj.SetName(s.Name)
		obj.SetNamespace(s.Namespace)
		return obj, nil
	}
	if err := r.Client.Get(ctx, s.ObjectKey, obj); err != nil {
		return nil, fmt.Errorf("read %s %s: %w", s.Kind, s, err)
	}
	before, _ := obj.DeepCopyObject().(client.Object)
	var changed bool
	if over {
		changed = apimeta.RemoveStatusCondition(conditions, metalv1.ConditionStalled)
	} else {
		changed = apimeta.SetStatusCondition(conditions, metav1.Condition{
			Type: metalv1.ConditionStalled, Status: metav1.ConditionTrue, Reason: metalv1.ReasonNoProgress,
			Message: message(o.what), ObservedGeneration: obj.GetGeneration(),
		})
	}
	if !changed {
		return obj, nil
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.Client.Status().Patch(ctx, obj, patch, client.FieldOwner(metalv1.FieldManager)); err != nil {
		return nil, fmt.Errorf("write the condition %s of %s %s: %w", metalv1.ConditionStalled, s.Kind, s, err)
	}
	return obj, nil
}

// message says what is throttled and until when. It contains no changing numbers, so it is written once.
func message(w what) string {
	done, rate := "was written", "writes"
	if w == requests {
		done, rate = "caused requests to its BMC", "requests"
	}
	return fmt.Sprintf("The object %s at least %d times without reaching a state that it was not in within the last %s. Farrier limits the %s to %d a minute "+
		"until its spec or state changes. The other conditions say what Farrier tries", done, Burst, recently, rate, PerMinute)
}
