package controlplane

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsapiserver "k8s.io/apiextensions-apiserver/pkg/apiserver"
	"k8s.io/apimachinery/pkg/runtime"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/admission"
	genericapifilters "k8s.io/apiserver/pkg/endpoints/filters"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/healthz"
	"k8s.io/apiserver/pkg/util/notfoundhandler"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	aggregatorapiserver "k8s.io/kube-aggregator/pkg/apiserver"
	aggregatorscheme "k8s.io/kube-aggregator/pkg/apiserver/scheme"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	generic "k8s.io/kubernetes/pkg/controlplane/apiserver"
	"k8s.io/kubernetes/pkg/controlplane/apiserver/options"
	generatedopenapi "k8s.io/kubernetes/pkg/generated/openapi"
	rbacrest "k8s.io/kubernetes/pkg/registry/rbac/rest"

	// The kinds that the storage of the generic control plane needs beyond those it imports itself.
	_ "k8s.io/kubernetes/pkg/apis/admissionregistration/install"
	_ "k8s.io/kubernetes/pkg/apis/apiserverinternal/install"
	_ "k8s.io/kubernetes/pkg/apis/storagemigration/install"
)

// serverName appears in the API server's metrics and leases.
const serverName = "farrier"

// customResourcesServed tells the aggregator to register the groups of custom resources.
const customResourcesServed = true

// oneServer tells the custom resource server that it has no replicas to wait for.
const oneServer = 1

// compactionInterval is how much history the store keeps. It is short because 10,000 servers write a lot. A list in pages that takes longer, as one
// of 100,000 Servers does, ends with "Expired" (410): clients list again then (internal/listing).
const compactionInterval = time.Minute

const (
	// readyInterval is how often /readyz is asked during a start.
	readyInterval = 10 * time.Millisecond
	// settleTimeout bounds the wait for start hooks when the start is given up.
	settleTimeout = 10 * time.Second
	// watchGrace and connectionGrace bound how long clients that go on watching hold up the end. By default the server would wait a minute for
	// them to hang up by themselves.
	watchGrace      = time.Second
	connectionGrace = 3 * time.Second
)

// apiConfig is what the API server is built from.
type apiConfig struct {
	listener     net.Listener
	certificates *certificates
	encryption   string // path of the EncryptionConfiguration
	etcdEndpoint string
	plugins      []AdmissionPlugin
	room         func() error // why nothing can be stored
	audit        Audit
	auditDir     string // where the log is, unless it is said elsewhere
}

// apiServer is the chain of the three API servers: the aggregator answers, what it does not know goes to the built-in kinds, what those do
// not know to the custom resources.
type apiServer struct {
	aggregator *aggregatorapiserver.APIAggregator
	prepared   interface{ Run(context.Context) error }
	cancel     context.CancelFunc
	done       chan struct{}
	err        error // valid once done is closed
}

// chainConfig holds the configuration of the three servers before they exist.
type chainConfig struct {
	extensions *apiextensionsapiserver.Config
	builtin    *generic.Config
	aggregator *aggregatorapiserver.Config
}

func newAPIServer(ctx context.Context, cfg apiConfig) (*apiServer, error) {
	opts, err := serverOptions(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("API server options: %w", err)
	}
	chain, err := configureChain(opts, cfg.room)
	if err != nil {
		return nil, fmt.Errorf("API server configuration: %w", err)
	}
	aggregator, err := buildChain(chain)
	if err != nil {
		return nil, fmt.Errorf("API server: %w", err)
	}
	prepared, err := aggregator.PrepareRun()
	if err != nil {
		return nil, fmt.Errorf("API server: %w", err)
	}
	aggregator.GenericAPIServer.ShutdownTimeout = connectionGrace
	return &apiServer{aggregator: aggregator, prepared: prepared}, nil
}

// configureChain derives the configuration of all three servers from one set of options.
func configureChain(opts options.CompletedOptions, room func() error) (*chainConfig, error) {
	schemes := []*runtime.Scheme{legacyscheme.Scheme, apiextensionsapiserver.Scheme, aggregatorscheme.Scheme}
	config, informers, storage, err := generic.BuildGenericConfig(opts, schemes, servedVersions(), generatedopenapi.GetOpenAPIDefinitions)
	if err != nil {
		return nil, err
	}
	// The hook makes some eighty roles of Kubernetes components that do not exist here, and takes a second of every first start. Ours: rbac.go.
	config.DisabledPostStartHooks.Insert(rbacrest.PostStartHookName)
	config.EffectiveVersion = servedVersion{config.EffectiveVersion}
	config.AddReadyzChecks(healthz.NamedCheck("disk", func(*http.Request) error { return room() }))
	if err := openHealth(config); err != nil {
		return nil, err
	}

	services := webhook.NewDefaultServiceResolver()
	chain := &chainConfig{}
	var initializers []admission.PluginInitializer
	if chain.builtin, initializers, err = generic.CreateConfig(opts, config, informers, storage, services, nil); err != nil {
		return nil, err
	}
	proxy := chain.builtin.ProxyTransport
	authInfo := webhook.NewDefaultAuthenticationInfoResolverWrapper(proxy, config.EgressSelector, config.LoopbackClientConfig, config.TracerProvider)
	if chain.extensions, err = generic.CreateAPIExtensionsConfig(*config, informers, initializers, opts, oneServer, services, authInfo); err != nil {
		return nil, err
	}
	if chain.aggregator, err = generic.CreateAggregatorConfig(*config, opts, informers, services, proxy, nil, initializers); err != nil {
		return nil, err
	}
	// There are no services, so no API can be served by one.
	chain.aggregator.ExtraConfig.DisableRemoteAvailableConditionController = true
	return chain, nil
}

// buildChain makes the servers from the last to the first, each the delegate of the next.
func buildChain(chain *chainConfig) (*aggregatorapiserver.APIAggregator, error) {
	builtinConfig := chain.builtin.Complete()
	notFound := notfoundhandler.New(builtinConfig.Generic.Serializer, genericapifilters.NoMuxAndDiscoveryIncompleteKey)
	extensions, err := chain.extensions.Complete().New(genericapiserver.NewEmptyDelegateWithCustomHandler(notFound))
	if err != nil {
		return nil, fmt.Errorf("custom resources: %w", err)
	}
	builtin, err := builtinConfig.New(serverName, extensions.GenericAPIServer)
	if err != nil {
		return nil, fmt.Errorf("built-in kinds: %w", err)
	}
	client, err := kubernetes.NewForConfig(builtinConfig.Generic.LoopbackClientConfig)
	if err != nil {
		return nil, fmt.Errorf("loopback client: %w", err)
	}
	providers, err := builtinConfig.GenericStorageProviders(client.Discovery())
	if err != nil {
		return nil, fmt.Errorf("storage of built-in kinds: %w", err)
	}
	for i, provider := range providers {
		if provider.GroupName() == corev1.GroupName {
			providers[i] = withServices{provider}
		}
	}
	if err := builtin.InstallAPIs(providers...); err != nil {
		return nil, fmt.Errorf("storage of built-in kinds: %w", err)
	}
	definitions := extensions.Informers.Apiextensions().V1().CustomResourceDefinitions()
	aggregator, err := generic.CreateAggregatorServer(chain.aggregator.Complete(), builtin.GenericAPIServer, definitions, customResourcesServed,
		generic.DefaultGenericAPIServicePriorities())
	if err != nil {
		return nil, fmt.Errorf("aggregator: %w", err)
	}
	return aggregator, nil
}

// loopback is the API server's connection to itself, allowed everything. What proves that is made anew at each start and in memory only.
func (a *apiServer) loopback() *rest.Config {
	cfg := rest.CopyConfig(a.aggregator.GenericAPIServer.LoopbackClientConfig)
	cfg.QPS = -1
	return cfg
}

// inProcess is the same for other parts of this process. It says nothing of how objects are encoded: custom resources have no protocol buffers.
func (a *apiServer) inProcess() *rest.Config {
	own := a.aggregator.GenericAPIServer.LoopbackClientConfig
	return &rest.Config{
		Host: own.Host, TLSClientConfig: *own.TLSClientConfig.DeepCopy(), BearerToken: own.BearerToken,
		// The default of five requests a second is meant for clients of a shared server. Here both ends are one process, and the server
		// bounds the requests in flight.
		QPS: -1,
	}
}

// run starts serving and returns when /readyz is ok.
func (a *apiServer) run(ctx context.Context, cfg *rest.Config) error {
	if err := context.Cause(ctx); err != nil {
		return fmt.Errorf("API server not started: %w", err)
	}
	client, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return fmt.Errorf("API server: %w", err)
	}
	defer client.CloseIdleConnections()

	serving, cancel := context.WithCancel(context.WithoutCancel(ctx))
	a.cancel, a.done = cancel, make(chan struct{})
	go func() {
		defer close(a.done)
		a.err = a.prepared.Run(serving)
	}()
	err = a.waitReady(ctx, client, cfg.Host+"/readyz")
	if err != nil {
		// A start hook that is interrupted ends the whole process (klog.Fatal in apiserver/pkg/server/hooks.go), so they are left to finish
		// before anybody stops the server.
		settling, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
		defer cancel()
		_ = a.waitReady(settling, client, cfg.Host+"/readyz")
	}
	return err
}

// waitReady asks until the answer is ok, and tells what the last one was when it never is.
func (a *apiServer) waitReady(ctx context.Context, client *http.Client, url string) error {
	var last error
	err := wait.PollUntilContextCancel(ctx, readyInterval, true, func(ctx context.Context) (bool, error) {
		select {
		case <-a.done:
			return false, endedByItself("the server", a.err)
		default:
		}
		last = askReady(ctx, client, url)
		return last == nil, nil
	})
	if wait.Interrupted(err) {
		return fmt.Errorf("API server did not become ready: %w", errors.Join(context.Cause(ctx), last))
	}
	if err != nil {
		return fmt.Errorf("API server: %w", err)
	}
	return nil
}

func askReady(ctx context.Context, client *http.Client, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("readyz answers %s", response.Status)
	}
	return nil
}

// serves reports whether the server was started and has not ended.
func (a *apiServer) serves() bool {
	select {
	case <-a.done:
		return false
	default:
		return a.done != nil
	}
}

// stop ends the server and waits until requests in flight are answered, but not for ever.
func (a *apiServer) stop(limit time.Duration) error {
	if a.cancel == nil { // never ran
		a.aggregator.GenericAPIServer.Destroy()
		return nil
	}
	a.cancel()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-a.done:
		return a.err
	case <-timer.C:
		return fmt.Errorf("API server did not stop within %s", limit)
	}
}

// serverOptions are the settings of the API server that differ from its defaults.
func serverOptions(ctx context.Context, cfg apiConfig) (options.CompletedOptions, error) {
	address := cfg.listener.Addr().(*net.TCPAddr)
	opts := options.NewOptions()

	opts.SecureServing.Listener = cfg.listener
	opts.SecureServing.BindAddress = address.IP
	opts.SecureServing.BindPort = address.Port
	opts.SecureServing.ServerCert.CertKey.CertFile = cfg.certificates.serving.CertFile
	opts.SecureServing.ServerCert.CertKey.KeyFile = cfg.certificates.serving.KeyFile
	// Set, so that no network interface is searched for on machines that have none but loopback.
	opts.GenericServerRunOptions.AdvertiseAddress = localIP(address)
	opts.GenericServerRunOptions.ShutdownWatchTerminationGracePeriod = watchGrace
	opts.Features.EnableProfiling = false

	opts.Etcd.StorageConfig.Transport.ServerList = []string{cfg.etcdEndpoint}
	opts.Etcd.EncryptionProviderConfigFilepath = cfg.encryption
	// The API server compacts, and not etcd by itself, because its watch caches need to know what has been compacted.
	opts.Etcd.StorageConfig.CompactionInterval = compactionInterval

	if err := auditOptions(opts.Audit, cfg.audit, cfg.auditDir); err != nil {
		return options.CompletedOptions{}, err
	}
	opts.Admission = admissionOptions(cfg.plugins)
	opts.Authorization.Modes = []string{"RBAC"}
	var err error
	if opts.Authentication, err = authenticationOptions(cfg.certificates); err != nil {
		return options.CompletedOptions{}, err
	}
	opts.ServiceAccountSigningKeyFile = cfg.certificates.signingKey

	completed, err := opts.Complete(ctx, nil, nil)
	if err != nil {
		return completed, err
	}
	return completed, utilerrors.NewAggregate(completed.Validate())
}
