package adoption

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
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
	"github.com/farrier-dev/farrier/internal/inbound/ratelimit"
	"github.com/farrier-dev/farrier/internal/ipxeapi/assignment"
	"github.com/farrier-dev/farrier/internal/netboot/dhcp"
)

const (
	// writesASecond and writesAtOnce bound what clients can have written: a row of racks at once, a hall within two hours.
	writesASecond, writesAtOnce = 2, 120
	// linesAMinute is how many lines the log gets about clients for which there is no room.
	linesAMinute = 1
)

// Config is what a Reconciler is made of.
type Config struct {
	Client   client.Client
	Prefixes *macprefix.Database
	// Adopts reports whether a client may be adopted.
	Adopts   func(dhcp.Sighting) bool
	Recorder events.EventRecorder
	Clock    clock.PassiveClock
	Logger   logr.Logger
}

// Reconciler makes Endpoints of clients of DHCP. It reconciles names of Endpoints, of which there may be none yet, in the namespaces of sites: Endpoints have none, and what
// the boot servers of one site say of a client takes nothing from those of another.
type Reconciler struct {
	Config
	wake   trigger.Source
	writes *ratelimit.Limiter
	full   *ratelimit.Lines

	waiting waiting

	// adopted is how many adopted Endpoints each site had at counted, and were made since. The one worker has them.
	adopted map[string]int
	counted time.Time
}

// New makes one.
func New(cfg Config) *Reconciler {
	return &Reconciler{
		Config: cfg, writes: ratelimit.New(writesASecond, writesAtOnce, cfg.Clock), full: ratelimit.NewLines(linesAMinute, time.Minute, cfg.Logger, cfg.Clock),
		waiting: waiting{by: map[reconcile.Request]candidate{}, sites: map[string]int{}}, adopted: map[string]int{},
	}
}

// Seen takes note of a client. It waits for nothing. What is no BMC by its MAC address, or boots from the network, goes no further.
func (r *Reconciler) Seen(s dhcp.Sighting) {
	if entry, known := r.Prefixes.Lookup(s.Client.MAC); !known || !entry.IsBMC() || !r.Adopts(s) {
		return
	}
	if s.Machine {
		r.Logger.V(1).Info("DHCP client not adopted", "mac", s.Client.MAC, "address", s.Addr.String(), "reason", reasonMachine)
		return
	}
	if req := requestOf(s); r.waiting.put(req, s) {
		r.wake.Wake(req.Namespace, req.Name)
	}
}

// requestOf is what a client is reconciled as.
func requestOf(s dhcp.Sighting) (req reconcile.Request) {
	req.Namespace, req.Name = s.Site, nameOf(s.Client.MAC)
	return req
}

// Reconcile adopts a client, once it is its turn.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	c, wait, has := r.waiting.take(req, r.Clock.Now())
	if !has || wait > 0 {
		return reconcile.Result{RequeueAfter: wait}, nil
	}
	wait, err := r.adopt(ctx, &c)
	if err != nil || wait > 0 {
		r.waiting.putBack(req, c)
	}
	return reconcileerror.Handle(ctx, reconcile.Result{RequeueAfter: wait}, err)
}

// adopt does what is decided about a client, or returns how long it has to wait for that.
func (r *Reconciler) adopt(ctx context.Context, c *candidate) (wait time.Duration, _ error) {
	f, err := r.look(ctx, c.seen)
	if err != nil {
		return 0, err
	}
	p := decide(f)
	if p.action != nothing && c.turn.IsZero() {
		wait, p = r.turn(c, p)
	}
	switch {
	case wait > 0:
		return wait, nil
	case p.action == create:
		return 0, r.create(ctx, c.seen)
	case p.action == move:
		return 0, r.move(ctx, c.seen, p.endpoint)
	}
	r.say(ctx, c.seen, p)
	return 0, nil
}

// allOf stands for all clients of a site: writes are limited for them together.
func allOf(site string) netip.Addr {
	sum := sha256.Sum256([]byte(site))
	return netip.AddrFrom16([16]byte(append(sum[:8:8], make([]byte, 8)...))) // a limiter looks at the first half alone
}

// turn gives a client its turn, unless so many wait for theirs that it is better seen again later.
func (r *Reconciler) turn(c *candidate, p plan) (wait time.Duration, _ plan) {
	wait, ok := r.writes.Reserve(allOf(c.seen.Site), maxWaiting/writesASecond*time.Second)
	if !ok {
		return 0, plan{reason: reasonBusy}
	}
	c.turn = r.Clock.Now().Add(wait)
	return wait, p
}

// look reads what there is of a client, by indexes of caches alone: strangers can have it read as often as they like.
func (r *Reconciler) look(ctx context.Context, s dhcp.Sighting) (f facts, err error) {
	f.seen = s
	var same metalv1.EndpointList
	if err := r.Client.List(ctx, &same, client.MatchingFields{index.EndpointByMAC: s.Client.MAC}); err != nil {
		return f, fmt.Errorf("list the Endpoints of %s: %w", s.Client.MAC, err)
	}
	if f.same = same.Items; len(f.same) > 0 {
		return f, nil
	}
	err = r.Client.Get(ctx, client.ObjectKey{Name: nameOf(s.Client.MAC)}, &metalv1.Endpoint{})
	if f.named = err == nil; client.IgnoreNotFound(err) != nil {
		return f, err
	}
	if f.machine, err = r.has(ctx, &metalv1.ServerList{}, index.ServerByIdentity, index.Identity(assignment.KeyMAC, s.Client.MAC)); err != nil {
		return f, err
	}
	if f.bmc, err = r.hasBMC(ctx, s); err != nil || f.bmc {
		return f, err
	}
	f.adopted, err = r.count(ctx, s.Site)
	return f, err
}

// hasBMC reports whether somebody has written a client down as a BMC, by its MAC or its address. The BMC of our own Endpoint, which somebody has deleted, waits for
// another one.
func (r *Reconciler) hasBMC(ctx context.Context, s dhcp.Sighting) (bool, error) {
	var told metalv1.BMCList
	if err := r.Client.List(ctx, &told, client.MatchingFields{index.BMCByMAC: s.Client.MAC}, client.UnsafeDisableDeepCopy); err != nil {
		return false, fmt.Errorf("list the BMCs of %s: %w", s.Client.MAC, err)
	}
	if slices.ContainsFunc(told.Items, func(b metalv1.BMC) bool {
		return b.Spec.EndpointRef == nil || b.Spec.EndpointRef.Name != nameOf(s.Client.MAC)
	}) {
		return true, nil
	}
	at := s.Addr.String()
	if has, err := r.has(ctx, &metalv1.BMCList{}, index.BMCByIP, at); has || err != nil {
		return has, err
	}
	return r.has(ctx, &metalv1.ServerList{}, index.ServerByBMCIP, at)
}

// has reports whether an index finds something.
func (r *Reconciler) has(ctx context.Context, list client.ObjectList, field, value string) (bool, error) {
	if err := r.Client.List(ctx, list, client.MatchingFields{field: value}, client.Limit(1), client.UnsafeDisableDeepCopy); err != nil {
		return false, fmt.Errorf("list %T by %s %s: %w", list, field, value, err)
	}
	return apimeta.LenList(list) > 0, nil
}

// countEvery is how often adopted Endpoints are counted anew, to see those that somebody has deleted.
const countEvery = 10 * time.Second

// count is how many adopted Endpoints a site has.
func (r *Reconciler) count(ctx context.Context, site string) (int, error) {
	now := r.Clock.Now()
	if !r.counted.IsZero() && now.Sub(r.counted) < countEvery {
		return r.adopted[site], nil
	}
	var adopted metalv1.EndpointList
	if err := r.Client.List(ctx, &adopted, client.MatchingLabels{metalv1.LabelAdopted: metalv1.LabelAdoptedDHCP}, client.UnsafeDisableDeepCopy); err != nil {
		return 0, fmt.Errorf("list adopted Endpoints: %w", err)
	}
	clear(r.adopted)
	for i := range adopted.Items {
		r.adopted[adopted.Items[i].Labels[metalv1.LabelSite]]++
	}
	r.counted = now
	return r.adopted[site], nil
}

func (r *Reconciler) create(ctx context.Context, s dhcp.Sighting) error {
	endpoint := &metalv1.Endpoint{ObjectMeta: metav1.ObjectMeta{
		Name: nameOf(s.Client.MAC), Labels: map[string]string{metalv1.LabelAdopted: metalv1.LabelAdoptedDHCP},
	}}
	if s.Site != "" {
		endpoint.Labels[metalv1.LabelSite] = s.Site
	}
	endpoint.Spec.MACAddress, endpoint.Spec.IP = s.Client.MAC, s.Addr.String()
	if err := r.Client.Create(ctx, endpoint, client.FieldOwner(metalv1.FieldManager)); err != nil {
		return fmt.Errorf("create Endpoint %q: %w", endpoint.Name, err)
	}
	r.adopted[s.Site]++
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
	return log.FromContext(ctx).WithValues("mac", s.Client.MAC, "address", s.Addr.String(), "site", s.Site)
}

func (r *Reconciler) tell(endpoint *metalv1.Endpoint, reason, note string) {
	eventsender.Send(r.Recorder, endpoint, nil, corev1.EventTypeNormal, reason, note)
}

// SetupWithManager registers the controller.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).Named("adoption").WatchesRawSource(&r.wake).WithOptions(objectqueue.Options(1)).Complete(r)
}
