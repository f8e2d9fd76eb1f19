package system

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/farrier-dev/farrier/internal/bmc/macprefix"
	"github.com/farrier-dev/farrier/internal/bootserver"
	"github.com/farrier-dev/farrier/internal/bootview/booturl"
	"github.com/farrier-dev/farrier/internal/image/registry"
	"github.com/farrier-dev/farrier/internal/inbound"
	"github.com/farrier-dev/farrier/internal/inspection"
	"github.com/farrier-dev/farrier/internal/ipxeapi/content"
)

// Options is everything that can be said about a system. Fields are named after the flags (flags.go);
// errors name those.
type Options struct {
	DataDir string
	// BootAddress, MetricsAddress, HealthAddress and PprofAddress are host:port; port 0 means any free one. Where one is
	// empty nothing is served; the first may be where BootTLSAddress is not.
	BootAddress, MetricsAddress, HealthAddress, PprofAddress string
	// BootTLSAddress is where machines are answered over TLS; empty: nowhere. Its certificate is that of the files, or made by
	// an authority of our own for the hosts of the https URLs and BootTLSNames. BootTLSCAFile holds the authority of the files.
	BootTLSAddress                                 string
	BootTLSNames                                   []string
	BootTLSCertFile, BootTLSKeyFile, BootTLSCAFile string
	// BootTLSForwardSecrecy refuses the key exchange of old firmware; BootSecretsNeedTLS refuses secrets over plain HTTP.
	BootTLSForwardSecrecy, BootSecretsNeedTLS bool
	// BootURLs are the base URLs under which machines reach the boot server, URL or site=URL; that of the default site
	// is derived from BootTLSAddress, else BootAddress, where none is given.
	BootURLs []string
	// ImageServerURL is the base of image URLs in objects where that is none of BootURLs; ImageAddress answers /image and
	// nothing else; empty: none.
	ImageServerURL, ImageAddress string
	// BootProgramsDir holds the network boot programs of /boot/<arch>/<file>.
	BootProgramsDir string
	// OperatorAddress is where operators read reports and boots, over TLS; empty: nowhere. OperatorURL is under which they reach it;
	// empty: derived from the address. Without files its certificate is made anew at each start.
	OperatorAddress, OperatorURL      string
	OperatorCertFile, OperatorKeyFile string
	// OperatorClientCAFile holds the authorities whose client certificates are taken there, beside tokens; empty: none.
	OperatorClientCAFile string
	// Metadata answers /v1/…, with the fields of the file StaticMetadata for every machine.
	Metadata       bool
	StaticMetadata string
	// BootRateLimit is how many requests a second one address may make; 0: any.
	BootRateLimit int
	// BootTLSRateLimit is how many TLS handshakes a second the boot server does with one address; 0: any.
	BootTLSRateLimit int
	// MaxConnections is how many connections machines may have to this process, MaxConnectionsPerAddress how many those of one address; 0:
	// by how many files the process may open.
	MaxConnections, MaxConnectionsPerAddress int
	// MetricsPlain serves metrics to whoever asks, over HTTP, at a loopback address. Else they are served over HTTPS to those that the
	// Kubernetes API knows and allows; without files the certificate is made anew at each start.
	MetricsPlain                    bool
	MetricsCertFile, MetricsKeyFile string

	ManagerNamespace string
	MACPrefixesFile  string
	// ProbeImage is what is booted; ProbeAgentImage holds the agent, for a DiscoveryIgnitionPath that names one.
	ProbeImage, ProbeAgentImage string
	DiscoveryIgnitionPath       string
	Architecture                string

	AllowedRegistries, PlainHTTPRegistries []string
	// RegistryMirrors are "registry=mirror" pairs.
	RegistryMirrors []string
	// AllowedRegistryNetworks are CIDRs where registries may redirect to, beside the public internet.
	AllowedRegistryNetworks []string
	ImageCacheSize          int64
	// UnneededImageCacheSize is the share of it for what no boot configuration names; 0: a quarter.
	UnneededImageCacheSize int64
	// PinnedImages are kept in the cache although no boot configuration names them.
	PinnedImages []string

	IgnitionAccess string
	// BootIdentity is what tells a machine that boots from others: token, address, mac or bmc. BootSecretsDeadline is how long after
	// power-on it may begin.
	BootIdentity              string
	BootSecretsDeadline       time.Duration
	AllowUnauthenticatedProbe bool
	// TrustedForwarders are CIDRs; none of them: private networks; "none": nobody.
	TrustedForwarders []string
	// DefaultUKIURL, or the UKI of DefaultUKIImage, is for machines that /httpboot does not know.
	DefaultUKIURL, DefaultUKIImage string
	// BootNamespaces are those, beside the manager's, that may speak for any machine; with AllNamespaces all others may, too, behind
	// them.
	BootNamespaces []string
	// WebhookHosts are the servers that profiles may name webhooks of.
	WebhookHosts []string
	// SignConfigURLs has the URLs of configs end; NoAssignment is the status for machines without an assignment.
	SignConfigURLs bool
	NoAssignment   int
	// BootProvider and ServerLifecycle are who does one half of the work: farrier or external.
	BootProvider, ServerLifecycle string

	BMCPollInterval, BMCFastPoll, BMCRequestTimeout time.Duration
	// BMCIdleTimeout is how long an unused connection is kept, where something may follow.
	BMCIdleTimeout time.Duration
	// BMCEventsAddress is where BMCs send events to; empty: nowhere. BMCEventsURL is under which they reach
	// it; empty: derived from the address. With a certificate the receiver speaks TLS.
	BMCEventsAddress, BMCEventsURL      string
	BMCEventsCertFile, BMCEventsKeyFile string
	// BMCFailureResetDelay is how long a BMC may fail before it is restarted; 0: for ever.
	BMCFailureResetDelay  time.Duration
	InsecureSkipBMCVerify bool
	BMCCAFile             string

	DiscoveryTimeout time.Duration
	DiscoveryRetries int
	PowerOffBudget   time.Duration
	EnforcePowerOff  bool
	// Cleanup is how servers are cleaned that come back: none, metadata or full.
	Cleanup        string
	CleanupTimeout time.Duration

	// Loopback says that the machines are simulated on this host: a server that listens on all addresses
	// is reached there.
	Loopback bool
	// LeaderElection says that there are other processes like this one, of which the one with the Lease acts. Before its first turn a process does
	// not listen for machines.
	LeaderElection bool
	// Beside are put beside the controllers of every replica, such as the webhooks of a cluster.
	Beside []func(ctrl.Manager) error

	Logger logr.Logger
}

// defaultBootRateLimit: a boot asks some ten times within seconds, so the ten thousand requests that may come at once are a thousand
// machines that stand behind one address and are powered on together, or a DHCP server that asks /httpboot for every packet of
// theirs. A client that goes on asking at this rate takes a few hundredths of a processor.
const defaultBootRateLimit = 1000

// A boot over TLS takes some three handshakes, so two hundred machines behind one address may begin together. One with the keys that
// firmware understands takes some four milliseconds of a processor, so who goes on at this rate takes a tenth of one.
const (
	defaultBootTLSRateLimit = 25
	// handshakesAtOnce is for how many seconds' worth there may be at once.
	handshakesAtOnce = 25
)

// DefaultOptions are those without flags.
func DefaultOptions() Options {
	return Options{
		DataDir:           defaultDataDir(),
		BootAddress:       ":8082",
		BootRateLimit:     defaultBootRateLimit,
		BootTLSRateLimit:  defaultBootTLSRateLimit,
		ManagerNamespace:  "farrier-system",
		Architecture:      "amd64",
		AllowedRegistries: []string{registry.DefaultRegistry},
		ImageCacheSize:    10 << 30,
		IgnitionAccess:    string(bootserver.AccessExpected),
		BootIdentity:      string(bootserver.IdentityAddress),

		BootSecretsDeadline: bootserver.DefaultSecretsDeadline,

		BootNamespaces:    []string{AllNamespaces},
		NoAssignment:      http.StatusServiceUnavailable,
		BootProvider:      doneByFarrier,
		ServerLifecycle:   doneByFarrier,
		BMCPollInterval:   2 * time.Minute,
		BMCFastPoll:       5 * time.Second,
		BMCRequestTimeout: 10 * time.Second,
		BMCIdleTimeout:    30 * time.Second,
		DiscoveryTimeout:  30 * time.Minute,
		DiscoveryRetries:  3,
		PowerOffBudget:    5 * time.Minute,
		EnforcePowerOff:   true,
		Cleanup:           string(inspection.CleanMetadata),
		CleanupTimeout:    24 * time.Hour,
		Logger:            logr.Discard(),
	}
}

// defaultDataDir follows the XDG base directory specification, and for root the file system hierarchy
// standard §5.8.
func defaultDataDir() string {
	if os.Geteuid() == 0 {
		return "/var/lib/farrier"
	}
	if dir := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "farrier")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "farrier-data"
	}
	return filepath.Join(home, ".local", "share", "farrier")
}

// settings are options after they were checked.
type settings struct {
	Options
	forwarders []netip.Prefix
	sites      booturl.Sites
	static     map[string]string // metadata
	// trustPrivate: no forwarders are named, so those of private networks are believed.
	trustPrivate bool
	prefixes     *macprefix.Database
	template     string

	operatorClientCAs *x509.CertPool // nil: no client certificates

	cleanup   inspection.CleanMode
	eventsTLS *tls.Config // nil: plain HTTP

	webhookHosts content.Hosts

	registryNetworks []netip.Prefix

	foreignBoot, foreignLifecycle bool

	descriptors uint64 // files that this process may open
	shares      inbound.Shares
}

// check reads every file that options name and refuses what cannot work, before anything is started.
func (o Options) check() (*settings, error) {
	s := &settings{Options: o}
	var errs []error
	refuse := func(flag string, err error) { errs = append(errs, fmt.Errorf("--%s: %w", flag, err)) }
	for flag, address := range map[string]string{"boot-address": o.BootAddress, "boot-tls-address": o.BootTLSAddress, "image-address": o.ImageAddress, "operator-address": o.OperatorAddress, "metrics-address": o.MetricsAddress, "health-address": o.HealthAddress, "pprof-address": o.PprofAddress} {
		if address == "" { // checkBootTLS looks after one that has to be there
			continue
		}
		if _, _, err := net.SplitHostPort(address); err != nil {
			refuse(flag, err)
		}
	}
	errs = append(errs, s.checkForwarders())
	errs = append(errs, s.checkBoot(), s.checkBootTLS())
	errs = append(errs, s.checkProbeImages())
	if mode, err := inspection.ParseCleanMode(o.Cleanup); err != nil {
		refuse("cleanup", err)
	} else {
		s.cleanup = mode
	}
	if o.CleanupTimeout <= 0 {
		refuse("cleanup-timeout", fmt.Errorf("%s is not greater than zero", o.CleanupTimeout))
	}
	errs = append(errs, s.readFiles(), s.checkEvents(), s.checkOperator(), s.checkExternal(), s.checkIPXE(), s.checkImages(), s.checkConnections(), s.checkPages(), s.checkDataDir())
	return s, errors.Join(errs...)
}

// maxTemplateSize bounds the discovery ignition template.
const maxTemplateSize = 1 << 20

func (s *settings) readFiles() error {
	s.prefixes, _ = macprefix.New()
	if s.MACPrefixesFile != "" {
		db, err := macprefix.Load(s.MACPrefixesFile)
		if err != nil {
			return fmt.Errorf("--mac-prefixes-file: %w", err)
		}
		s.prefixes = db
	}
	if s.DiscoveryIgnitionPath != "" {
		info, err := os.Stat(s.DiscoveryIgnitionPath)
		if err == nil && info.Size() > maxTemplateSize {
			err = fmt.Errorf("%s is larger than %d bytes", s.DiscoveryIgnitionPath, maxTemplateSize)
		}
		var text []byte
		if err == nil {
			text, err = os.ReadFile(s.DiscoveryIgnitionPath)
		}
		if err != nil {
			return fmt.Errorf("--discovery-ignition-path: %w", err)
		}
		s.template = string(text)
	}
	return nil
}
