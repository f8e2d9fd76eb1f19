package server

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/connection"
	"github.com/farrier-dev/farrier/internal/controller/index"
	"github.com/farrier-dev/farrier/internal/fleet"
)

// reasonTwin is a reason of the condition Discovered: another Server stands for the same machine.
const reasonTwin = "SystemTaken"

// gatherTwin finds out of a server that is about to be discovered whether another one stands for the same machine and comes before it.
// Discovery switches a machine off, by force if need be, and that one may run for a claim: where a BMC is deleted, which leaves claimed
// Servers alone, and is made anew under another name, each of its systems is a Server a second time. Admission refuses that by the
// UUID, where there is one and where its webhook is installed.
func (r *Reconciler) gatherTwin(ctx context.Context, v *View, key fleet.Key) error {
	if v.System == nil || v.Inspected != "" || v.Server.Spec.ServerClaimRef != nil || v.claimedBy() != "" || v.BootInternal {
		return nil
	}
	var others metalv1.ServerList
	if uuid := v.System.UUID; uuid != "" {
		if err := r.List(ctx, &others, client.MatchingFields{index.ServerByUUID: index.UUID(uuid)}); err != nil {
			return fmt.Errorf("servers with system UUID %s: %w", uuid, err)
		}
	}
	for _, name := range r.Registry.Bound(&r.Wake, key) { // what has no UUID is known by its BMC and URI
		var other metalv1.Server
		if err := r.Get(ctx, client.ObjectKey{Name: name}, &other); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("Server %q: %w", name, err)
		} else if err == nil && connection.IsSystem(&other, v.System.System) {
			others.Items = append(others.Items, other)
		}
	}
	for i := range others.Items {
		if other := &others.Items[i]; other.Name != v.Server.Name && precedes(other, v.Server) {
			v.Twin = other.Name
		}
	}
	return nil
}

// precedes says whether a server is the one of two that goes on: one that somebody has, or had and that is not clean, then the older one.
func precedes(s, newcomer *metalv1.Server) bool {
	switch {
	case s.Spec.ServerClaimRef != nil || s.Annotations[metalv1.AnnotationClaimedBy] != "":
		return true
	case !s.CreationTimestamp.Equal(&newcomer.CreationTimestamp):
		return s.CreationTimestamp.Before(&newcomer.CreationTimestamp)
	}
	return s.Name < newcomer.Name
}

// waitsForTwin says so, and looks again now and then.
func (v *View) waitsForTwin(p *Plan) {
	p.condition(metalv1.ConditionDiscovered, metav1.ConditionFalse, reasonTwin,
		"Server %q stands for the same machine; this one is not looked at, which would switch the machine off. Delete one of the two", v.Twin)
	p.after(v.Now, v.Now.Add(takenRepeat))
}
