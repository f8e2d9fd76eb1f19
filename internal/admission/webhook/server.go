package webhook

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strconv"

	"github.com/go-logr/logr"
	controllerwebhook "sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/farrier-dev/farrier/internal/admission"
)

// Register puts the handlers on a webhook server: the manager's, as one of its own would never be started.
func Register(server controllerwebhook.Server, rules *admission.Rules, logger logr.Logger) {
	for path, handler := range Handlers(rules, logger) {
		server.Register(path, handler)
	}
}

// ServerOptions say where the webhook server of a manager listens and which files its certificate is in. They are read again when they change.
func ServerOptions(address, certFile, keyFile string) (controllerwebhook.Options, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return controllerwebhook.Options{}, fmt.Errorf("--webhook-address: %w", err)
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil || number == 0 {
		return controllerwebhook.Options{}, fmt.Errorf("--webhook-address: port %q is not a number from 1 to 65535", port)
	}
	if filepath.Dir(certFile) != filepath.Dir(keyFile) {
		return controllerwebhook.Options{}, errors.New("--webhook-cert-file and --webhook-key-file have to be in the same directory")
	}
	if _, err := tls.LoadX509KeyPair(certFile, keyFile); err != nil {
		return controllerwebhook.Options{}, fmt.Errorf("--webhook-cert-file, --webhook-key-file: %w", err)
	}
	return controllerwebhook.Options{
		Host: host, Port: int(number), CertDir: filepath.Dir(certFile), CertName: filepath.Base(certFile), KeyName: filepath.Base(keyFile),
		TLSOpts: []func(*tls.Config){func(c *tls.Config) { c.MinVersion = tls.VersionTLS12 }},
	}, nil
}
