package bootdelivery

import (
	"context"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootview/bootmethod"
	"github.com/farrier-dev/farrier/internal/controller/index"
	"github.com/farrier-dev/farrier/internal/identity"
)

// Where no attempt of ours stands behind a boot config, nobody says that a boot is ordered, and two things show it. A
// machine that has been off and fetches something boots anew: so what was fetched is taken back when its Server is seen
// off. It is the way to off that counts, for whoever keeps the Server's status may be slow to say that it is on. And
// whoever writes a boot config by hand orders a boot by changing it.

// queue is what a controller is woken through.
type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// whenOff ends the boot of those boot configs of a kind that a Server which goes off has booted by.
func (d *Delivery) whenOff(m bootmethod.Method) handler.EventHandler {
	end := func(ctx context.Context, obj client.Object, q queue) {
		for _, req := range d.unattempted(ctx, m, obj) {
			d.notes.end(entryName(m.Kind, req.Namespace, req.Name))
			q.Add(req)
		}
	}
	return handler.Funcs{
		// At a start the way is not seen, but its end is.
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) {
			if isOff(e.Object) {
				end(ctx, e.Object, q)
			}
		},
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) {
			if isOff(e.ObjectNew) && !isOff(e.ObjectOld) {
				end(ctx, e.ObjectNew, q)
			}
		},
	}
}

func isOff(obj client.Object) bool {
	server, ok := obj.(*metalv1.Server)
	return ok && server.Status.PowerState == metalv1.PowerStateOff
}

// unattempted finds the boot configs of a Server's machine that no attempt of ours stands behind: those that name its
// UUID and were written by hand, and where somebody else orders boots those that it refers to.
func (d *Delivery) unattempted(ctx context.Context, m bootmethod.Method, obj client.Object) []reconcile.Request {
	server, ok := obj.(*metalv1.Server)
	if !ok {
		return nil
	}
	var requests []reconcile.Request
	if d.ForeignLifecycle {
		requests = bootOf(ctx, server)
	}
	uuid := identity.MachineUUID(server.Spec.SystemUUID)
	if uuid == "" {
		return requests
	}
	byHand := func(obj client.Object) bool { return configOf(obj) == nil }
	return append(requests, index.RequestsIf(ctx, d, m.NewList(), byHand, client.MatchingFields{index.BootConfigByMachine: uuid})...)
}

// end forgets what was fetched in a boot that is over, and remembers that conditions speak of it.
func (n *notes) end(entry string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.byEntry, entry)
	n.ended[entry]++
}

// endings counts the boots that are over and that status still tells of.
func (n *notes) endings(entry string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.ended[entry]
}

// told says that status tells of as many boots no longer.
func (n *notes) told(entry string, endings int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if endings > 0 && n.ended[entry] == endings {
		delete(n.ended, entry)
	}
}

// written forgets what was fetched of a boot config that somebody wrote anew since.
func (n *notes) written(entry string, generation int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if old, known := n.generations[entry]; known && old != generation {
		delete(n.byEntry, entry)
	}
	n.generations[entry] = generation
}
