package system

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"

	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/farrier-dev/farrier/internal/bmc/bmcevents"
	"github.com/farrier-dev/farrier/internal/controller/adoption"
	"github.com/farrier-dev/farrier/internal/controller/bmc"
	"github.com/farrier-dev/farrier/internal/controller/bmcreset"
	"github.com/farrier-dev/farrier/internal/controller/bmcsecret"
	"github.com/farrier-dev/farrier/internal/controller/bmcuser"
	"github.com/farrier-dev/farrier/internal/controller/bootconfig"
	"github.com/farrier-dev/farrier/internal/controller/bootservers"
	"github.com/farrier-dev/farrier/internal/controller/claim"
	"github.com/farrier-dev/farrier/internal/controller/connection"
	"github.com/farrier-dev/farrier/internal/controller/endpoint"
	"github.com/farrier-dev/farrier/internal/controller/server"
	"github.com/farrier-dev/farrier/internal/firmwareimage"
	"github.com/farrier-dev/farrier/internal/fleet"
)

// claimWorkers take servers: what they do is wait for the API.
const claimWorkers = 8

// term is everything that acts: this process has it while it holds the Lease. Each term has a fleet of its own, which has observed nothing when the
// term begins, so that nothing is decided on what was so before.
type term struct {
	*System
	mgr      *termManager
	fleet    *fleet.Fleet
	registry *connection.Registry
	servers  *server.Reconciler
	bmcs     *bmc.Reconciler
	receiver *bmcevents.Receiver  // takes the events of BMCs; nil without its listener
	adoption *adoption.Reconciler // is told of clients of DHCP; nil without --dhcp-adopt
	firmware *firmwareimage.Store // has images of firmware; nil where another program carries out versions of firmware
}

// runTerm acts until ctx ends, and returns when everything that acts has ended.
func (s *System) runTerm(ctx context.Context) error {
	if s.contact.await(ctx) != nil { // the caches are as new as the API
		return nil
	}
	t, err := s.newTerm()
	if err != nil {
		return err
	}
	if err := metrics.Registry.Register(t.fleet); err != nil {
		return fmt.Errorf("metrics of the fleet: %w", err)
	}
	defer metrics.Registry.Unregister(t.fleet)
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

// newTerm makes everything that acts. Nothing runs yet.
func (s *System) newTerm() (*term, error) {
	c := s.controllers
	f, err := s.newFleet()
	if err != nil {
		return nil, err
	}
	t := &term{System: s, mgr: newTermManager(c.acting), fleet: f, registry: connection.NewRegistry(f)}
	t.servers = t.newServers()
	setups := []func(ctrl.Manager) error{
		func(mgr ctrl.Manager) error { return s.reportThrottled(mgr, c.direct.GetClient()) },
		t.addOperator, t.addAdoption, t.addFleet,
		// The controllers of the views write what they could not write before the term.
		func(mgr ctrl.Manager) error { return mgr.Add(manager.RunnableFunc(s.revisit)) },
	}
	if !s.settings.foreignLifecycle {
		setups = append(setups, t.lifecycle)
	}
	if s.settings.foreignBoot {
		setups = append(setups, (&bootconfig.Pending{Client: t.mgr.GetClient(), Workers: workers}).SetupWithManager)
	}
	for _, setup := range setups {
		if err := setup(t.mgr); err != nil {
			return nil, err
		}
	}
	return t, nil
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

// addFleet adds the fleet, what BMCs send, and what is published about this process.
func (t *term) addFleet(mgr ctrl.Manager) error {
	return errors.Join(
		mgr.Add(named("fleet", t.fleet.Run)),
		mgr.Add(named("receiver of BMC events", t.serveEvents)),
		mgr.Add(named("DHCP and TFTP", t.serveDHCP)),
		mgr.Add(named("status of boot servers", t.writeBootServers)),
		mgr.Add(named("boot authority", func(ctx context.Context) error { return t.publishBootCA(ctx, mgr.GetClient(), mgr.GetAPIReader()) })),
	)
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
	s, c, mgr := t.System, t.controllers, t.mgr
	return &server.Reconciler{
		Alarms: c.alarms, Boots: c.delivery, Asked: s.history.Boots, Trace: s.trace,
		Client: mgr.GetClient(), APIReader: mgr.GetAPIReader(), Fleet: t.fleet, Registry: t.registry,
		Recorder: s.recorder(mgr), Clock: clock.RealClock{}, Policy: s.policy(),
		Namespace: s.settings.ManagerNamespace, NewID: newID, TokenKey: s.keys.token, Sites: s.settings.boot.Sites,
		DiscoveryTemplate: s.settings.template, ProbeAgentImage: s.settings.ProbeAgentImage, BootCA: s.bootCA, Workers: workers,
		Derived: c.derived,
	}
}

// lifecycle makes the controllers of BMCs, servers and claims.
func (t *term) lifecycle(mgr ctrl.Manager) error {
	s, writer := t.System, mgr.GetClient()
	bmcs := &bmc.Reconciler{
		Client: writer, APIReader: t.controllers.uncached, Namespace: s.settings.ManagerNamespace, Fleet: t.fleet, Registry: t.registry,
		Recorder: s.recorder(mgr), Clock: clock.RealClock{}, Prefixes: s.settings.prefixes, Begun: bmcsecret.NewBegun(),
		FailureResetDelay: s.settings.BMCFailureResetDelay, SkipVerify: s.settings.InsecureSkipBMCVerify, Workers: workers,
		RotateDefaults: s.settings.RotateDefaultCredentials,
	}
	t.bmcs = bmcs
	resets := &bmcreset.Worker{Wake: func(name string) { bmcs.Wake.Wake("", name) }}
	bmcs.SSH = resets
	if err := mgr.Add(named("resets of BMCs over SSH", measured(resets))); err != nil {
		return err
	}
	users := &bmcuser.Reconciler{
		Client: writer, APIReader: t.controllers.uncached, Namespace: s.settings.ManagerNamespace, Fleet: t.fleet, Registry: t.registry,
		KeyOf:    func(name string) (fleet.Key, bool) { return t.registry.Key(&bmcs.Wake, name) },
		Recorder: s.recorder(mgr), Clock: clock.RealClock{}, Workers: workers,
	}
	subscriptions := t.newSubscriptions()
	bmcs.Unsubscriber, t.servers.Unsubscriber = subscriptions, subscriptions
	for _, setup := range []func(ctrl.Manager) error{
		(&endpoint.Reconciler{Client: writer, Prefixes: s.settings.prefixes, Begun: bmcs.Begun, Clock: clock.RealClock{}}).SetupWithManager,
		bmcs.SetupWithManager,
		users.SetupWithManager,
		subscriptions.SetupWithManager,
		t.servers.SetupWithManager,
		(&claim.Reconciler{
			Client: writer, APIReader: mgr.GetAPIReader(), Clock: clock.RealClock{}, Workers: claimWorkers,
			ForeignBoot: s.settings.foreignBoot, Recorder: s.recorder(mgr),
		}).SetupWithManager,
		t.maintenance,
	} {
		if err := setup(mgr); err != nil {
			return err
		}
	}
	return nil
}

func (s *System) policy() server.Policy {
	return server.Policy{
		DiscoveryTimeout: s.settings.DiscoveryTimeout, DiscoveryRetries: s.settings.DiscoveryRetries,
		PowerOffBudget: s.settings.PowerOffBudget, EnforcePowerOff: s.settings.EnforcePowerOff, ProbeImage: s.settings.ProbeImage,
		Cleanup: s.settings.cleanup, CleanupTimeout: s.settings.CleanupTimeout, ForeignBoot: s.settings.foreignBoot, BMCIdentity: s.settings.boot.ByBMC(),
	}
}

// wakeServer has the controller of servers look at one. Without a term nobody does, and the next one looks at all.
func (s *System) wakeServer(name string) {
	if t := s.term.Load(); t != nil {
		t.servers.Wake.Wake("", name)
	}
}

// pollSoon has the BMC of a server asked soon, during a term.
func (s *System) pollSoon(name string) {
	t := s.term.Load()
	if t == nil {
		return
	}
	if key, known := t.registry.Key(&t.servers.Wake, name); known {
		t.fleet.PollSoon(key)
	}
}

// newID makes an unpredictable ID of 64 bits: enough that no two attempts of a server ever share one.
func newID() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails (Go 1.24)
	return hex.EncodeToString(b[:])
}
