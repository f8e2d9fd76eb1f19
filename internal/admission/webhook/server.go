package webhook

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strconv"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	controllerwebhook "sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/farrier-dev/farrier/internal/admission"
)

// Options say where the webhooks are served and which files their certificate is in. The files are read again when they change.
type Options struct {
	// Address is host:port; empty: no webhooks.
	Address           string
	CertFile, KeyFile string
}

// Bind binds the options to flags.
func (o *Options) Bind(f *pflag.FlagSet) {
	f.StringVar(&o.Address, "webhook-address", "", "address of the admission webhooks of config/webhook (default: none)")
	f.StringVar(&o.CertFile, "webhook-cert-file", "", "PEM certificate for that address; read again when it changes")
	f.StringVar(&o.KeyFile, "webhook-key-file", "", "PEM key of the certificate, in the same directory")
}

// Server makes the server, which is not started. It is nil without an address.
func (o *Options) Server() (controllerwebhook.Server, error) {
	if o.Address == "" {
		if o.CertFile != "" || o.KeyFile != "" {
			return nil, errors.New("--webhook-cert-file, --webhook-key-file: nothing is served without --webhook-address")
		}
		return nil, nil
	}
	host, port, err := net.SplitHostPort(o.Address)
	if err != nil {
		return nil, fmt.Errorf("--webhook-address: %w", err)
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil || number == 0 {
		return nil, fmt.Errorf("--webhook-address: port %q is not a number from 1 to 65535", port)
	}
	if filepath.Dir(o.CertFile) != filepath.Dir(o.KeyFile) {
		return nil, errors.New("--webhook-cert-file, --webhook-key-file: have to be in the same directory")
	}
	if _, err := tls.LoadX509KeyPair(o.CertFile, o.KeyFile); err != nil {
		return nil, fmt.Errorf("--webhook-cert-file, --webhook-key-file: %w", err)
	}
	return controllerwebhook.NewServer(controllerwebhook.Options{
		Host: host, Port: int(number), CertDir: filepath.Dir(o.CertFile), CertName: filepath.Base(o.CertFile), KeyName: filepath.Base(o.KeyFile),
		TLSOpts: []func(*tls.Config){func(c *tls.Config) { c.MinVersion = tls.VersionTLS12 }},
	}), nil
}

// Register puts the handlers on a server.
func Register(server controllerwebhook.Server, rules *admission.Rules, logger logr.Logger) {
	for path, handler := range Handlers(rules, logger) {
		server.Register(path, handler)
	}
}

// Beside has a manager run the server. Every replica of it answers, whoever leads; nil is no server.
func Beside(server controllerwebhook.Server, managerNamespace string, logger logr.Logger) func(manager.Manager) error {
	return func(mgr manager.Manager) error {
		if server == nil {
			return nil
		}
		assignments := admission.NewAssignments()
		if err := assignments.Follow(context.Background(), mgr.GetCache()); err != nil {
			return err
		}
		Register(server, &admission.Rules{
			ManagerNamespace: managerNamespace, Cached: mgr.GetClient(), Live: mgr.GetAPIReader(), Assignments: assignments,
		}, logger)
		return mgr.Add(server)
	}
}
