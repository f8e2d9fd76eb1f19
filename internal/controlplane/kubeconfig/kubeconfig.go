package kubeconfig

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/clock"

	"github.com/farrier-dev/farrier/internal/controlplane/datadir"
	"github.com/farrier-dev/farrier/internal/controlplane/pki"
	"github.com/farrier-dev/farrier/internal/host/ownership"
)

const (
	// Group is whom the administrator's certificate names. RBAC says what it may do.
	Group = "farrier:admins"
	// EmergencyGroup may do everything, whatever RBAC says.
	EmergencyGroup = "system:masters"

	user          = "farrier-admin"
	emergencyUser = "farrier-emergency"

	// MaxValidity is the longest that an administrator's certificate is valid, and by default it is. Longer ones are refused by the API.
	MaxValidity = 24 * time.Hour
	// MinValidity leaves time to read a file and use it. Clients that run on look at the file every five minutes.
	MinValidity = time.Minute
	// EmergencyValidity is enough to put a role binding right.
	EmergencyValidity = time.Hour

	// lookInterval is how often it is asked whether a certificate is due, at most: a machine that slept finds out soon.
	lookInterval = time.Minute

	// Name is that of cluster, user and context in the file.
	Name = "farrier"
)

// Admin writes and renews an administrator's kubeconfig.
type Admin struct {
	Authority *pki.Authority
	// URL is where the API is, Path the kubeconfig.
	URL, Path string
	Validity  time.Duration
	Clock     clock.WithTicker
	Logger    logr.Logger

	renew time.Time // when the certificate is due
}

// CredentialsFile is the file beside a kubeconfig that has the certificate and its key.
func CredentialsFile(kubeconfig string) string { return kubeconfig + ".pem" }

// Write makes a certificate and writes it and the kubeconfig that names it.
func (a *Admin) Write() error {
	var err error
	if a.Path, err = filepath.Abs(a.Path); err != nil {
		return fmt.Errorf("kubeconfig (--kubeconfig): %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(a.Path), 0o700); err != nil {
		return fmt.Errorf("kubeconfig %s (--kubeconfig): %w", a.Path, ownership.Explain(filepath.Dir(a.Path), err))
	}
	if err := a.issue(); err != nil {
		return err
	}
	// By its whole path, so that copies of the kubeconfig on this machine work and are renewed too.
	credentials := CredentialsFile(a.Path)
	content, err := compose(a.URL, a.Authority.CertPEM, &clientcmdapi.AuthInfo{ClientCertificate: credentials, ClientKey: credentials})
	if err != nil {
		return err
	}
	if err := datadir.WriteFile(a.Path, content); err != nil {
		return fmt.Errorf("kubeconfig %s (--kubeconfig) cannot be written: %w", a.Path, ownership.Explain(a.Path, err))
	}
	return nil
}

// issue replaces the certificate with a new one.
func (a *Admin) issue() error {
	now := a.Clock.Now()
	pair, err := a.Authority.Client(now, a.Validity, user, Group)
	if err != nil {
		return err
	}
	path := CredentialsFile(a.Path)
	if err := datadir.WriteFile(path, pair.PEM()); err != nil {
		return fmt.Errorf("administrator's certificate %s (--kubeconfig) cannot be written: %w", path, ownership.Explain(path, err))
	}
	a.renew = now.Add(a.Validity / 2)
	return nil
}

// Run renews the certificate when half of its time is over, until the context ends. One that cannot be written is tried again.
func (a *Admin) Run(ctx context.Context) {
	ticker := a.Clock.NewTicker(min(a.Validity/4, lookInterval))
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
		}
		if !a.due(a.Clock.Now()) {
			continue
		}
		if err := a.issue(); err != nil {
			a.Logger.Error(err, "administrator's certificate not renewed, retrying")
		}
	}
}

// due reports whether it is time for another certificate. A clock that was set back makes one due too: the one there is may be of the future.
func (a *Admin) due(now time.Time) bool {
	return !now.Before(a.renew) || now.Before(a.renew.Add(-a.Validity))
}

// Emergency is a kubeconfig with everything in it that may do everything for EmergencyValidity. It needs the files of the authority, and
// neither the API nor any rights in it.
func Emergency(authority *pki.Authority, url string, now time.Time) ([]byte, error) {
	pair, err := authority.Client(now, EmergencyValidity, emergencyUser, EmergencyGroup)
	if err != nil {
		return nil, err
	}
	return compose(url, authority.CertPEM, &clientcmdapi.AuthInfo{ClientCertificateData: pair.CertPEM, ClientKeyData: pair.KeyPEM})
}

// Privileged reports whether one of the groups is an administrator's.
func Privileged(groups []string) bool {
	return slices.Contains(groups, Group) || slices.Contains(groups, EmergencyGroup)
}

// Server is the API's URL that a kubeconfig names; empty when it cannot be read.
func Server(path string) string {
	config, err := clientcmd.LoadFromFile(path)
	if err != nil || config.Clusters[Name] == nil {
		return ""
	}
	return config.Clusters[Name].Server
}

func compose(url string, authority []byte, who *clientcmdapi.AuthInfo) ([]byte, error) {
	config := clientcmdapi.NewConfig()
	config.Clusters[Name] = &clientcmdapi.Cluster{Server: url, CertificateAuthorityData: authority}
	config.AuthInfos[Name] = who
	config.Contexts[Name] = &clientcmdapi.Context{Cluster: Name, AuthInfo: Name}
	config.CurrentContext = Name
	content, err := clientcmd.Write(*config)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	return content, nil
}
