package adoption

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc/macprefix"
	eventsender "github.com/farrier-dev/farrier/internal/controller/events"
	"github.com/farrier-dev/farrier/internal/controller/index"
	"github.com/farrier-dev/farrier/internal/controller/objectqueue"
	"github.com/farrier-dev/farrier/internal/controller/reconcileerror"
	"github.com/farrier-dev/farrier/internal/controller/trigger"
	"github.com/farrier-dev/farrier/internal/dhcp"
	"github.com/farrier-dev/farrier/internal/inbound/ratelimit"
	"github.com/farrier-dev/farrier/internal/ipxeapi/assignment"
)

const (
	// writesASecond and writesAtOnce bound what clients can have written: a row of racks at once, a hall within two hours.
	writesASecond, writesAtOnce = 2, 120
	// maxWaiting is how many clients wait for their turn. One that does not fit in comes again when it renews its lease.
	maxWaiting = maxAdopted
	// linesAMinute is how many lines the log gets about clients for which there is no room.
	linesAMinute = 1
)

// Config is what a Reconciler is made of.
type Config struct {
	Client   client.Client
	Prefixes *macprefix.Database
	// Adopts reports whether clients with an address may be adopted.
	Adopts   func(netip.Addr) bool
	Recorder events.EventRecorder
	Clock    clock.PassiveClock
	Logger   logr.Logger
}

// Reconciler makes Endpoints of clients of DHCP. It reconciles names of Endpoints, of which there may be none yet.
type Reconciler struct {
	Config
	wake   trigger.Source
	writes *ratelimit.Limiter
	full   *ratelimit.Lines

	mu      sync.Mutex
	waiting map[string]dhcp.Sighting
}

// New makes one.
func New(cfg Config) *Reconciler {
	return &Reconciler{
		Config: cfg, writes: ratelimit.New(writesASecond, writesAtOnce, cfg.Clock), full: ratelimit.NewLines(linesAMinute, time.Minute, cfg.Logger, cfg.Clock),
		waiting: map[string]dhcp.Sighting{},
	}
}

// Seen takes note of a client. It waits for nothing. What is no BMC by its MAC address, or boots from the network, goes no further.
func (r *Reconciler) Seen(s dhcp.Sighting) {
	if entry, known := r.Prefixes.Lookup(s.Client.MAC); !known || !entry.IsBMC() || !r.Adopts(s.Addr) {
		return
	}
	if s.Machine {
		r.Logger.V(1).Info("DHCP client not adopted", "mac", s.Client.MAC, "address", s.Addr.String(), "reason", reasonMachine)
		return
	}
	if name := nameOf(s.Client.MAC); r.put(name, s) {
		r.wake.Wake("", name)
	}
}

// put keeps the last sighting of a client, and reports whether there was room.
func (r *Reconciler) put(name string, s dhcp.Sighting) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, has := r.waiting[name]; !has && len(r.waiting) >= maxWaiting {
		return false
	}
	r.waiting[name] = s
	return true
}

// putBack keeps a sighting that nothing could be done about yet, unless there is a newer one.
func (r *Reconciler) putBack(name string, s dhcp.Sighting) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, newer := r.waiting[name]; !newer {
		r.waiting[name] = s
	}
}

func (r *Reconciler) take(name string) (dhcp.Sighting, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s, has := r.waiting[name]
	delete(r.waiting, name)
	return s, has
}

// Reconcile adopts a client, once it may be written.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	s, has := r.take(req.Name)
	if !has {
		return reconcile.Result{}, nil
	}
	wait, err := r.adopt(ctx, s)
	if err != nil || wait > 0 {
		r.putBack(req.Name, s)
	}
	return reconcileerror.Handle(ctx, reconcile.Result{RequeueAfter: wait}, err)
}

// adopt does what is decided about a client, or returns how long it has to wait for that.
func (r *Reconciler) adopt(ctx context.Context, s dhcp.Sighting) (wait time.Duration, _ error) {
	f, err := r.look(ctx, s)
	if err != nil {
		return 0, err
	}
	p := decide(f)
	if p.action == nothing {
		r.say(ctx, s, p)
		return 0, nil
	}
	if wait := r.turn(); wait > 0 {
		return wait, nil
	}
	if p.action == create {
		return 0, r.create(ctx, s)
	}
	return 0, r.move(ctx, s, p.endpoint)
}

// all stands for all clients: writes are limited for them together.
var all = netip.IPv6Unspecified()

// turn counts a write, or returns when there is room for one.
func (r *Reconciler) turn() time.Duration {
	if r.writes.Allow(all) {
		return 0
	}
	return time.Second / writesASecond
}

// look reads what there is of a client, from caches alone. What costs more than a lookup is read only where it may decide.
func (r *Reconciler) look(ctx context.Context, s dhcp.Sighting) (f facts, _ error) {
	f.seen = s
	var same metalv1.EndpointList
	if err := r.Client.List(ctx, &same, client.MatchingFields{index.EndpointByMAC: s.Client.MAC}); err != nil {
		return f, fmt.Errorf("list the Endpoints of %s: %w", s.Client.MAC, err)
	}
	if f.same = same.Items; len(f.same) > 0 {
		return f, nil
	}
	var servers metalv1.ServerList
	card := index.Identity(assignment.KeyMAC, s.Client.MAC)
	if err := r.Client.List(ctx, &servers, client.MatchingFields{index.ServerByIdentity: card}, client.Limit(1), client.UnsafeDisableDeepCopy); err != nil {
		return f, fmt.Errorf("list the Servers with %s: %w", s.Client.MAC, err)
	}
	f.machine = len(servers.Items) > 0
	err := r.Client.Get(ctx, client.ObjectKey{Name: nameOf(s.Client.MAC)}, &metalv1.Endpoint{})
	if f.named = err == nil; client.IgnoreNotFound(err) != nil {
		return f, err
	}
	var adopted metalv1.EndpointList
	if err := r.Client.List(ctx, &adopted, client.MatchingLabels{metalv1.LabelAdopted: metalv1.LabelAdoptedDHCP}, client.UnsafeDisableDeepCopy); err != nil {
		return f, fmt.Errorf("list adopted Endpoints: %w", err)
	}
	f.adopted = len(adopted.Items)
	f.bmc, err = r.hasBMC(ctx, s)
	return f, err
}

// hasBMC reports whether somebody has written a client down as a BMC without an Endpoint.
func (r *Reconciler) hasBMC(ctx context.Context, s dhcp.Sighting) (bool, error) {
	var bmcs metalv1.BMCList
	if err := r.Client.List(ctx, &bmcs, client.UnsafeDisableDeepCopy); err != nil {
		return false, fmt.Errorf("list BMCs: %w", err)
	}
	for i := range bmcs.Items {
		if b := &bmcs.Items[i]; index.MAC(b.Status.MACAddress) == s.Client.MAC ||
			b.Spec.Access != nil && (isAddress(b.Spec.Access.IP, s.Addr) || index.MAC(b.Spec.Access.MACAddress) == s.Client.MAC) {
			return true, nil
		}
	}
	var servers metalv1.ServerList
	if err := r.Client.List(ctx, &servers, client.UnsafeDisableDeepCopy); err != nil {
		return false, fmt.Errorf("list Servers: %w", err)
	}
	for i := range servers.Items {
		if inline := servers.Items[i].Spec.BMC; inline != nil && isAddress(inline.Address, s.Addr) {
			return true, nil
		}
	}
	return false, nil
}

func isAddress(text string, a netip.Addr) bool {
	is, err := netip.ParseAddr(text)
	return err == nil && is.Unmap() == a
}

func (r *Reconciler) create(ctx context.Context, s dhcp.Sighting) error {
	endpoint := &metalv1.Endpoint{ObjectMeta: metav1.ObjectMeta{
		Name: nameOf(s.Client.MAC), Labels: map[string]string{metalv1.LabelAdopted: metalv1.LabelAdoptedDHCP},
	}}
	endpoint.Spec.MACAddress, endpoint.Spec.IP = s.Client.MAC, s.Addr.String()
	if err := r.Client.Create(ctx, endpoint, client.FieldOwner(metalv1.FieldManager)); err != nil {
		return fmt.Errorf("create Endpoint %q: %w", endpoint.Name, err)
	}
	adoptions.WithLabelValues(reasonAdopted).Inc()
	r.logger(ctx, s).Info("DHCP client adopted as an Endpoint", "endpoint", endpoint.Name)
	r.tell(endpoint, reasonAdopted, "DHCP leased "+s.Addr.String()+" to "+r.describe(s.Client))
	return nil
}

func (r *Reconciler) move(ctx context.Context, s dhcp.Sighting, endpoint *metalv1.Endpoint) error {
	before := endpoint.DeepCopy()
	endpoint.Spec.IP = s.Addr.String()
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.Client.Patch(ctx, endpoint, patch, client.FieldOwner(metalv1.FieldManager)); err != nil {
		return fmt.Errorf("move Endpoint %q: %w", endpoint.Name, err)
	}
	adoptions.WithLabelValues(reasonMoved).Inc()
	r.logger(ctx, s).Info("adopted Endpoint moved to another address", "endpoint", endpoint.Name)
	r.tell(endpoint, reasonMoved, fmt.Sprintf("DHCP leased %s to the BMC, which no longer has %s", s.Addr, before.Spec.IP))
	return nil
}

// say notes why nothing is done. Only that there is no room is worth more than a debug line: somebody has to act.
func (r *Reconciler) say(ctx context.Context, s dhcp.Sighting, p plan) {
	if p.reason != reasonFull {
		r.logger(ctx, s).V(1).Info("DHCP client not adopted", "reason", p.reason)
		return
	}
	adoptions.WithLabelValues(reasonFull).Inc()
	r.full.Logger().Info("DHCP client not adopted, because there are as many adopted Endpoints as addresses; delete those of no device", "mac", s.Client.MAC, "address", s.Addr.String(), "reason", p.reason)
}

// describe is what is known of a client, for people.
func (r *Reconciler) describe(c dhcp.Client) string {
	entry, _ := r.Prefixes.Lookup(c.MAC)
	text := "a device by a MAC prefix of " + cmp.Or(entry.Manufacturer, "the MAC prefix database")
	if c.Host != "" {
		text += fmt.Sprintf(", host name %q", c.Host)
	}
	if c.Vendor != "" {
		text += fmt.Sprintf(", vendor class %q", c.Vendor)
	}
	return text
}

func (r *Reconciler) logger(ctx context.Context, s dhcp.Sighting) logr.Logger {
	return log.FromContext(ctx).WithValues("mac", s.Client.MAC, "address", s.Addr.String())
}

func (r *Reconciler) tell(endpoint *metalv1.Endpoint, reason, note string) {
	eventsender.Send(r.Recorder, endpoint, nil, corev1.EventTypeNormal, reason, note)
}

// SetupWithManager registers the controller.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).Named("adoption").WatchesRawSource(&r.wake).WithOptions(objectqueue.Options(1)).Complete(r)
}
