package dashboard

import (
	"context"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/overview"
)

// fleet is how everything stands, made once for all who look and may see all of it: at ten thousand servers it costs more than a page. It is of
// the last change, or younger than notBefore.
type fleet struct {
	mu      sync.Mutex
	at      time.Time
	change  uint64
	objects *overview.Objects
	fleet   *overview.Fleet
}

// fleetResources are what a fleet is made of.
var fleetResources = []string{"servers", "serverclaims", "serverbootconfigurations", "bmcs", "endpoints"}

// fleetFor has somebody see the fleet that all share, if they may list all that it is made of.
func (d *Dashboard) fleetFor(s *session) func(context.Context) (*overview.Objects, *overview.Fleet, error) {
	return func(ctx context.Context) (*overview.Objects, *overview.Fleet, error) {
		for _, resource := range fleetResources {
			allowed, err := d.may(ctx, s, action{verb: "list", group: metalv1.GroupVersion.Group, resource: resource})
			if err != nil || !allowed {
				return nil, nil, err
			}
		}
		return d.fleet.now(ctx, d)
	}
}

// now is the fleet as it stands. Whoever asks meanwhile waits for the same.
func (f *fleet) now(ctx context.Context, d *Dashboard) (*overview.Objects, *overview.Fleet, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now, change := d.Clock.Now(), d.hub.count.Load()
	age := now.Sub(f.at)
	if f.objects != nil && age >= 0 && (age < d.notBefore || age < d.anyway && change == f.change) {
		return f.objects, f.fleet, nil
	}
	objects, _, err := overview.Gather(ctx, uncopied{d.API})
	if err != nil {
		return nil, nil, err
	}
	f.at, f.change, f.objects, f.fleet = now, change, objects, overview.Of(objects, overview.Filter{}, now)
	return f.objects, f.fleet, nil
}

// uncopied lists what the cache holds without copying it.
type uncopied struct{ client.Reader }

// List implements client.Reader.
func (u uncopied) List(ctx context.Context, into client.ObjectList, opts ...client.ListOption) error {
	return u.Reader.List(ctx, into, append(opts, client.UnsafeDisableDeepCopy)...)
}
