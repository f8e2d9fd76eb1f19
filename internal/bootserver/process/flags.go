package process

import (
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"

	"github.com/farrier-dev/farrier/internal/bootserver/setup"
	"github.com/farrier-dev/farrier/internal/bootstream/peer"
	"github.com/farrier-dev/farrier/internal/bootstream/sealed"
	"github.com/farrier-dev/farrier/internal/inbound/pages"
)

// Options is everything that flags say about a boot server that stands apart. Fields are named after the flags; errors name those.
type Options struct {
	setup.Options
	// Managers are the addresses, host:port, that are tried in turn; ManagerName is the DNS name in the certificates of all of them.
	Managers    []string
	ManagerName string
	// CertificatesDir has tls.crt, tls.key and ca.crt; empty: a folder of the data directory.
	CertificatesDir string
	// JoinAddress is the manager's listener for certificates; empty: certificates come as files. JoinTokenFile and JoinCAFile are for the first one.
	JoinAddress, JoinTokenFile, JoinCAFile string
	// ViewKeyFile seals what is kept on disk; empty: nothing is.
	ViewKeyFile string
	// ServeStale is how old a view may be that counts as ready without a manager.
	ServeStale time.Duration
	// HealthAddress, MetricsAddress and PprofAddress are host:port; empty: none.
	HealthAddress, MetricsAddress, PprofAddress string
	// MetricsPlain serves metrics over HTTP at a loopback address, else they are for those with a certificate of MetricsClientCAFile.
	MetricsPlain                                         bool
	MetricsCertFile, MetricsKeyFile, MetricsClientCAFile string

	Logger logr.Logger
	// wrap stands between what is kept and its files, for tests that have full disks; nil: nothing does.
	wrap func(sealed.File) sealed.File
}

// defaultServeStale is longer than managers take to start again.
const defaultServeStale = 10 * time.Minute

// DefaultOptions are those without flags.
func DefaultOptions() Options {
	return Options{Options: setup.Default(), HealthAddress: ":8081", ServeStale: defaultServeStale, Logger: logr.Discard()}
}

// Bind binds the flags. Those that a manager has as well are bound where it binds them, and mean the same.
func (o *Options) Bind(f *pflag.FlagSet) {
	f.StringSliceVar(&o.Managers, "managers", nil, "host:port of the boot streams of managers; this boot server follows one of them (required)")
	f.StringVar(&o.ManagerName, "manager-name", "", "DNS name in the certificates of the managers, whatever their addresses are (required)")
	f.StringVar(&o.CertificatesDir, "certificates-dir", "", "directory with tls.crt, tls.key and ca.crt of this boot server; Farrier reloads them when they change (default: certificates in --data-dir)")
	f.StringVar(&o.JoinAddress, "join-address", "", "host:port at which a manager issues certificates; this boot server joins there and renews its certificate by itself, in --certificates-dir (default: none, somebody else puts the files there)")
	f.StringVar(&o.JoinTokenFile, "join-token-file", "", "file with the token of 'farrier cert token', needed for the first certificate only")
	f.StringVar(&o.JoinCAFile, "join-ca-file", "", "PEM bundle of the authorities that verify the manager at the first contact (default: ca.crt in --certificates-dir)")
	f.StringVar(&o.ViewKeyFile, "view-key-file", "", "file with 32 random bytes or more, by which the last view and what waits for a manager are kept on disk, encrypted, so that a restart without a manager loses nothing (default: none, they are in memory alone)")
	f.DurationVar(&o.ServeStale, "serve-stale", o.ServeStale, "for how long a view is good without a manager: /readyz stays 200, and a view from disk is served at the start; 0: a boot server without a manager is not ready")
	f.StringVar(&o.HealthAddress, "health-address", o.HealthAddress, "host:port of /healthz and /readyz; empty: none")
	o.BindAddresses(f)
	f.StringVar(&o.MetricsAddress, "metrics-address", "", "host:port of the metrics over HTTPS; clients need a certificate of --metrics-client-ca-file (default: none)")
	f.BoolVar(&o.MetricsPlain, "metrics-plain", false, "serve metrics over plain HTTP to every client; --metrics-address must be a loopback address")
	f.StringVar(&o.MetricsCertFile, "metrics-cert-file", "", "PEM certificate for --metrics-address; Farrier reloads it when it changes")
	f.StringVar(&o.MetricsKeyFile, "metrics-key-file", "", "PEM private key of --metrics-cert-file")
	f.StringVar(&o.MetricsClientCAFile, "metrics-client-ca-file", "", "PEM bundle of the authorities whose client certificates --metrics-address accepts")
	f.StringVar(&o.PprofAddress, "pprof-address", "", "host:port, a loopback address, of the pprof profiles of this process, which can reveal secrets (default: none)")
	o.BindURLs(f)
	o.BindDHCP(f)
	o.BindMetadata(f)
	o.BindRegistries(f)
	o.BindImageCache(f)
	o.BindAccess(f)
	// What a manager has by its API a boot server has by files, or not at all.
	f.Lookup("boot-tls-cert-file").Usage = "PEM certificate chain for --boot-tls-address, which needs it; Farrier reloads it when it changes"
	f.Lookup("max-connections").Usage = "most connections that machines may have open to the boot and image addresses, so that files remain for managers and registries (default 0: a quarter of the process's open-file limit, at most 12288)"
	f.Lookup("image-server-url").Usage = "base URL of images in boot objects, as managers have it, for the certificate of --boot-tls-address (default: the boot URL)"
}

// check refuses what cannot work, before anything is started.
func (o *Options) check() (*setup.Settings, error) {
	settings, err := o.Options.Check()
	errs := []error{err, o.checkManagers(), o.checkJoining(), o.checkPages()}
	if o.ServeStale < 0 {
		errs = append(errs, fmt.Errorf("--serve-stale: %s is negative", o.ServeStale))
	}
	if o.BootTLSAddress != "" && o.BootTLSCertFile == "" {
		errs = append(errs, errors.New("--boot-tls-cert-file: is required by --boot-tls-address: a boot server that stands apart has no authority to make a certificate"))
	}
	return settings, errors.Join(errs...)
}

func (o *Options) checkManagers() error {
	var errs []error
	if len(o.Managers) == 0 {
		errs = append(errs, errors.New("--managers: is required"))
	}
	for _, address := range o.Managers {
		if host, _, err := net.SplitHostPort(address); err != nil {
			errs = append(errs, fmt.Errorf("--managers: %w", err))
		} else if host == "" {
			errs = append(errs, fmt.Errorf("--managers: %q has no host", address))
		}
	}
	if o.ManagerName == "" {
		return errors.Join(append(errs, errors.New("--manager-name: is required"))...)
	}
	name, err := peer.CheckName(o.ManagerName)
	if err != nil {
		errs = append(errs, fmt.Errorf("--manager-name: %w", err))
	}
	o.ManagerName = name
	return errors.Join(errs...)
}

func (o *Options) checkJoining() error {
	if o.JoinAddress != "" {
		return setup.CheckAddress("join-address", o.JoinAddress)
	}
	var errs []error
	for flag, value := range map[string]string{"join-token-file": o.JoinTokenFile, "join-ca-file": o.JoinCAFile} {
		if value != "" {
			errs = append(errs, fmt.Errorf("--%s: needs --join-address, where a manager issues certificates", flag))
		}
	}
	return errors.Join(errs...)
}

// checkPages: what is not for everybody is not given to everybody.
func (o *Options) checkPages() error {
	errs := []error{
		setup.CheckAddress("health-address", o.HealthAddress), setup.CheckAddress("metrics-address", o.MetricsAddress), setup.CheckAddress("pprof-address", o.PprofAddress),
	}
	if o.PprofAddress != "" && !pages.IsLoopback(o.PprofAddress) {
		errs = append(errs, fmt.Errorf("--pprof-address: %s is no loopback address", o.PprofAddress))
	}
	switch {
	case o.MetricsAddress == "":
	case o.MetricsPlain && !pages.IsLoopback(o.MetricsAddress):
		errs = append(errs, fmt.Errorf("--metrics-plain: %s is no loopback address; elsewhere metrics are served over HTTPS, to callers with a certificate", o.MetricsAddress))
	case o.MetricsPlain:
	default:
		for flag, file := range map[string]string{"metrics-cert-file": o.MetricsCertFile, "metrics-key-file": o.MetricsKeyFile, "metrics-client-ca-file": o.MetricsClientCAFile} {
			if file == "" {
				errs = append(errs, fmt.Errorf("--%s: is required by --metrics-address, unless --metrics-plain serves metrics to this host alone", flag))
			}
		}
	}
	return errors.Join(errs...)
}
