package system

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/selection"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	ipxev1 "github.com/farrier-dev/farrier/api/ipxe/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/alarm"
	"github.com/farrier-dev/farrier/internal/controller/bmc"
	"github.com/farrier-dev/farrier/internal/controller/bmcreset"
	"github.com/farrier-dev/farrier/internal/controller/bmcsecret"
	"github.com/farrier-dev/farrier/internal/controller/bootconfig"
	"github.com/farrier-dev/farrier/internal/controller/bootdelivery"
	"github.com/farrier-dev/farrier/internal/controller/claim"
	"github.com/farrier-dev/farrier/internal/controller/connection"
	"github.com/farrier-dev/farrier/internal/controller/endpoint"
	"github.com/farrier-dev/farrier/internal/controller/index"
	"github.com/farrier-dev/farrier/internal/controller/machinerecord"
	"github.com/farrier-dev/farrier/internal/controller/objectname"
	"github.com/farrier-dev/farrier/internal/controller/readcache"
	"github.com/farrier-dev/farrier/internal/controller/reportintake"
	"github.com/farrier-dev/farrier/internal/controller/server"
)

// workers is how many objects of a kind are decided at the same time. Deciding is memory and API writes, never
// hardware, so a few keep a small machine busy.
const workers = 4

// claimWorkers take servers: what they do is wait for the API.
const claimWorkers = 8

// deliveryPatience is how soon status tells that a machine has fetched something.
const deliveryPatience = 5 * time.Second

// leaseName is the Lease in the manager's namespace that the one process that acts holds. One that only delivers boots
// does not take turns with one that looks after servers.
func (s *System) leaseName() string {
	if s.settings.foreignLifecycle {
		return "farrier-manager-boot"
	}
	return "farrier-manager"
}

// Scheme knows every kind that Farrier reads or writes.
func Scheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(metalv1.AddToScheme(scheme))
	utilruntime.Must(bootv1.AddToScheme(scheme))
	utilruntime.Must(ipxev1.AddToScheme(scheme))
	return scheme
}

// newManager makes the controllers. Nothing runs yet.
func (s *System) newManager(ctx context.Context, config *rest.Config) (ctrl.Manager, *bootdelivery.Delivery, *reportintake.Intake, error) {
	mgr, err := ctrl.NewManager(config, s.managerOptions())
	if err != nil {
		return nil, nil, nil, fmt.Errorf("controllers: %w", err)
	}
	mgr = objectname.Manager(mgr)
	unthrottled := mgr.GetClient()
	if mgr, err = s.throttled(mgr); err != nil {
		return nil, nil, nil, err
	}
	if err := index.Register(ctx, mgr.GetFieldIndexer()); err != nil {
		return nil, nil, nil, err
	}
	// No cache holds Secrets: they are read once per version. Every controller reads back what any of them wrote.
	uncached := readcache.New(mgr.GetAPIReader(), mgr.GetCache())
	mgr = uncached.Manager(mgr)
	writer := mgr.GetClient()
	registry := connection.NewRegistry(s.fleet)
	alarms := &alarm.Board{}
	servers := &server.Reconciler{
		Alarms: alarms,
		Client: writer, APIReader: mgr.GetAPIReader(), Fleet: s.fleet, Registry: registry,
		Recorder: mgr.GetEventRecorder("farrier"), Clock: clock.RealClock{}, Policy: s.policy(),
		Namespace: s.settings.ManagerNamespace, NewID: newID, TokenKey: s.keys.token, Sites: s.settings.boot.Sites,
		DiscoveryTemplate: s.settings.template, ProbeAgentImage: s.settings.ProbeAgentImage, BootCA: s.bootCA, Workers: workers,
	}
	alarms.Wake = func(name string) { servers.Wake.Wake("", name) }
	namespaces := s.settings.namespaces(mgr.GetClient())
	delivery := &bootdelivery.Delivery{
		Alarms: alarms, BMCIdentity: s.settings.boot.ByBMC(), PollSoon: func(name string) {
			if key, known := registry.Key(&servers.Wake, name); known {
				s.fleet.PollSoon(key)
			}
		},
		Client: writer, APIReader: uncached, View: s.view, Clock: clock.RealClock{}, Sites: s.settings.boot.Sites,
		TokenKey: s.keys.token, Grants: namespaces.Of, ForeignLifecycle: s.settings.foreignLifecycle, WakeServer: func(name string) { servers.Wake.Wake("", name) }, Workers: workers,
		Patience: deliveryPatience, Recorder: mgr.GetEventRecorder("farrier"),
	}
	servers.Boots = delivery
	bmcs := &bmc.Reconciler{
		Client: writer, APIReader: uncached, Namespace: s.settings.ManagerNamespace, Fleet: s.fleet, Registry: registry,
		Recorder: mgr.GetEventRecorder("farrier"), Clock: clock.RealClock{}, Prefixes: s.settings.prefixes, Begun: bmcsecret.NewBegun(),
		FailureResetDelay: s.settings.BMCFailureResetDelay, SkipVerify: s.settings.InsecureSkipBMCVerify, Workers: workers,
	}
	resets := &bmcreset.Worker{Wake: func(name string) { bmcs.Wake.Wake("", name) }}
	bmcs.SSH = resets
	if err := mgr.Add(named("resets of BMCs over SSH", measured(resets))); err != nil {
		return nil, nil, nil, err
	}
	subscriptions := s.newSubscriptions(mgr, registry)
	bmcs.Unsubscriber, servers.Unsubscriber = subscriptions, subscriptions
	var setups []func(ctrl.Manager) error
	if !s.settings.foreignLifecycle {
		setups = append(setups,
			(&endpoint.Reconciler{Client: writer, Prefixes: s.settings.prefixes, Begun: bmcs.Begun, Clock: clock.RealClock{}}).SetupWithManager,
			bmcs.SetupWithManager,
			subscriptions.SetupWithManager,
			servers.SetupWithManager,
			(&claim.Reconciler{
				Client: writer, APIReader: mgr.GetAPIReader(), Clock: clock.RealClock{}, Workers: claimWorkers,
				ForeignBoot: s.settings.foreignBoot, Recorder: mgr.GetEventRecorder("farrier"),
			}).SetupWithManager,
			func(mgr ctrl.Manager) error { return s.maintenance(mgr, registry, servers) },
		)
	}
	if s.settings.foreignBoot {
		setups = append(setups, bootdelivery.Attempts{Delivery: delivery}.Setup, (&bootconfig.Pending{Client: writer, Workers: workers}).SetupWithManager)
	} else {
		setups = append(setups, (&bootconfig.Reconciler{
			Client: writer, APIReader: mgr.GetAPIReader(), Images: s.images, Artifacts: s.blobs, Clock: clock.RealClock{}, Sites: s.settings.boot.Sites, ImageURL: s.settings.ImageServerURL,
			Architecture: s.settings.Architecture, Workers: workers, Recorder: mgr.GetEventRecorder("farrier"),
		}).SetupWithManager, delivery.Setup, func(mgr ctrl.Manager) error { return s.addProfiles(mgr, config, namespaces) })
	}
	for _, setup := range setups {
		if err := setup(mgr); err != nil {
			return nil, nil, nil, err
		}
	}
	return mgr, delivery, &reportintake.Intake{
		Client: unthrottled, APIReader: mgr.GetAPIReader(), Namespace: s.settings.ManagerNamespace, Clock: clock.RealClock{}, Alarms: alarms,
	}, nil
}

func (s *System) managerOptions() ctrl.Options {
	recorded, err := labels.NewRequirement(machinerecord.Label, selection.Exists, nil)
	utilruntime.Must(err)
	yes := true
	objects := map[client.Object]cache.ByObject{
		&corev1.ConfigMap{}: {Label: labels.NewSelector().Add(*recorded), Namespaces: map[string]cache.Config{s.settings.ManagerNamespace: {}}},
	}
	ipxeObjects(objects)
	return ctrl.Options{
		Scheme: Scheme(),
		// The logger of a reconcile comes from this one, and is not lowered.
		Logger: LowerVerbosity(s.logger),
		// Metrics, health and profiles are served by addPages.
		Metrics: metricsserver.Options{BindAddress: "0"}, HealthProbeBindAddress: "0",

		LeaderElection: s.settings.LeaderElection, LeaderElectionID: s.leaseName(), LeaderElectionNamespace: s.settings.ManagerNamespace,
		// Everything that acts has ended before the lease is given back, so the next one need not wait until it
		// runs out.
		LeaderElectionReleaseOnCancel: true,
		Cache: cache.Options{
			DefaultTransform: compact,
			ByObject:         objects,
		},
		Client: client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}, &metalv1.BMCSecret{}}}},
		// Several systems may be started in one process, as tests do. One that stands by keeps its caches filled.
		Controller: ctrlconfig.Controller{SkipNameValidation: &yes, EnableWarmup: &yes},
	}
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
