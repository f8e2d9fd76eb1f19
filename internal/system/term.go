package system

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/farrier-dev/farrier/internal/bmc/bmcevents"
	"github.com/farrier-dev/farrier/internal/controller/adoption"
	"github.com/farrier-dev/farrier/internal/controller/alarm"
	"github.com/farrier-dev/farrier/internal/controller/bmc"
	"github.com/farrier-dev/farrier/internal/controller/bmcreset"
	"github.com/farrier-dev/farrier/internal/controller/bmcsecret"
	"github.com/farrier-dev/farrier/internal/controller/bmcuser"
	"github.com/farrier-dev/farrier/internal/controller/bootconfig"
	"github.com/farrier-dev/farrier/internal/controller/bootrelay"
	"github.com/farrier-dev/farrier/internal/controller/bootservers"
	"github.com/farrier-dev/farrier/internal/controller/claim"
	"github.com/farrier-dev/farrier/internal/controller/connection"
	"github.com/farrier-dev/farrier/internal/controller/endpoint"
	"github.com/farrier-dev/farrier/internal/controller/server"
	"github.com/farrier-dev/farrier/internal/controller/shardfilter"
	"github.com/farrier-dev/farrier/internal/controller/subscription"
	"github.com/farrier-dev/farrier/internal/firmwareimage"
	"github.com/farrier-dev/farrier/internal/fleet"
)

// claimWorkers take servers: what they do is wait for the API.
const claimWorkers = 8

// term is everything that acts: this process has it while it holds the Lease. Each term has a fleet of its own, which has observed nothing when the
// term begins, so that nothing is decided on what was so before.
//
// Where BMCs are divided among managers, the term of the leader has no fleet, and who holds a shard has a term for it (shardterm.go).
type term struct {
	*System
	mgr *termManager
	// seen is mgr as controllers see it: of BMCs and what belongs to them, those of a shard alone.
	seen    ctrl.Manager
	metrics prometheus.Registerer
	// shard is the one that the term is about; nil: it is the leader's.
	shard *shardfilter.Filter

	// The rest is nil in the term of a leader that divides BMCs.
	fleet    *fleet.Fleet
	registry *connection.Registry
	servers  *server.Reconciler
	bmcs     *bmc.Reconciler
	receiver *bmcevents.Receiver // takes the events of BMCs; nil without its listener, and in the term of a shard
	// subscriptions is nil where another program looks after BMCs.
	subscriptions *subscription.Reconciler
	firmware      *firmwareimage.Store // has images of firmware; nil where another program carries out versions of firmware
	alarms        *alarm.Board         // of the servers that the term looks after
	begun         *bmcsecret.Begun     // attempts with default credentials that whoever made a BMC has written down

	adoption *adoption.Reconciler // is told of clients of DHCP; nil without --dhcp-adopt, and in the term of a shard
	relay    *bootrelay.Relay     // tells managers that hold shards of boots; nil but in the term of a leader that divides BMCs
}

// runTerm acts until ctx ends, and returns when everything that acts has ended.
func (s *System) runTerm(ctx context.Context) error {
	if s.contact.await(ctx) != nil { // the caches are as new as the API
		return nil
	}
	if s.settings.Shards == 0 && s.undivided != nil && s.undivided.await(ctx) != nil {
		return nil
	}
	t, err := s.newTerm()
	if err != nil {
		return err
	}
	if err := s.openForMachines(); err != nil {
		return err
	}
	s.term.Store(t)
	s.leadership.Begin(ctx)
	defer s.leadership.End()
	defer s.term.Store(nil)
	s.logger.V(1).Info("term begins")
	s.actOnce.Do(func() { close(s.acted) })
	return t.mgr.Start(ctx)
}

// newTerm makes everything that acts while this process leads. Nothing runs yet.
func (s *System) newTerm() (*term, error) {
	c := s.controllers
	t := &term{System: s, mgr: newTermManager(c.acting), metrics: metrics.Registry, alarms: c.alarms}
	t.seen = t.mgr
	setups := []func(ctrl.Manager) error{t.addOperator, t.addAdoption, t.addLeading}
	if s.settings.Shards > 0 {
		setups = append(setups, t.addRelay)
	} else {
		t.begun = bmcsecret.NewBegun()
		setups = append([]func(ctrl.Manager) error{t.addThrottled, t.addFleet}, setups...)
	}
	if !s.settings.foreignLifecycle {
		setups = append(setups, t.addAllocation)
	}
	if s.settings.foreignBoot {
		setups = append(setups, (&bootconfig.Pending{Client: t.mgr.GetClient(), Workers: workers}).SetupWithManager)
	}
	return t, t.setUp(setups)
}

// setUp adds parts.
func (t *term) setUp(setups []func(ctrl.Manager) error) error {
	for _, setup := range setups {
		if err := setup(t.seen); err != nil {
			return err
		}
	}
	return nil
}

func (s *System) newFleet() (*fleet.Fleet, error) {
	o := s.settings
	roots, err := certPool(o.BMCCAFile)
	if err != nil {
		return nil, fmt.Errorf("--bmc-ca-file: %w", err)
	}
	return fleet.New(fleet.Options{
		Clock: clock.RealClock{}, Logger: s.logger.WithName("fleet"),
		PollInterval: o.BMCPollInterval, FastPoll: o.BMCFastPoll, RequestTimeout: o.BMCRequestTimeout, IdleTimeout: o.BMCIdleTimeout,
		InsecureSkipVerify: o.InsecureSkipBMCVerify, RootCAs: roots, Throttle: s.throttle, Sent: s.sent,
	}), nil
}

// addFleet adds the fleet, with everything that looks after BMCs.
func (t *term) addFleet(mgr ctrl.Manager) (err error) {
	if t.fleet, err = t.newFleet(); err != nil {
		return err
	}
	t.registry = connection.NewRegistry(t.fleet)
	t.servers = t.newServers()
	err = errors.Join(
		mgr.Add(measured(t, "fleet", t.fleet, t.fleet.Run)),
		mgr.Add(named("receiver of BMC events", t.serveEvents)),
	)
	if err != nil || t.settings.foreignLifecycle {
		return err
	}
	return t.lifecycle(mgr)
}

// addLeading adds what one process does for all machines, and what is published about it.
func (t *term) addLeading(mgr ctrl.Manager) error {
	return errors.Join(
		mgr.Add(named("DHCP and TFTP", t.serveDHCP)),
		mgr.Add(named("status of boot servers", t.writeBootServers)),
		mgr.Add(named("boot authority", func(ctx context.Context) error { return t.publishBootCA(ctx, mgr.GetClient(), mgr.GetAPIReader()) })),
		// The controllers of the views write what they could not write before the term.
		mgr.Add(manager.RunnableFunc(t.revisit)),
	)
}

// addThrottled has objects without progress reported.
func (t *term) addThrottled(mgr ctrl.Manager) error {
	return mgr.Add(named("reports of objects without progress", t.throttled(mgr, t.controllers.direct.GetClient())))
}

// writeBootServers writes the status of the boot servers that follow this process.
func (t *term) writeBootServers(ctx context.Context) error {
	b := t.stream
	if b == nil {
		return nil
	}
	statuses := &bootservers.Statuses{
		Client: t.mgr.GetClient(), APIReader: t.mgr.GetAPIReader(), Namespace: t.settings.ManagerNamespace,
		Table: b.table.All, Seen: b.authorizer.Seen, Following: b.server.BootServers, Clock: clock.RealClock{}, Logger: t.logger.WithName("boot-stream"),
	}
	return statuses.Run(ctx)
}

func (t *term) newServers() *server.Reconciler {
	s, c, mgr := t.System, t.controllers, t.seen
	return &server.Reconciler{
		Alarms: t.alarms, Boots: t.boots(), Asked: s.history.Boots, Trace: s.trace, Metrics: t.metrics,
		Client: mgr.GetClient(), APIReader: mgr.GetAPIReader(), Fleet: t.fleet, Registry: t.registry,
		Recorder: s.recorder(mgr), Clock: clock.RealClock{}, Policy: s.policy(),
		Namespace: s.settings.ManagerNamespace, NewID: newID, TokenKey: s.keys.token, Sites: s.settings.boot.Sites,
		DiscoveryTemplate: s.settings.template, ProbeAgentImage: s.settings.ProbeAgentImage, BootCA: s.bootCA, Workers: workers,
		Derived: c.derived,
	}
}

// lifecycle makes the controllers of BMCs and servers.
func (t *term) lifecycle(mgr ctrl.Manager) error {
	s, writer := t.System, mgr.GetClient()
	bmcs := &bmc.Reconciler{
		Client: writer, APIReader: t.controllers.uncached, Namespace: s.settings.ManagerNamespace, Fleet: t.fleet, Registry: t.registry,
		Recorder: s.recorder(mgr), Clock: clock.RealClock{}, Prefixes: s.settings.prefixes, Begun: t.begun,
		FailureResetDelay: s.settings.BMCFailureResetDelay, SkipVerify: s.settings.InsecureSkipBMCVerify, Workers: workers,
		RotateDefaults: s.settings.RotateDefaultCredentials,
	}
	t.bmcs = bmcs
	resets := &bmcreset.Worker{Wake: func(name string) { bmcs.Wake.Wake("", name) }}
	bmcs.SSH = resets
	if err := mgr.Add(measured(t, "resets of BMCs over SSH", resets, resets.Start)); err != nil {
		return err
	}
	users := &bmcuser.Reconciler{
		Client: writer, APIReader: t.controllers.uncached, Namespace: s.settings.ManagerNamespace, Fleet: t.fleet, Registry: t.registry,
		KeyOf:    func(name string) (fleet.Key, bool) { return t.registry.Key(&bmcs.Wake, name) },
		Recorder: s.recorder(mgr), Clock: clock.RealClock{}, Workers: workers,
	}
	subscriptions := t.newSubscriptions()
	t.subscriptions, bmcs.Unsubscriber, t.servers.Unsubscriber = subscriptions, subscriptions, subscriptions
	return t.setUp([]func(ctrl.Manager) error{
		bmcs.SetupWithManager, users.SetupWithManager, subscriptions.SetupWithManager, t.servers.SetupWithManager, t.settingsAndVersions,
	})
}

// addAllocation makes the controllers that decide for all servers: of what a BMC is made of, of claims, of maintenance and of fleets.
func (t *term) addAllocation(mgr ctrl.Manager) error {
	s, writer := t.System, mgr.GetClient()
	return t.setUp([]func(ctrl.Manager) error{
		(&endpoint.Reconciler{Client: writer, Prefixes: s.settings.prefixes, Begun: t.begun, Clock: clock.RealClock{}}).SetupWithManager,
		(&claim.Reconciler{
			Client: writer, APIReader: mgr.GetAPIReader(), Clock: clock.RealClock{}, Workers: claimWorkers,
			ForeignBoot: s.settings.foreignBoot, Recorder: s.recorder(mgr),
		}).SetupWithManager,
		t.maintenance,
	})
}

func (s *System) policy() server.Policy {
	return server.Policy{
		DiscoveryTimeout: s.settings.DiscoveryTimeout, DiscoveryRetries: s.settings.DiscoveryRetries,
		PowerOffBudget: s.settings.PowerOffBudget, EnforcePowerOff: s.settings.EnforcePowerOff, ProbeImage: s.settings.ProbeImage,
		Cleanup: s.settings.cleanup, CleanupTimeout: s.settings.CleanupTimeout, ForeignBoot: s.settings.foreignBoot, BMCIdentity: s.settings.boot.ByBMC(),
	}
}

// newID makes an unpredictable ID of 64 bits: enough that no two attempts of a server ever share one.
func newID() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails (Go 1.24)
	return hex.EncodeToString(b[:])
}
