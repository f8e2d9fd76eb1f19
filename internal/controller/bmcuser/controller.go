package bmcuser

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/connection"
	eventsender "github.com/farrier-dev/farrier/internal/controller/events"
	"github.com/farrier-dev/farrier/internal/controller/reconcileerror"
	"github.com/farrier-dev/farrier/internal/controller/rotation"
	"github.com/farrier-dev/farrier/internal/controller/trigger"
	"github.com/farrier-dev/farrier/internal/fleet"
)

// Reconciler keeps the accounts of BMCUsers.
type Reconciler struct {
	client.Client
	// APIReader reads passwords, which are not kept in caches.
	APIReader client.Reader
	// Namespace is the manager's own: Secrets there may hold passwords that people give.
	Namespace string
	Fleet     *fleet.Fleet
	Registry  *connection.Registry
	// KeyOf is where a BMC is, as the controller of BMCs knows it.
	KeyOf    func(bmc string) (fleet.Key, bool)
	Recorder events.EventRecorder
	Clock    clock.PassiveClock
	// Wake is the way in for observations.
	Wake trigger.Source
	// Workers is how many objects are decided at the same time.
	Workers int

	rotations rotation.Memory
	others    others
	looks     looks
	removals  removals
}

// scope is one look at one object.
type scope struct {
	*view
	key fleet.Key
	// observation is what the fleet knows of the BMC.
	observation fleet.Observation
	// said is the sentence about the rotation under way.
	said string
	// after is when to look again though nothing has changed.
	after time.Duration
}

func (s *scope) again(d time.Duration) {
	if d > 0 && (s.after == 0 || d < s.after) {
		s.after = d
	}
}

// Reconcile looks at one BMCUser.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	var obj metalv1.BMCUser
	if err := r.Get(ctx, req.NamespacedName, &obj); apierrors.IsNotFound(err) {
		r.Registry.Release(&r.Wake, req.Name) // a look at an object that the cache still had may have bound it once more
		return reconcile.Result{}, nil
	} else if err != nil {
		return reconcile.Result{}, err
	}
	s := &scope{view: &view{obj: obj.DeepCopy()}}
	err := r.reconcile(ctx, s)
	return reconcileerror.Handle(ctx, reconcile.Result{RequeueAfter: s.after}, err)
}

func (r *Reconciler) reconcile(ctx context.Context, s *scope) error {
	if metalv1.IsIgnored(s.obj) {
		return nil
	}
	deleting := !s.obj.DeletionTimestamp.IsZero()
	if deleting && !controllerutil.ContainsFinalizer(s.obj, metalv1.FinalizerBMCUser) {
		return nil
	}
	if done, err := r.adopt(ctx, s.obj, deleting); done || err != nil {
		return err
	}
	if err := r.gather(ctx, s); err != nil {
		return err
	}
	p := s.decide()
	gone, err := r.act(ctx, s, &p)
	if gone || err != nil {
		return err
	}
	s.again(p.after)
	return r.report(ctx, s, &p)
}

// adopt sets the finalizer and takes the operation. Its write wakes the object again. What allows deletion stays.
func (r *Reconciler) adopt(ctx context.Context, obj *metalv1.BMCUser, deleting bool) (bool, error) {
	before := obj.DeepCopy()
	changed := !deleting && controllerutil.AddFinalizer(obj, metalv1.FinalizerBMCUser)
	operation, asked := metalv1.OperationOf(obj)
	p := progressOf(obj)
	refused := ""
	switch {
	case !asked || operation == metalv1.OperationAllowInProgressDelete:
		asked = false
	case operation == metalv1.OperationRetry:
		p.Failed, p.Refused = nil, nil
		r.looks.forget(obj.UID)
	case operation == metalv1.OperationRotateCredentials && obj.Spec.BMCSecretRef != nil:
		refused = "The password is the one in spec.bmcSecretRef: change it there"
	case operation == metalv1.OperationRotateCredentials && p.Next == "":
		p.Cause = causeRequest
	case operation == metalv1.OperationRotateCredentials: // one is under way
	default:
		refused = fmt.Sprintf("Operation %.64q is not supported on a BMCUser", operation)
	}
	if asked {
		delete(obj.Annotations, metalv1.AnnotationOperation)
		keep(obj, p)
	}
	if !changed && !asked {
		return false, nil
	}
	if err := r.patch(ctx, obj, before); err != nil {
		return true, err
	}
	if refused != "" {
		r.event(obj, corev1.EventTypeWarning, metalv1.ReasonUnsupportedOperation, refused)
	}
	return true, nil
}

// keep puts what is remembered into the annotation.
func keep(obj *metalv1.BMCUser, p progress) {
	if p == (progress{}) {
		delete(obj.Annotations, annotationProgress)
		return
	}
	if obj.Annotations == nil {
		obj.Annotations = map[string]string{}
	}
	obj.Annotations[annotationProgress] = p.String()
}

// remember writes what is to be remembered.
func (r *Reconciler) remember(ctx context.Context, s *scope, change func(*progress)) error {
	before := s.obj.DeepCopy()
	p := s.progress
	change(&p)
	keep(s.obj, p)
	if err := r.patch(ctx, s.obj, before); err != nil {
		return err
	}
	s.progress = p
	return nil
}

func (r *Reconciler) event(obj *metalv1.BMCUser, kind, reason, message string) {
	eventsender.Send(r.Recorder, obj, nil, kind, reason, message)
}

// patch writes what changed of spec and metadata, and only if nobody wrote in between.
func (r *Reconciler) patch(ctx context.Context, obj, before *metalv1.BMCUser) error {
	return r.Patch(ctx, obj, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}), client.FieldOwner(metalv1.FieldManager))
}
