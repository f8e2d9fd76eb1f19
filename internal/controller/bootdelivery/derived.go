package bootdelivery

import (
	"context"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootview/bootmethod"
)

// Boot configs of internal boots are derived (package derivedboot) and rendered like those that are stored. What is said of them is made anew each
// time, of what the status of their boot configuration says and of what this process has noted since: so nothing is lost with the memory.

// sharedConditions are those that boot configs of all methods have, but for Ready, and their boot configuration has too.
var sharedConditions = []string{bootv1.ConditionIgnitionReadAgain, bootv1.ConditionIgnitionContent, bootv1.ConditionBootServerReached}

// find is a boot config: what was derived, else what is stored.
func (d *Delivery) find(ctx context.Context, m bootmethod.Method, key client.ObjectKey) (obj bootmethod.Object, derived bool, err error) {
	if obj, made := d.Derived.Get(m.Kind, key); made {
		return obj, true, nil
	}
	obj = m.New()
	return obj, false, d.Get(ctx, key, obj)
}

// derives reports, of a boot config that was not found for err, whether it is still to be derived: then a machine must not hear that it is unknown.
func (d *Delivery) derives(ctx context.Context, key client.ObjectKey, err error) (bool, error) {
	if !apierrors.IsNotFound(err) || d.Derived == nil {
		return false, client.IgnoreNotFound(err)
	}
	var config metalv1.ServerBootConfiguration
	if err := d.Get(ctx, key, &config); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	return config.DeletionTimestamp.IsZero() && d.Derived.Covers(&config) && !d.Derived.Looked(&config), nil
}

// derivedNames are the entries of internal boots, whatever their boot method.
func (d *Delivery) derivedNames(ctx context.Context, cached client.Reader) ([]string, error) {
	if d.Derived == nil {
		return nil, nil
	}
	var configs metalv1.ServerBootConfigurationList
	if err := cached.List(ctx, &configs, client.InNamespace(d.Derived.Namespace)); err != nil {
		return nil, err
	}
	var names []string
	for i := range configs.Items {
		if config := &configs.Items[i]; d.Derived.Covers(config) && config.DeletionTimestamp.IsZero() {
			for _, m := range bootmethod.Methods {
				names = append(names, entryName(m.Kind, config.Namespace, config.Name))
			}
		}
	}
	return names, nil
}

// report keeps what is to be said of a derived boot config, unless all there is to say are deliveries that others are likely to follow; then it says
// for how long.
func (r *reconciler) report(in *source, problem string) (early time.Duration) {
	before := in.object.DeepCopyObject()
	in.recall(r.Derived.Status(in.config))
	status := r.describe(in, problem)
	later := r.describeReach(in, status.Conditions)
	news := r.fetched(in, *status.Conditions)
	inOrder(*status.Conditions)
	if equality.Semantic.DeepEqual(before, in.object) {
		if early := r.gathers(in, news); len(news) == 0 || early > 0 {
			return sooner(early, later)
		}
	}
	for _, n := range news {
		apimeta.SetStatusCondition(status.Conditions, n.condition)
		*status.DeliveryAttempt = in.open()
	}
	inOrder(*status.Conditions)
	obj, ok := in.object.(bootmethod.Object)
	if first := ok && r.Derived.Report(r.method, obj); first && in.server != nil {
		r.WakeServer(in.server.Name) // its boot may wait for this alone
	}
	return later
}

// recall gives a derived boot config the status that its boot configuration has, said or not yet. Its own condition Ready is not in there.
func (in *source) recall(from metalv1.ServerBootConfigurationStatus) {
	status := bootmethod.ConfigOf(in.object)
	var conditions []metav1.Condition
	if ready := apimeta.FindStatusCondition(*status.Conditions, conditionReady); ready != nil {
		conditions = append(conditions, *ready)
	}
	for _, kind := range sharedConditions {
		if c := apimeta.FindStatusCondition(from.Conditions, kind); c != nil {
			conditions = append(conditions, *c)
		}
	}
	for _, types := range in.method.Conditions {
		c := apimeta.FindStatusCondition(from.Conditions, types[0])
		for _, kind := range types {
			if c != nil {
				its := *c
				its.Type = kind
				conditions = append(conditions, its)
			}
		}
	}
	*status.Conditions, *status.DeliveryAttempt = conditions, from.DeliveryAttempt
}

// inOrder makes two lists of conditions the same that say the same.
func inOrder(conditions []metav1.Condition) {
	slices.SortFunc(conditions, func(a, b metav1.Condition) int { return strings.Compare(a.Type, b.Type) })
}
