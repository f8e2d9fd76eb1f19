package rolloutpolicy

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	farrierv1 "github.com/farrier-dev/farrier/api/farrier/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/childset"
	"github.com/farrier-dev/farrier/internal/controller/probeboot"
	"github.com/farrier-dev/farrier/internal/controller/rolloutpermit"
	"github.com/farrier-dev/farrier/internal/place"
	"github.com/farrier-dev/farrier/internal/rollout"
	"github.com/farrier-dev/farrier/internal/rollout/policyspec"
)

// view is everything that decisions look at. Its objects belong to the caches.
type view struct {
	now      time.Time
	policies map[string]*policy
	// changes are in the order of their precedence: the oldest first.
	changes  []*change
	machines []rollout.Machine
	// servers are how they stand, by their names; behind are the names of those of a BMC; claims are those that servers belong to.
	servers map[string]server
	objects map[string]*metalv1.Server
	behind  map[string][]string
	claims  map[string]client.ObjectKey
	// asking are the boots of the probe that changes wait for, by the names of servers, in the order of changes.
	asking map[string][]string
}

// reading is what a view is read from.
type reading struct {
	client.Reader
	kinds   []*childset.Kind
	permits *permits
	now     time.Time
}

// policy is a RolloutPolicy, and what it says, or why that cannot be followed.
type policy struct {
	object *farrierv1.RolloutPolicy
	says   rollout.Policy
	err    error
}

// server is how one stands: whether it can be used, whether something is wrong with it, and whether a claim has it.
type server struct {
	available, troubled, claimed bool
	// asked is the ID of the boot of the probe that is asked of it, proved that of the newest one whose probe has reported; booting says that one has
	// begun, and its probe has not.
	asked, proved string
	booting       bool
	// health is that of healthOf.
	health string
}

// change is what one Set asks for, or one object that no Set has made.
type change struct {
	childset.Change
	kind     *childset.Kind
	held     rollout.Reason
	accepted int
	// unread says that its policy cannot be read. What has begun by it stays as it is: nobody knows which gates it has to pass, nor how long it may take.
	unread   bool
	children []child
}

// child is one of a change, with its permit as far as that is known. One that is about to be made has no object.
type child struct {
	childset.Child
	permit *rolloutpermit.Permit
}

// id names a child within its change, in the order of targets.
func (c child) id() string { return c.Target }

// gather reads what decisions look at.
func (r *Reconciler) gather(ctx context.Context) (*view, error) {
	return (&reading{Reader: r, kinds: r.Kinds, permits: &r.permits, now: r.Clock.Now()}).gather(ctx)
}

func (r *reading) gather(ctx context.Context) (*view, error) {
	v := &view{
		now: r.now, policies: map[string]*policy{}, servers: map[string]server{}, objects: map[string]*metalv1.Server{}, behind: map[string][]string{},
		claims: map[string]client.ObjectKey{}, asking: map[string][]string{},
	}
	var policies farrierv1.RolloutPolicyList
	if err := r.List(ctx, &policies, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list the RolloutPolicies: %w", err)
	}
	for i := range policies.Items {
		p := &policy{object: &policies.Items[i]}
		p.says, p.err = policyspec.Read(&p.object.Spec)
		v.policies[p.object.Name] = p
	}
	if len(v.policies) == 0 {
		return v, nil
	}
	seen := map[types.UID]bool{}
	for _, kind := range r.kinds {
		if err := r.changesOf(ctx, v, kind, seen); err != nil {
			return nil, err
		}
	}
	r.permits.keep(seen)
	if len(v.changes) == 0 {
		return v, nil
	}
	slices.SortFunc(v.changes, func(a, b *change) int {
		x, y := a.Object.GetCreationTimestamp(), b.Object.GetCreationTimestamp()
		return cmp.Or(x.Compare(y.Time), strings.Compare(a.Kind, b.Kind), strings.Compare(a.Object.GetName(), b.Object.GetName()))
	})
	return v, r.fleet(ctx, v)
}

// changesOf reads the changes of one kind of Sets.
func (r *reading) changesOf(ctx context.Context, v *view, kind *childset.Kind, seen map[types.UID]bool) error {
	_, defaults := v.policies[farrierv1.DefaultRolloutPolicy]
	found, err := kind.Changes(ctx, r, defaults)
	if err != nil {
		return err
	}
	for _, f := range found {
		c := newChange(kind, f)
		for _, ch := range f.Children {
			seen[ch.GetUID()] = true
			c.children = append(c.children, child{ch, r.permits.of(ch)})
		}
		for _, target := range f.Missing {
			c.children = append(c.children, child{childset.Child{Target: target, Outdated: true}, nil})
		}
		followed := v.policies[c.Policy]
		c.unread = followed == nil || followed.err != nil
		v.changes = append(v.changes, c)
	}
	return nil
}

func newChange(kind *childset.Kind, found childset.Change) *change {
	c := &change{Change: found, kind: kind, accepted: rolloutpermit.AcceptedFailures(found.Object)}
	switch found.Object.GetAnnotations()[metalv1.AnnotationRollout] {
	case metalv1.RolloutPaused:
		c.held = rollout.Paused
	case metalv1.RolloutAborted:
		c.held = rollout.Aborted
	case "":
	default: // a word that nobody knows was meant to hold it
		c.held = rollout.Paused
	}
	return c
}

// fleet reads how the servers stand.
func (r *reading) fleet(ctx context.Context, v *view) error {
	var list metalv1.ServerList
	if err := r.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list the Servers: %w", err)
	}
	v.machines = make([]rollout.Machine, 0, len(list.Items))
	for i := range list.Items {
		s := &list.Items[i]
		at, stands := place.Of(s), standOf(s)
		v.servers[s.Name], v.objects[s.Name] = stands, s
		v.machines = append(v.machines, rollout.Machine{Name: s.Name, Zone: at.Zone, Rack: at.Rack, Unavailable: !stands.available})
		if ref := s.Spec.BMCRef; ref != nil {
			v.behind[ref.Name] = append(v.behind[ref.Name], s.Name)
		}
		if ref := s.Spec.ServerClaimRef; ref != nil {
			v.claims[s.Name] = client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}
		}
	}
	return nil
}

// standOf is how a server stands: it is available if a claim has it, or can have it, and nothing is wrong with it.
func standOf(s *metalv1.Server) server {
	troubled := s.Status.State == metalv1.ServerStateError || apimeta.IsStatusConditionFalse(s.Status.Conditions, metalv1.ConditionReady)
	stands := server{troubled: troubled, claimed: s.Spec.ServerClaimRef != nil, asked: probeboot.Asked(s), health: healthOf(s)}
	if boot := probeboot.Of(s); boot.Pending() {
		stands.booting = true
	} else if boot != nil {
		stands.proved = boot.ID
	}
	usable := s.Status.State == metalv1.ServerStateReserved || s.Status.State == metalv1.ServerStateAvailable && !stands.booting
	stands.available = usable && !troubled && s.DeletionTimestamp.IsZero() && s.Spec.ServerMaintenanceRef == nil
	return stands
}

// serversOf are the names of those that are unavailable while something is done to a target.
func (v *view) serversOf(c *change, target string) []string {
	if c.kind.OfBMC() {
		return v.behind[target]
	}
	return []string{target}
}
