package subscription

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/connection"
	"github.com/farrier-dev/farrier/internal/controller/reconcileerror"
	"github.com/farrier-dev/farrier/internal/controller/throttle"
	"github.com/farrier-dev/farrier/internal/controller/trigger"
	"github.com/farrier-dev/farrier/internal/fleet"
)

// subject is an object whose BMC is subscribed: a BMC object, or a Server with an inline BMC that no BMC object is
// there for.
type subject struct {
	// id is what it is called here and in the series of its BMC: the name of a BMC, or "server/" and that of a Server, which
	// no BMC can have.
	id, name, uid string
	inline        bool
	// linked says that status tells of a subscription.
	linked bool
	// describe writes into status what was found at the BMC.
	describe func(*memory)
}

const inlinePrefix = "server/"

func ofBMC(obj *metalv1.BMC) subject {
	return subject{
		id: obj.Name, name: obj.Name, uid: string(obj.UID), describe: func(m *memory) { describe(obj, m) },
		linked: obj.Status.EventsSubscriptionLink != "" || obj.Status.MetricsReportSubscriptionLink != "",
	}
}

func ofServer(obj *metalv1.Server) subject {
	return subject{
		id: inlinePrefix + obj.Name, name: obj.Name, uid: string(obj.UID), inline: true,
		describe: func(m *memory) { describeCondition(&obj.Status.Conditions, obj.Generation, m) },
		linked:   apimeta.IsStatusConditionTrue(obj.Status.Conditions, ConditionSubscribed),
	}
}

// account is what the requests are counted for that its BMC is sent.
func (s subject) account() string {
	if s.inline {
		return throttle.Account(throttle.KindServer, s.name)
	}
	return throttle.Account(throttle.KindBMC, s.name)
}

// about is the object that an id stands for, as events name it.
func about(id, uid string) client.Object {
	if name, inline := strings.CutPrefix(id, inlinePrefix); inline {
		return &metalv1.Server{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(uid)}}
	}
	return &metalv1.BMC{ObjectMeta: metav1.ObjectMeta{Name: id, UID: types.UID(uid)}}
}

// source is where a subject is woken.
func (r *Reconciler) source(s subject) *trigger.Source {
	if s.inline {
		return &r.WakeServers
	}
	return &r.Wake
}

// listener is where the subject of an id is woken, and its name there.
func (r *Reconciler) listener(id string) (*trigger.Source, string) {
	if name, inline := strings.CutPrefix(id, inlinePrefix); inline {
		return &r.WakeServers, name
	}
	return &r.Wake, id
}

// reconcileServer looks at one Server.
func (r *Reconciler) reconcileServer(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	gone := subject{id: inlinePrefix + req.Name, name: req.Name, inline: true}
	var obj metalv1.Server
	if err := r.Get(ctx, req.NamespacedName, &obj); apierrors.IsNotFound(err) {
		r.forget(gone)
		return reconcile.Result{}, nil
	} else if err != nil {
		return reconcile.Result{}, err
	}
	if !obj.DeletionTimestamp.IsZero() || metalv1.IsIgnored(&obj) {
		return reconcile.Result{}, nil
	}
	key, ours := r.inlineKey(&obj)
	if !ours {
		r.forget(gone)
		return reconcileerror.Handle(ctx, reconcile.Result{}, r.reportServer(ctx, &obj, func(o *metalv1.Server) {
			apimeta.RemoveStatusCondition(&o.Status.Conditions, ConditionSubscribed)
		}))
	}
	var result reconcile.Result
	var looked error
	err := r.reportServer(ctx, &obj, func(o *metalv1.Server) {
		result.RequeueAfter, looked = r.look(ofServer(o), key)
	})
	return reconcileerror.Handle(ctx, result, errors.Join(looked, err))
}

// inlineKey is the BMC that a Server names itself, unless a BMC object is there for it.
func (r *Reconciler) inlineKey(obj *metalv1.Server) (fleet.Key, bool) {
	if obj.Spec.BMC == nil {
		return "", false
	}
	endpoint, err := connection.Endpoint(obj.Spec.BMC.Address, obj.Spec.BMC.Protocol)
	if err != nil {
		return "", false // the condition Ready says it
	}
	key := fleet.Key(endpoint.Key())
	return key, r.NamedByBMC == nil || !r.NamedByBMC(key)
}

// reportServer writes what change changes of a Server's status.
func (r *Reconciler) reportServer(ctx context.Context, before *metalv1.Server, change func(*metalv1.Server)) error {
	obj := before.DeepCopy()
	change(obj)
	if equality.Semantic.DeepEqual(before.Status, obj.Status) {
		return nil
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.Status().Patch(ctx, obj, patch, client.FieldOwner(metalv1.FieldManager)); err != nil {
		return client.IgnoreNotFound(fmt.Errorf("write status: %w", err))
	}
	return nil
}

// UnsubscribeServer is Unsubscribe for a Server with an inline BMC.
func (r *Reconciler) UnsubscribeServer(obj *metalv1.Server, key fleet.Key) (over bool, err error) {
	if _, ours := r.inlineKey(obj); !ours {
		return true, nil
	}
	return r.unsubscribe(ofServer(obj), key)
}
