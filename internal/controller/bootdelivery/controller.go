package bootdelivery

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/bootview/bootmethod"
	"github.com/farrier-dev/farrier/internal/bootview/booturl"
	"github.com/farrier-dev/farrier/internal/controller/alarm"
	"github.com/farrier-dev/farrier/internal/controller/boottrace"
	"github.com/farrier-dev/farrier/internal/controller/derivedboot"
	"github.com/farrier-dev/farrier/internal/controller/grant"
	"github.com/farrier-dev/farrier/internal/controller/index"
	"github.com/farrier-dev/farrier/internal/controller/objectqueue"
	"github.com/farrier-dev/farrier/internal/controller/reconcileerror"
)

// Delivery carries what all reconcilers of this package share.
type Delivery struct {
	client.Client
	// APIReader reads the Secrets that are referred to, and no others: they are not cached.
	APIReader client.Reader
	View      *bootview.View
	Clock     clock.Clock
	// Sites are the base URLs that kernelURL and friends were made with.
	Sites booturl.Sites
	// TokenKey is the key from which boot tokens are derived.
	TokenKey []byte
	// Grants says for which machines people of a namespace may write boot configs; nil: for all.
	Grants grant.Of
	// ForeignLifecycle: somebody else orders boots, and keeps no attempts that say which are open.
	ForeignLifecycle bool
	// WakeServer is told when the boot view has learnt of a boot attempt.
	WakeServer func(name string)
	// Recorder tells of ignition that cannot be delivered, that Butane warns of, or that was read again. It may be nil.
	Recorder events.EventRecorder
	// Patience is how long a delivery waits for the next before status tells of both: a machine fetches its script, and
	// its ignition a moment later, and each write of a boot config leads to others. Whatever else is written tells of it too.
	Patience time.Duration
	// Pace is the time between two writes that tell of deliveries alone: what is recorded of a boot does not slow the next answer. 0: there is none.
	Pace time.Duration
	// PollSoon has the BMC of a Server asked soon: its machine asks for what is for a machine that was seen on.
	PollSoon func(server string)
	// BMCIdentity: machines are told apart by a token in the URL that their BMC is given.
	BMCIdentity bool
	// Alarms are where attempts to have what is another's are told of; nil: nowhere.
	Alarms *alarm.Board
	// Trace follows boots; nil: nobody does.
	Trace *boottrace.Tracker
	// Workers is how many objects of each kind are rendered at the same time.
	Workers int
	// Stream tells how far entries have come at boot servers without Kubernetes, which answer the machines of those sites that Streamed names; nil:
	// there are none.
	Stream   Stream
	Streamed func(site string) bool
	// Derived has the boot configs of internal boots; nil: all are objects.
	Derived *derivedboot.Configs

	attempts  acknowledged
	notes     notes
	initial   initialSync
	awaiting  awaiting
	answering answering
}

// Setup registers both reconcilers.
func (d *Delivery) Setup(mgr ctrl.Manager) error {
	d.notes.init()
	if d.Derived != nil {
		d.Derived.Described = d.WakeServer
		d.Derived.Planned = func(kind string, key client.ObjectKey) { d.notes.wake(entryName(kind, key.Namespace, key.Name)) }
	}
	all := make([]listed, 0, len(bootmethod.Methods))
	for _, m := range bootmethod.Methods {
		if err := d.setup(mgr, m); err != nil {
			return err
		}
		all = append(all, listed{m.Kind, func() client.ObjectList { return m.NewList() }})
	}
	return mgr.Add(&syncer{delivery: d, cache: mgr.GetCache(), kinds: all})
}

// Revisit has every boot config looked at again: this process may write from now on.
func (d *Delivery) Revisit(ctx context.Context) error {
	for _, m := range bootmethod.Methods {
		lists := []client.ObjectList{m.NewList()}
		if d.Derived != nil { // they have the names of their boot configurations
			lists = append(lists, &metalv1.ServerBootConfigurationList{})
		}
		if err := d.notes.source(m.Kind).WakeAll(ctx, d, lists...); err != nil {
			return err
		}
	}
	return nil
}

func (d *Delivery) setup(mgr ctrl.Manager, m bootmethod.Method) error {
	r := &reconciler{Delivery: d, method: m}
	b := ctrl.NewControllerManagedBy(mgr).
		Named("bootdelivery-"+m.Kind).
		For(m.New()).
		Watches(&metalv1.ServerBootConfiguration{}, &handler.EnqueueRequestForObject{}). // children have its name
		Watches(&metalv1.Server{}, handler.EnqueueRequestsFromMapFunc(bootOf), onIdentityChange()).
		Watches(&metalv1.Server{}, d.whenOff(m)).
		WatchesMetadata(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(d.usersOf(m)), builder.OnlyMetadata).
		WatchesRawSource(d.notes.source(m.Kind)).
		WithOptions(objectqueue.Options(d.Workers))
	return d.watchRivals(b, m).Complete(r)
}

// bootOf finds the boot configs that a Server refers to, or did before it changed.
func bootOf(_ context.Context, obj client.Object) []reconcile.Request {
	server, ok := obj.(*metalv1.Server)
	if !ok {
		return nil
	}
	var requests []reconcile.Request
	for _, ref := range []*metalv1.ObjectReference{server.Spec.BootConfigurationRef, server.Spec.MaintenanceBootConfigurationRef} {
		if ref != nil {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}})
		}
	}
	return requests
}

// usersOf finds the boot configs of a kind that refer to a Secret.
func (d *Delivery) usersOf(m bootmethod.Method) handler.MapFunc {
	return func(ctx context.Context, obj client.Object) []reconcile.Request {
		found := index.Requests(ctx, d, m.NewList(), client.InNamespace(obj.GetNamespace()), client.MatchingFields{index.BySecret: obj.GetName()})
		for _, key := range d.Derived.Naming(m.Kind, client.ObjectKeyFromObject(obj)) {
			found = append(found, reconcile.Request{NamespacedName: key})
		}
		return found
	}
}

// reconciler renders the boot configs of one boot method.
type reconciler struct {
	*Delivery
	method bootmethod.Method
}

// Reconcile renders one boot config into the view and writes its status.
func (r *reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	name := entryName(r.method.Kind, req.Namespace, req.Name)
	obj, derived, err := r.find(ctx, r.method, req.NamespacedName)
	if err != nil {
		if coming, unknown := r.derives(ctx, req.NamespacedName, err); coming || unknown != nil {
			return reconcile.Result{}, unknown
		}
		r.withdraw(name)
		r.notes.drop(name)
		return reconcile.Result{}, nil
	}
	if !obj.GetDeletionTimestamp().IsZero() {
		r.withdraw(name)
		return reconcile.Result{}, nil
	}
	looked := false
	defer func() {
		if !looked { // a panic: it is this object's, and nobody else waits for it
			r.initial.done(name)
		}
	}()
	early, err := r.deliver(ctx, &source{name: name, object: obj.DeepCopyObject().(client.Object), method: r.method, derived: derived})
	looked = true
	return reconcileerror.Handle(ctx, reconcile.Result{RequeueAfter: early}, err)
}

// withdraw takes an entry out of the view.
func (r *reconciler) withdraw(name string) {
	freed, shadows := r.View.Conflicts(name), r.shadows(bootview.Entry{Name: name})
	r.View.Delete(name)
	r.stopAwaiting(name)
	r.awaiting.say(name, false)
	r.initial.done(name)
	r.notes.wake(freed...)
	r.wakeShadows(shadows)
}

// shadows are the boot configs written by hand that an entry may hide, with what hides them now.
func (r *reconciler) shadows(entry bootview.Entry) map[string][]string {
	var found map[string][]string
	for _, name := range r.View.Beside(entry) {
		if found == nil {
			found = map[string][]string{}
		}
		found[name] = r.View.Hidden(name)
	}
	return found
}

// wakeShadows wakes those that something else hides now.
func (r *reconciler) wakeShadows(before map[string][]string) {
	for name, by := range before {
		if !slices.Equal(by, r.View.Hidden(name)) {
			r.notes.wake(name)
		}
	}
}

// deliver puts an entry into the view and says in status how it is, unless it is too early for that; then it says for how
// long.
func (r *reconciler) deliver(ctx context.Context, in *source) (early time.Duration, err error) {
	name, obj := in.name, in.object
	if err := r.gather(ctx, in); err != nil {
		return 0, err
	}
	if in.left() {
		r.withdraw(name)
		return 0, nil
	}
	if in.unreadable != nil && !r.initial.tried(name, in.unreadable) {
		return 0, in.unreadable
	}
	if in.config == nil {
		r.notes.written(name, obj.GetGeneration())
	}
	entry, problem := r.render(in)
	if in.unheard, err = r.heard(ctx, obj); err != nil {
		r.initial.done(name) // it does not count before its namespace is known
		return 0, err
	}
	if in.unheard == nil {
		r.put(entry)
	} else {
		r.withdraw(name)
		problem = in.unheard.message
	}
	if err := r.acknowledge(ctx, in); err != nil {
		return 0, err
	}
	if err := r.keepBound(ctx, in); err != nil {
		return 0, err
	}
	if conflicts := r.View.Conflicts(name); problem == "" && len(conflicts) > 0 {
		problem = "another boot config names the same machine: " + strings.Join(conflicts, ", ")
	}
	if problem == "" {
		in.hidden = r.View.Hidden(name)
	}
	if in.ends() {
		return 0, in.unreadable
	}
	early, err = r.say(ctx, in, problem)
	return early, errors.Join(err, in.unreadable)
}

// say writes status, unless all there is to say are deliveries that others are likely to follow; then it says for how long.
func (r *reconciler) say(ctx context.Context, in *source, problem string) (early time.Duration, err error) {
	name, obj := in.name, in.object
	if in.derived {
		return r.report(in, problem), nil
	}
	before := obj.DeepCopyObject().(client.Object)
	in.endings = r.notes.endings(name)
	status := r.describe(in, problem)
	later := r.describeReach(in, status.Conditions)
	news := r.fetched(in, *status.Conditions)
	if reflect.DeepEqual(before, obj) {
		r.notes.told(name, in.endings)
		early := r.gathers(in, news)
		if len(news) == 0 || early > 0 {
			return sooner(early, later), nil
		}
	}
	for _, n := range news {
		apimeta.SetStatusCondition(status.Conditions, n.condition)
		*status.DeliveryAttempt = in.open()
	}
	err = r.Status().Patch(ctx, obj, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}), client.FieldOwner(metalv1.FieldManager))
	if err == nil {
		r.notes.told(name, in.endings)
		r.tell(in, before, obj)
	}
	return later, client.IgnoreNotFound(err)
}

// sooner is the shorter of two times, of which zero is none.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}

// acknowledge tells the server that the view knows its attempt: when all that the boot configuration delivers is there,
// for the machine chooses whether it boots by iPXE or by UEFI HTTP. Each object is put before it looks for the other, so
// the last of them sees both.
func (r *reconciler) acknowledge(ctx context.Context, in *source) error {
	if !in.attempt.Open() || !r.View.Serves(in.name, in.attempt.ID) {
		r.stopAwaiting(in.name)
		return nil
	}
	entries := []string{in.name}
	for _, other := range bootmethod.Methods {
		if other.Kind == r.method.Kind {
			continue
		}
		obj, _, err := r.find(ctx, other, client.ObjectKeyFromObject(in.object))
		switch {
		case client.IgnoreNotFound(err) != nil:
			return err
		case err == nil && obj.GetDeletionTimestamp().IsZero() && metav1.IsControlledBy(obj, in.config):
			name := entryName(other.Kind, obj.GetNamespace(), obj.GetName())
			if !r.View.Serves(name, in.attempt.ID) {
				return nil
			}
			entries = append(entries, name)
		}
	}
	if !r.attempts.has(in.attempt.ID) && r.reached(entries, in.attempt.ID, in.server.Name) {
		r.Acknowledge(in.attempt.ID, in.server.Name)
	}
	return nil
}

// put makes the entry count, and wakes those that are in conflict because of it, or are not any longer: each
// says so in its own status.
func (r *reconciler) put(entry bootview.Entry) {
	before, shadows := r.contested(entry), r.shadows(entry)
	r.View.Put(entry)
	r.initial.done(entry.Name)
	after := r.contested(entry)
	for _, name := range append(before, after...) {
		if name != entry.Name && slices.Contains(before, name) != slices.Contains(after, name) {
			r.notes.wake(name)
		}
	}
	r.wakeShadows(shadows)
}

// contested names the entries that contradict this one, or each other about its machine.
func (r *reconciler) contested(entry bootview.Entry) []string {
	names := r.View.Conflicts(entry.Name)
	if m, status := r.View.ByUUID(entry.UUID); status == bootview.Conflict {
		names = append(names, m.Conflict()...)
	}
	return names
}

// Acknowledged reports whether the boot view knows of an attempt, so that a machine which boots now is
// given what belongs to it.
func (d *Delivery) Acknowledged(attemptID string) bool { return d.attempts.has(attemptID) }
