// Command kubeapiserver is a full kube-apiserver with its store in one process, for tests: every kind of Kubernetes, with the admission, the
// authentication and the authorization of a cluster, and without nodes or controllers.
//
// Its own flags are those of apiserver/main.go; others are kube-apiserver's. It prints one line, "ready <url> <kubeconfig>", once /readyz answers. The
// kubeconfig may do everything, and is valid for an hour. When its standard input ends it ends at once.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/spf13/pflag"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
	"k8s.io/kubernetes/cmd/kube-apiserver/app/options"

	"github.com/farrier-dev/farrier/internal/controlplane"
	"github.com/farrier-dev/farrier/internal/controlplane/datadir"
	"github.com/farrier-dev/farrier/internal/controlplane/kubeconfig"
	"github.com/farrier-dev/farrier/internal/controlplane/pki"
)

const (
	// issuer is that of service account tokens.
	issuer = "https://kubernetes.default.svc"
	// startTimeout bounds the start of the store. The test bounds everything.
	startTimeout  = 3 * time.Minute
	readyInterval = 50 * time.Millisecond
)

// own are the flags that kube-apiserver does not have.
type own struct {
	dataDir, address, remove string
	verbosity                int
}

func main() {
	var o own
	server := options.NewServerRunOptions()
	flags := pflag.NewFlagSet(os.Args[0], pflag.ExitOnError)
	flags.StringVar(&o.dataDir, "data-dir", "", "data directory")
	flags.StringVar(&o.address, "api-address", "127.0.0.1:0", "address of the API")
	flags.StringVar(&o.remove, "remove", "", "directory to remove when standard input ends")
	flags.IntVar(&o.verbosity, "verbosity", 0, "verbosity of the log on standard error")
	for _, set := range server.Flags().FlagSets {
		flags.AddFlagSet(set)
	}
	_ = flags.Parse(os.Args[1:]) // ends the process when it fails
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		if o.remove != "" {
			_ = os.RemoveAll(o.remove)
		}
		os.Exit(1)
	}()
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer cancel()
	if err := run(ctx, o, server); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

// run runs store and server until ctx ends.
func run(ctx context.Context, o own, server *options.ServerRunOptions) (err error) {
	dir, err := datadir.Open(o.dataDir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	logger := funcr.New(func(prefix, args string) { fmt.Fprintln(os.Stderr, prefix, args) }, funcr.Options{Verbosity: o.verbosity})
	starting, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	store, err := controlplane.StartStore(starting, dir, logger)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Stop()) }()
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", o.address)
	if err != nil {
		return err
	}
	authority, err := pki.OpenAuthority(dir.Join("pki"), time.Now())
	if err != nil {
		return err
	}
	if err := configure(server, store.Endpoint(), listener, authority); err != nil {
		return err
	}
	if err := server.GenericServerRunOptions.ComponentGlobalsRegistry.Set(); err != nil {
		return err
	}
	completed, err := server.Complete(ctx)
	if err != nil {
		return err
	}
	if errs := completed.Validate(); len(errs) > 0 {
		return utilerrors.NewAggregate(errs)
	}
	url := "https://" + listener.Addr().String()
	path, err := writeKubeconfig(o.dataDir, url, authority)
	if err != nil {
		return err
	}
	go announce(ctx, url, path)
	return serve(ctx, completed)
}

// serve is kube-apiserver's own Run, but for the version that it tells: without Kubernetes' linker flags that is one that Helm takes for an old one.
func serve(ctx context.Context, completed options.CompletedOptions) error {
	config, err := app.NewConfig(completed)
	if err != nil {
		return err
	}
	for _, generic := range []*genericapiserver.Config{
		config.KubeAPIs.ControlPlane.Generic, &config.ApiExtensions.GenericConfig.Config, &config.Aggregator.GenericConfig.Config,
	} {
		generic.EffectiveVersion = controlplane.Served(generic.EffectiveVersion)
	}
	ready, err := config.Complete()
	if err != nil {
		return err
	}
	chain, err := app.CreateServerChain(ready)
	if err != nil {
		return err
	}
	prepared, err := chain.PrepareRun()
	if err != nil {
		return err
	}
	return prepared.Run(ctx)
}

// configure makes a server of its own world: its store, its certificates, its accounts, and RBAC. Nobody routes its Services, so it need not say
// where it is reached by one.
func configure(s *options.ServerRunOptions, store string, listener net.Listener, authority *pki.Authority) error {
	at := listener.Addr().(*net.TCPAddr)
	serving, err := authority.Serving("apiserver", []net.IP{at.IP}, []string{"localhost", "kubernetes.default.svc"})
	if err != nil {
		return err
	}
	signing, err := authority.SigningKey("service-account")
	if err != nil {
		return err
	}
	s.SecureServing.Listener, s.SecureServing.BindAddress, s.SecureServing.BindPort = listener, at.IP, at.Port
	s.SecureServing.ServerCert.CertKey.CertFile, s.SecureServing.ServerCert.CertKey.KeyFile = serving.CertFile, serving.KeyFile
	s.GenericServerRunOptions.AdvertiseAddress = at.IP
	s.Etcd.StorageConfig.Transport.ServerList = []string{store}
	s.Authentication.ClientCert.ClientCA = authority.CertFile
	s.Authentication.ServiceAccounts.Issuers, s.Authentication.ServiceAccounts.KeyFiles = []string{issuer}, []string{signing}
	s.ServiceAccountSigningKeyFile = signing
	s.Authorization.Modes = []string{"Node", "RBAC"}
	s.EndpointReconcilerType = "none"
	return nil
}

func writeKubeconfig(dataDir, url string, authority *pki.Authority) (string, error) {
	content, err := kubeconfig.Emergency(authority, url, time.Now())
	if err != nil {
		return "", err
	}
	path := filepath.Join(dataDir, controlplane.DefaultKubeconfig)
	return path, os.WriteFile(path, content, 0o600)
}

// announce prints the line that says that the server is ready.
func announce(ctx context.Context, url, path string) {
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
	for tick := time.NewTicker(readyInterval); ; {
		if client.RESTClient().Get().AbsPath("/readyz").Do(ctx).Error() == nil {
			fmt.Println("ready", url, path)
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}
