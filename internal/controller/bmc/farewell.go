package bmc

import (
	"context"
	"time"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/connection"
	"github.com/farrier-dev/farrier/internal/controller/reconcileerror"
	"github.com/farrier-dev/farrier/internal/fleet"
)

// Farewell takes away what Farrier has left at a BMC, such as subscriptions to its events.
type Farewell interface {
	// Leave says whether that is over; if not, it is asked again when the BMC's observation has changed. It
	// must come to an end though the BMC does not answer.
	Leave(obj *metalv1.BMC, key fleet.Key) (over bool, err error)
}

// farewellCheck is how often Leave is asked when the observation does not change.
const farewellCheck = 15 * time.Second

// farewell lets a BMC that is being deleted be left. One whose address or credentials are gone
// already is not waited for.
func (r *Reconciler) farewell(ctx context.Context, obj *metalv1.BMC) (over bool, err error) {
	if r.Farewell == nil {
		return true, nil
	}
	key, bound := r.Registry.Key(&r.Wake, obj.Name)
	if !bound { // it was deleted while nobody looked after it
		target, err := connection.Resolve(ctx, r, connection.Secrets{Reader: r.APIReader, Namespace: r.Namespace}, obj)
		if err != nil {
			return !reconcileerror.IsTransient(err), reconcileerror.Transient(err)
		}
		if untried, err := r.untaken(ctx, obj, target.Secret); untried || err != nil {
			return err == nil, err // nobody has logged in, and trying only to say goodbye may lock an account
		}
		r.observe(obj, target.Spec)
		key = fleet.Key(target.Endpoint.Key())
	}
	return r.Farewell.Leave(obj, key)
}
