package brake

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
)

const (
	// calm is how long nothing has to be refused until the object is said to go on.
	calm = 2 * time.Minute
	// lookEvery is how often that is looked at, and how often an object is told of at most.
	lookEvery = time.Minute
)

// stall is an object whose account is, or was, overdrawn.
type stall struct {
	at   time.Time // the last refusal
	what what
	told bool      // by condition, event and log
	next time.Time // look at it again
}

// refuse notes that something was one too many. b.mu is held.
func (b *Brake) refuse(s subject, w what, now time.Time) {
	b.refused[w][s.Kind]++
	if o := b.stalled[s]; o != nil {
		o.at, o.what = now, w
		return
	}
	b.stalled[s] = &stall{at: now, what: w}
	b.tell()
}

// says notes that an object says that it comes no further.
func (b *Brake) says(s subject) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stalled[s] == nil {
		now := b.clock.Now()
		b.stalled[s] = &stall{at: now, told: true, next: now.Add(calm)}
	}
}

// tell wakes the reporter. b.mu is held.
func (b *Brake) tell() {
	select {
	case b.news <- struct{}{}:
	default:
	}
}

// due are the objects that are to be told of now, and when the next is.
func (b *Brake) due() (objects map[subject]stall, next time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.clock.Now()
	objects, next = map[subject]stall{}, now.Add(lookEvery)
	for s, o := range b.stalled {
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

// Reporter tells of objects that come no further.
type Reporter struct {
	Brake *Brake
	// Client is not braked: an object costs one write a minute of the reporter's at most.
	Client   client.Client
	Recorder events.EventRecorder
	Clock    clock.Clock
	Logger   logr.Logger
}

// Start tells of what there is to tell until ctx ends.
func (r *Reporter) Start(ctx context.Context) error {
	for {
		timer := r.Clock.NewTimer(r.Look(ctx).Sub(r.Clock.Now()))
		select {
		case <-r.Brake.news:
		case <-timer.C():
		case <-ctx.Done():
			timer.Stop()
			return nil
		}
		timer.Stop()
	}
}

// Look tells of what is due, and returns when to look again.
func (r *Reporter) Look(ctx context.Context) time.Time {
	objects, next := r.Brake.due()
	now := r.Clock.Now()
	for s, o := range objects {
		over := now.Sub(o.at) >= calm
		obj, err := r.say(ctx, s, o, over)
		switch {
		case apierrors.IsNotFound(err), err == nil && over:
			r.Brake.forget(s, o)
		case err != nil:
			r.Logger.V(1).Info("Not told that an object comes no further", "kind", s.Kind, "object", s.String(), "cause", err.Error())
		case !o.told:
			r.Recorder.Eventf(obj, nil, corev1.EventTypeWarning, metalv1.ReasonNoProgress, metalv1.ReasonNoProgress, "%s", message(o.what))
			r.Logger.Info("An object comes no further and is acted on slowly", "kind", s.Kind, "object", s.String(), "cause", message(o.what))
			r.Brake.said(s)
		}
	}
	return next
}

// forget drops an object that was told of, unless something was refused meanwhile.
func (b *Brake) forget(s subject, o stall) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if now := b.stalled[s]; now != nil && now.at.Equal(o.at) {
		delete(b.stalled, s)
	}
}

func (b *Brake) said(s subject) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if o := b.stalled[s]; o != nil {
		o.told = true
	}
}

// say writes the condition, or takes it away, where the kind has conditions and they do not say so.
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
		// It may hold what is in no cache. The event needs its name alone.
		obj.SetName(s.Name)
		obj.SetNamespace(s.Namespace)
		return obj, nil
	}
	if err := r.Client.Get(ctx, s.ObjectKey, obj); err != nil {
		return nil, fmt.Errorf("read %s %s: %w", s.Kind, s, err)
	}
	before, _ := obj.DeepCopyObject().(client.Object)
	changed := false
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

// message says what is slowed and until when. It has no numbers that change: it is written once.
func message(w what) string {
	done := "It was written"
	if w == requests {
		done = "Its BMC was asked on its account"
	}
	return fmt.Sprintf("%s %d times or more and was in no state that it had not been in within %s: that is done %d times a minute at most now, until its spec or its state changes; "+
		"the other conditions say what is tried", done, Burst, lately, PerMinute)
}
