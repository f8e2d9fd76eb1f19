package bootdelivery

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	ipxev1 "github.com/farrier-dev/farrier/api/ipxe/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootview/bootmethod"
	"github.com/farrier-dev/farrier/internal/controller/grant"
	"github.com/farrier-dev/farrier/internal/controller/index"
	"github.com/farrier-dev/farrier/internal/identity"
	"github.com/farrier-dev/farrier/internal/ipxeapi/assignment"
)

// What people write for a machine counts where its namespace may speak for that machine. Of two namespaces that may, one does: the
// operator's, then the one with the narrower grant, then the older. Within one namespace two are a conflict, as between two of the
// operator's: nobody is robbed there.

// unheard is why a boot config written by hand does not count.
type unheard struct{ reason, message string }

// heard reports why a boot config does not count, nil if it does. What a boot configuration made counts everywhere: its machine is
// that of the Server which refers to the boot configuration.
func (d *Delivery) heard(ctx context.Context, obj client.Object) (*unheard, error) {
	if configOf(obj) != nil || d.Grants == nil {
		return nil, nil
	}
	place, missing, err := d.place(ctx, obj)
	if err != nil {
		return nil, err
	}
	if missing != "" {
		return &unheard{ipxev1.ReasonNotGranted, fmt.Sprintf(
			"%s; boot configs in namespace %s are ignored for it: the namespace is neither in --boot-namespaces nor granted this machine (annotation %s of the Namespace)",
			missing, obj.GetNamespace(), ipxev1.AnnotationBootIdentities)}, nil
	}
	for _, machine := range index.Machines(obj) {
		winner, err := d.rival(ctx, obj, place, machine)
		if err != nil {
			return nil, err
		}
		if winner != "" {
			return &unheard{ipxev1.ReasonOverridden, fmt.Sprintf("%s: %s takes precedence, by its namespace", machine, winner)}, nil
		}
	}
	return nil, nil
}

// place is where a boot config stands among those of other namespaces; missing is not empty where it does not count.
func (d *Delivery) place(ctx context.Context, obj client.Object) (place *assignment.Tenancy, missing string, err error) {
	has, err := d.Grants(ctx, obj.GetNamespace())
	if err != nil {
		return nil, "", err
	}
	place, missing, ok := has.Machine(identitiesOf(obj))
	if !ok && missing == "" {
		missing = "no machine is granted"
	}
	return place, missing, nil
}

// identitiesOf are what a boot config knows its machine by, with the keys of grants.
func identitiesOf(obj client.Object) [][2]string {
	var found [][2]string
	for _, machine := range index.Machines(obj) {
		key := assignment.KeyMAC
		if _, err := identity.UUID(machine); err == nil {
			key = assignment.KeyUUID
		} else if _, err := identity.IP(machine); err == nil {
			key = assignment.KeyIP
		}
		found = append(found, [2]string{key, machine})
	}
	return found
}

// rival names a boot config of another namespace that comes first for a machine.
func (d *Delivery) rival(ctx context.Context, obj client.Object, place *assignment.Tenancy, machine string) (string, error) {
	for _, m := range bootmethod.Methods {
		list := m.NewList()
		if err := d.List(ctx, list, client.MatchingFields{index.BootConfigByMachine: machine}); err != nil {
			return "", err
		}
		for _, other := range items(list) {
			if other.GetNamespace() == obj.GetNamespace() || configOf(other) != nil || !other.GetDeletionTimestamp().IsZero() {
				continue
			}
			theirs, missing, err := d.place(ctx, other)
			if err != nil {
				continue // it does not count before its namespace is known
			}
			if missing == "" && assignment.Precedes(other.GetNamespace(), theirs, obj.GetNamespace(), place) {
				return entryName(m.Kind, other.GetNamespace(), other.GetName()), nil
			}
		}
	}
	return "", nil
}

// watchRivals wakes boot configs of a kind when those of other namespaces that name the same machine change, and when what a
// namespace may say does.
func (d *Delivery) watchRivals(b *builder.Builder, m bootmethod.Method) *builder.Builder {
	rivals := handler.EnqueueRequestsFromMapFunc(d.rivalsOf(m))
	changed := builder.WithPredicates(predicate.GenerationChangedPredicate{})
	for _, any := range bootmethod.Methods {
		b = b.Watches(any.New(), rivals, changed)
	}
	return b.WatchesMetadata(&corev1.Namespace{}, handler.EnqueueRequestsFromMapFunc(d.ofNamespace(m)), builder.WithPredicates(grant.News()))
}

// rivalsOf finds the boot configs of a kind that people wrote in other namespaces for the machine of this one.
func (d *Delivery) rivalsOf(m bootmethod.Method) handler.MapFunc {
	return func(ctx context.Context, obj client.Object) []reconcile.Request {
		if configOf(obj) != nil {
			return nil
		}
		var requests []reconcile.Request
		for _, machine := range index.Machines(obj) {
			elsewhere := func(other client.Object) bool {
				return other.GetNamespace() != obj.GetNamespace() && configOf(other) == nil
			}
			requests = append(requests, index.RequestsIf(ctx, d, m.NewList(), elsewhere, client.MatchingFields{index.BootConfigByMachine: machine})...)
		}
		return requests
	}
}

// ofNamespace finds the boot configs of a kind that people wrote in a Namespace, and those of others that they are rivals of.
func (d *Delivery) ofNamespace(m bootmethod.Method) handler.MapFunc {
	return func(ctx context.Context, obj client.Object) []reconcile.Request {
		var requests []reconcile.Request
		for _, any := range bootmethod.Methods {
			byHand := func(own client.Object) bool {
				if configOf(own) != nil {
					return false
				}
				requests = append(requests, d.rivalsOf(m)(ctx, own)...)
				return true
			}
			own := index.RequestsIf(ctx, d, any.NewList(), byHand, client.InNamespace(obj.GetName()))
			requests = append(requests, own...)
		}
		return requests
	}
}
