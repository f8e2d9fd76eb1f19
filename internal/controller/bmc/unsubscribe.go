package bmc

import (
	"context"
	"time"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/connection"
	"github.com/farrier-dev/farrier/internal/controller/reconcileerror"
	"github.com/farrier-dev/farrier/internal/fleet"
)

// Unsubscriber removes what Farrier has left at a BMC, such as subscriptions to its events.
type Unsubscriber interface {
	// Unsubscribe reports whether that is over; if not, the controller calls it again when the BMC's observation has changed. It
	// must come to an end even if the BMC does not answer.
	Unsubscribe(obj *metalv1.BMC, key fleet.Key) (over bool, err error)
}

// unsubscribeCheck is how often Unsubscribe is called while the observation does not change.
const unsubscribeCheck = 15 * time.Second

// unsubscribe removes what Farrier has left at a BMC that is being deleted. It does not wait for a BMC whose address or
// credentials are gone already.
func (r *Reconciler) unsubscribe(ctx context.Context, obj *metalv1.BMC) (over bool, err error) {
	if r.Unsubscriber == nil {
		return true, nil
	}
	key, bound := r.Registry.Key(&r.Wake, obj.Name)
	if !bound { // it was deleted while nobody looked after it
		target, err := connection.Resolve(ctx, r, connection.Secrets{Reader: r.APIReader, Namespace: r.Namespace}, obj)
		if err != nil {
			return !reconcileerror.IsTransient(err), reconcileerror.Transient(err)
		}
		if untried, err := r.untaken(ctx, obj, target.Secret); untried || err != nil {
			return err == nil, err // nobody has logged in, and a login only to unsubscribe may lock an account
		}
		r.connect(obj, target.Spec)
		key = fleet.Key(target.Endpoint.Key())
	}
	return r.Unsubscriber.Unsubscribe(obj, key)
}
