package system

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/farrier-dev/farrier/api"
	farrierv1 "github.com/farrier-dev/farrier/api/farrier/v1alpha1"
	ipxev1 "github.com/farrier-dev/farrier/api/ipxe/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/bootview/bootmethod"
	"github.com/farrier-dev/farrier/internal/controller/alarm"
	"github.com/farrier-dev/farrier/internal/controller/bootconfig"
	"github.com/farrier-dev/farrier/internal/controller/bootdelivery"
	"github.com/farrier-dev/farrier/internal/controller/changes"
	"github.com/farrier-dev/farrier/internal/controller/derivedboot"
	"github.com/farrier-dev/farrier/internal/controller/grant"
	"github.com/farrier-dev/farrier/internal/controller/index"
	"github.com/farrier-dev/farrier/internal/controller/ipxeapi"
	"github.com/farrier-dev/farrier/internal/controller/machinerecord"
	"github.com/farrier-dev/farrier/internal/controller/objectname"
	"github.com/farrier-dev/farrier/internal/controller/readcache"
	"github.com/farrier-dev/farrier/internal/controller/reportintake"
)

// Every replica keeps the views, from its start to its end: here are the caches, what all controllers have in common, and the controllers of the
// views. They write only during a term (package leadership). What acts is made for each term, in term.go.

// workers is how many objects of a kind are decided at the same time. Deciding is memory and API writes, never
// hardware, so a few keep a small machine busy.
const workers = 4

// deliveryPatience is how soon status tells that a machine has fetched something.
const deliveryPatience = 5 * time.Second

// deliveryPace is the time between what status tells of two machines that boot together. Of a processor, an API in this process takes some 5 ms for
// such a write and for what follows from it.
const deliveryPace = 100 * time.Millisecond

// untilSynced is how long controllers wait for their caches: an API that is away at a start may be so for as long as it likes.
const untilSynced = 100 * 365 * 24 * time.Hour

// Scheme knows every kind that Farrier reads or writes.
func Scheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(api.AddToScheme(scheme))
	return scheme
}

// controllers are what those of the views and those of a term have in common.
type controllers struct {
	// direct writes what machines and persons ask for. acting is throttled and reads what it has written. viewing is that, and writes only during
	// a term.
	direct, acting, viewing ctrl.Manager
	uncached                *readcache.Reader
	namespaces              *grant.Namespaces
	alarms                  *alarm.Board
	delivery                *bootdelivery.Delivery
	// derived has the boot configs of internal boots; nil where another program has one half of the work, which reads or writes them.
	derived *derivedboot.Configs
	intake  *reportintake.Intake
	// images, profiles and assignments are nil where somebody else delivers boots.
	images      *bootconfig.Reconciler
	profiles    *ipxeapi.Profiles
	assignments *ipxeapi.Assignments
	// revisits have the controllers of the views look at everything again.
	revisits []func(context.Context) error
}

// newViews makes the views. Whoever wants to see everything that comes into them has to observe them before [System.newControllers].
func (s *System) newViews() {
	s.newLogbook()
	s.view = bootview.New()
	if !s.settings.foreignBoot {
		s.profiles = s.newProfiles()
	}
	if s.settings.Metadata {
		s.instances = &bootview.Instances{}
	}
}

// newControllers makes the caches and the controllers of the views. Nothing runs yet.
func (s *System) newControllers(ctx context.Context, config *rest.Config) (*controllers, error) {
	options, err := s.managerOptions()
	if err != nil {
		return nil, err
	}
	mgr, err := ctrl.NewManager(config, options)
	if err != nil {
		return nil, fmt.Errorf("controllers: %w", err)
	}
	if err := s.AwaitAPI(ctx, func(context.Context) error { return known(mgr) }); err != nil {
		return nil, err
	}
	if err := index.Register(ctx, mgr.GetFieldIndexer()); err != nil {
		return nil, err
	}
	c := &controllers{direct: objectname.Manager(s.settings.filter.Manager(mgr)), alarms: &alarm.Board{Wake: s.wakeServer}}
	// No cache holds Secrets: they are read once per version. Every controller reads back what any of them wrote.
	c.uncached = readcache.New(s.settings.filter.Reader(mgr.GetAPIReader()), mgr.GetCache())
	c.acting = c.uncached.Manager(s.throttle.Manager(c.direct, stages))
	c.viewing = s.leadership.Manager(c.acting)
	c.namespaces = s.settings.namespaces(c.direct.GetClient())
	if !s.settings.foreignBoot && !s.settings.foreignLifecycle {
		c.derived = &derivedboot.Configs{Namespace: s.settings.ManagerNamespace}
	}
	c.delivery = s.newDelivery(c)
	c.intake = &reportintake.Intake{
		Client: c.direct.GetClient(), APIReader: c.direct.GetAPIReader(), Namespace: s.settings.ManagerNamespace, Clock: clock.RealClock{}, Alarms: c.alarms,
	}
	if err := s.addBoots(c, config); err != nil {
		return nil, err
	}
	if err := s.addMetadata(ctx, c.viewing); err != nil {
		return nil, err
	}
	for _, obj := range cachedKinds() {
		// A term finds its caches full.
		if _, err := mgr.GetCache().GetInformer(ctx, obj, cache.BlockUntilSynced(false)); err != nil {
			return nil, fmt.Errorf("cache of %T: %w", obj, err)
		}
	}
	if err := changes.Watch(ctx, mgr.GetCache(), s.logbook); err != nil {
		return nil, err
	}
	for _, beside := range s.settings.Beside {
		if err := beside(c.direct); err != nil {
			return nil, err
		}
	}
	return c, mgr.Add(syncing{s})
}

// newDelivery makes what puts boot configs into the view.
func (s *System) newDelivery(c *controllers) *bootdelivery.Delivery {
	return &bootdelivery.Delivery{
		Client: c.viewing.GetClient(), APIReader: c.uncached, View: s.view, Clock: clock.RealClock{}, Sites: s.settings.boot.Sites,
		TokenKey: s.keys.token, Grants: c.namespaces.Of, ForeignLifecycle: s.settings.foreignLifecycle, BMCIdentity: s.settings.boot.ByBMC(),
		Alarms: c.alarms, WakeServer: s.wakeServer, PollSoon: s.pollSoon, Workers: workers,
		Trace: s.trace, Patience: deliveryPatience, Pace: deliveryPace, Recorder: s.recorder(c.viewing), Derived: c.derived,
	}
}

// addBoots makes the controllers of what machines boot.
func (s *System) addBoots(c *controllers, config *rest.Config) error {
	mgr := c.viewing
	if s.settings.foreignBoot {
		attempts := bootdelivery.Attempts{Delivery: c.delivery}
		c.revisits = append(c.revisits, attempts.Revisit)
		return attempts.Setup(mgr)
	}
	c.images = &bootconfig.Reconciler{
		Client: mgr.GetClient(), APIReader: mgr.GetAPIReader(), Images: s.images, Artifacts: s.blobs, Clock: clock.RealClock{}, Sites: s.settings.boot.Sites, ImageURL: s.settings.ImageServerURL,
		Architecture: s.settings.Architecture, Workers: workers, Recorder: s.recorder(mgr), Derived: c.derived,
	}
	c.revisits = append(c.revisits, c.images.Revisit, c.delivery.Revisit)
	if err := c.images.SetupWithManager(mgr); err != nil {
		return err
	}
	if err := c.delivery.Setup(mgr); err != nil {
		return err
	}
	return s.addProfiles(c, config)
}

func (s *System) managerOptions() (ctrl.Options, error) {
	recorded, err := labels.NewRequirement(machinerecord.Label, selection.Exists, nil)
	utilruntime.Must(err)
	yes := true
	objects := map[client.Object]cache.ByObject{
		&corev1.ConfigMap{}: {Label: labels.NewSelector().Add(*recorded), Namespaces: map[string]cache.Config{s.settings.ManagerNamespace: {}}},
	}
	ipxeObjects(objects)
	err = s.settings.filter.Restrict(objects)
	return ctrl.Options{
		Scheme: Scheme(),
		// The logger of a reconcile comes from this one, and is not lowered.
		Logger: LowerVerbosity(s.logger),
		// Metrics, health and profiles are served by pages.go.
		Metrics: metricsserver.Options{BindAddress: "0"}, HealthProbeBindAddress: "0",
		Cache: cache.Options{
			DefaultTransform: compact,
			ByObject:         objects,
			NewInformer:      s.contact.informer,
		},
		Client: client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}, &metalv1.BMCSecret{}}}},
		// Several systems may be started in one process, as tests do, and each of them has controllers for every term.
		Controller: ctrlconfig.Controller{SkipNameValidation: &yes, CacheSyncTimeout: untilSynced},
	}, err
}

// cachedKinds are what the caches hold, whoever asks for it first.
func cachedKinds() []client.Object {
	kinds := []client.Object{
		&metalv1.Endpoint{}, &metalv1.BMC{}, &metalv1.Server{}, &metalv1.ServerClaim{}, &metalv1.ServerBootConfiguration{}, &metalv1.ServerMaintenance{},
		&metalv1.BMCUser{}, &metalv1.BIOSSettings{}, &metalv1.BMCSettings{}, &metalv1.BIOSSettingsSet{}, &metalv1.BMCSettingsSet{}, &metalv1.BIOSVersion{}, &metalv1.BMCVersion{}, &metalv1.BIOSVersionSet{}, &metalv1.BMCVersionSet{},
		&farrierv1.RolloutPolicy{}, &farrierv1.FirmwareImage{}, &metalv1.ServerReadinessRule{}, &ipxev1.Profile{}, &ipxev1.Assignment{},
		metadataOf(corev1.SchemeGroupVersion.WithKind("Secret")), metadataOf(corev1.SchemeGroupVersion.WithKind("ConfigMap")),
		metadataOf(corev1.SchemeGroupVersion.WithKind("Namespace")), metadataOf(metalv1.GroupVersion.WithKind("BMCSecret")),
	}
	for _, m := range bootmethod.Methods {
		kinds = append(kinds, m.New())
	}
	return kinds
}

func metadataOf(kind schema.GroupVersionKind) *metav1.PartialObjectMetadata {
	obj := &metav1.PartialObjectMetadata{}
	obj.SetGroupVersionKind(kind)
	return obj
}

// known has the API asked for the resources of all kinds, which nobody need ask again then.
func known(mgr ctrl.Manager) error {
	for _, obj := range cachedKinds() {
		kind, err := apiutil.GVKForObject(obj, mgr.GetScheme())
		if err != nil {
			return err
		}
		if _, err := mgr.GetRESTMapper().RESTMapping(kind.GroupKind(), kind.Version); err != nil {
			return fmt.Errorf("resource of %s: %w", kind.Kind, err)
		}
	}
	return nil
}
