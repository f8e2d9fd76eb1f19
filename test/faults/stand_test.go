package faults

import (
	"context"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/log"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/farrier-dev/farrier/api"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc/bmcevents"
	"github.com/farrier-dev/farrier/internal/bootview/booturl"
	"github.com/farrier-dev/farrier/internal/controller/bmc"
	"github.com/farrier-dev/farrier/internal/controller/connection"
	"github.com/farrier-dev/farrier/internal/controller/index"
	"github.com/farrier-dev/farrier/internal/controller/server"
	"github.com/farrier-dev/farrier/internal/controller/subscription"
	"github.com/farrier-dev/farrier/internal/controlplane/testapi"
	"github.com/farrier-dev/farrier/internal/fleet"
	"github.com/farrier-dev/farrier/internal/sim"
)

const (
	bmcs = 50
	// marker is in every password, and nowhere else.
	marker   = "mArKeR-0pEn"
	password = marker + ".1"

	interval = 200 * time.Millisecond
	// patience is a limit against hanging, not a measurement.
	patience = 90 * time.Second
)

// timing is that of the product, a few hundred times as fast, but for the time that a request may take: on a busy
// machine a healthy BMC must not be taken for one that hangs.
var timing = fleet.Options{
	PollInterval: interval, FastPoll: 80 * time.Millisecond, MaxBackoff: 300 * time.Millisecond, AuthBackoff: 300 * time.Millisecond,
	RequestTimeout: 4 * time.Second, ForceBudget: time.Second, Seed: 1,
}

// stand is a rack and the part of the product that looks after it.
type stand struct {
	client.Client
	*sim.Rack
	config    *rest.Config
	fleet     *fleet.Fleet
	namespace string
	names     []string // of the BMC objects
	admin     netip.AddrPort
	metrics   *prometheus.Registry
	paths     bmcevents.Paths
	receiver  string // its URL
	said      *transcript

	polls [bmcs]atomic.Int64 // GETs of a system, as the simulator saw them
	drop  [bmcs]atomic.Bool  // the next request meets a connection that breaks
}

func newStand(t *testing.T) *stand {
	t.Helper()
	s := &stand{metrics: prometheus.NewRegistry(), said: &transcript{}}
	logger := s.said.logger("")
	log.SetLogger(logger)
	klog.SetLogger(s.said.logger("klog")) // before the first client, whose goroutines log
	s.config, s.namespace = testapi.Start(t), testapi.Namespace(t)
	s.startRack(t, logger)
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, api.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	var err error
	if s.Client, err = client.New(s.config, client.Options{Scheme: scheme}); err != nil {
		t.Fatal(err)
	}
	s.startControllers(t, scheme, logger)
	s.declare(t)
	return s
}

func (s *stand) startRack(t *testing.T, logger logr.Logger) {
	t.Helper()
	var err error
	s.Rack, err = sim.Start(t.Context(), sim.Options{
		Servers: bmcs, Network: netip.MustParsePrefix("127.93.0.0/16"), Scheme: "https", Vendors: sim.Vendors(),
		Username: "admin", Password: password, Seed: 1, BootTimeout: time.Second, Logger: logger.WithName("sim"),
		BootURL: func() string { return "http://127.0.0.1:1/ipxe/" },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
		defer cancel()
		if err := s.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
	if s.admin, err = s.StartAdmin(t.Context(), "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	for i := range bmcs {
		s.SetFault(i, sim.FaultFunc(func(r *http.Request) sim.Effect { return s.see(i, r) }))
	}
}

// see counts polls at BMC i, and breaks its connection where that was asked for.
func (s *stand) see(i int, r *http.Request) sim.Effect {
	if rest, ok := strings.CutPrefix(r.URL.Path, "/redfish/v1/Systems/"); ok && r.Method == http.MethodGet && !strings.Contains(rest, "/") {
		s.polls[i].Add(1)
	}
	if s.drop[i].CompareAndSwap(true, false) {
		return sim.EffectDrop
	}
	return sim.EffectNone
}

// startControllers starts what decides about BMCs and Servers, as internal/system does.
func (s *stand) startControllers(t *testing.T, scheme *runtime.Scheme, logger logr.Logger) {
	t.Helper()
	options := timing
	options.Logger, options.RootCAs = logger.WithName("fleet"), x509.NewCertPool()
	if !options.RootCAs.AppendCertsFromPEM(s.CABundle()) {
		t.Fatal("no CA bundle")
	}
	s.fleet = fleet.New(options)
	s.fleet.Subscribe(s.overhear)
	s.metrics.MustRegister(s.fleet)
	once := true
	mgr, err := ctrl.NewManager(s.config, ctrl.Options{
		Scheme: scheme, Logger: logger, Metrics: metricsserver.Options{BindAddress: "0"},
		Client:     client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}, &metalv1.BMCSecret{}}}},
		Controller: ctrlconfig.Controller{SkipNameValidation: &once},
	})
	if err == nil {
		err = index.Register(t.Context(), mgr.GetFieldIndexer())
	}
	if err != nil {
		t.Fatal(err)
	}
	registry, recorder := connection.NewRegistry(s.fleet), mgr.GetEventRecorder("farrier")
	key := []byte("a key of this installation, only")
	subscriptions := s.listen(t, mgr, registry, key, logger)
	bmcs := &bmc.Reconciler{
		Client: mgr.GetClient(), APIReader: mgr.GetAPIReader(), Namespace: s.namespace, Fleet: s.fleet, Registry: registry,
		Recorder: recorder, Clock: clock.RealClock{}, Unsubscriber: subscriptions, Workers: 4,
	}
	var ids atomic.Int64
	servers := &server.Reconciler{
		Client: mgr.GetClient(), APIReader: mgr.GetAPIReader(), Fleet: s.fleet, Registry: registry, Boots: known{}, Recorder: recorder,
		Clock: clock.RealClock{}, Namespace: s.namespace, NewID: func() string { return fmt.Sprintf("id-%d", ids.Add(1)) },
		TokenKey: key, Sites: booturl.Single("http://127.0.0.1:1"), Workers: 4,
		Policy: server.Policy{
			DiscoveryTimeout: 2 * time.Second, DiscoveryRetries: 1000, PowerOffBudget: time.Second, EnforcePowerOff: true, ProbeImage: "registry.example/probe:1",
		},
	}
	images := func(mgr ctrl.Manager) error {
		return ctrl.NewControllerManagedBy(mgr).Named("images").For(&metalv1.ServerBootConfiguration{}).Complete(resolved{mgr.GetClient()})
	}
	for _, setup := range []func(ctrl.Manager) error{bmcs.SetupWithManager, subscriptions.SetupWithManager, servers.SetupWithManager, images} {
		if err := setup(mgr); err != nil {
			t.Fatal(err)
		}
	}
	s.run(t, s.fleet.Run, mgr.Start)
}

// listen opens the receiver of BMC events.
func (s *stand) listen(t *testing.T, mgr ctrl.Manager, registry *connection.Registry, key []byte, logger logr.Logger) *subscription.Reconciler {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.paths, s.receiver = bmcevents.NewPaths(key), "http://"+l.Addr().String()
	r := &subscription.Reconciler{
		Client: mgr.GetClient(), Fleet: s.fleet, Registry: registry, Paths: s.paths, URL: s.receiver,
		Recorder: mgr.GetEventRecorder("farrier"), Clock: clock.RealClock{}, Workers: 4,
	}
	r.Receiver = bmcevents.New(bmcevents.Options{Paths: s.paths, Logger: logger.WithName("events"), Notify: r.Heard})
	s.metrics.MustRegister(r.Receiver)
	s.run(t, func(ctx context.Context) error { return r.Receiver.Serve(ctx, l) })
	return r
}

// known is boot servers that know every boot.
type known struct{}

func (known) Acknowledged(string) bool { return true }

// Answering: since ever, so that no boot is taken to have met their absence.
func (known) Answering() time.Time { return time.Unix(0, 0) }

// run runs parts until the test is over.
func (s *stand) run(t *testing.T, parts ...func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var running sync.WaitGroup
	for _, part := range parts {
		running.Go(func() {
			if err := part(ctx); err != nil && ctx.Err() == nil {
				t.Errorf("a part of the product ended: %v", err)
			}
		})
	}
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
}

// declare creates the objects of the rack, with credentials of their own. The servers are known from inside
// already: they are off, and free.
func (s *stand) declare(t *testing.T) {
	t.Helper()
	for _, info := range s.BMCs() {
		s.names = append(s.names, info.Name)
		s.create(t, &metalv1.BMCSecret{ObjectMeta: named(info.Name), Data: credentials(password)})
		s.record(t, info.Number-1)
		obj := &metalv1.BMC{ObjectMeta: named(info.Name)}
		obj.Spec.Access = &metalv1.InlineEndpoint{IP: info.IP.String(), MACAddress: info.MAC}
		obj.Spec.BMCSecretRef.Name = info.Name
		obj.Spec.Protocol = metalv1.Protocol{Name: metalv1.ProtocolRedfish, Scheme: metalv1.SchemeHTTPS, Port: int32(info.Port)}
		s.create(t, obj)
	}
}

func (s *stand) create(t *testing.T, obj client.Object) {
	t.Helper()
	if err := s.Create(t.Context(), obj); err != nil {
		t.Fatal(err)
	}
}

func named(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name} }

func credentials(password string) map[string][]byte {
	return map[string][]byte{metalv1.BMCSecretUsernameKey: []byte("admin"), metalv1.BMCSecretPasswordKey: []byte(password)}
}

// transcript is all that was logged, and every observation and error that there was.
type transcript struct {
	mu   sync.Mutex
	text strings.Builder
}

func (w *transcript) say(prefix, line string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text.WriteString(prefix + " " + line + "\n")
}

func (w *transcript) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

// verbosity is above all that the product says. From 4 on the queues of controller-runtime print themselves,
// and that while they change.
const verbosity = 3

// logger logs everything that there is to log.
func (w *transcript) logger(name string) logr.Logger {
	return funcr.New(w.say, funcr.Options{Verbosity: verbosity}).WithName(name)
}

// overhear keeps what is observed, in every way in which somebody may come to print it.
func (s *stand) overhear(key fleet.Key) {
	o, _ := s.fleet.Observe(key)
	s.said.say(string(key), fmt.Sprintf("%v %+v %#v | %v %+v %#v", o, o, o, o.Err, o.Err, o.Err))
}
