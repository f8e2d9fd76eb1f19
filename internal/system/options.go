package system

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/farrier-dev/farrier/internal/bmc/macprefix"
	"github.com/farrier-dev/farrier/internal/bootserver/setup"
	"github.com/farrier-dev/farrier/internal/bootstream/peer"
	"github.com/farrier-dev/farrier/internal/controller/watchfilter"
	"github.com/farrier-dev/farrier/internal/inspection"
	"github.com/farrier-dev/farrier/internal/ipxeapi/content"
	"github.com/farrier-dev/farrier/internal/otlp"
)

// Options is everything that can be said about a system. Fields are named after the flags (flags.go);
// errors name those.
type Options struct {
	// Options are what is said about answering machines.
	setup.Options
	// MetricsAddress, HealthAddress and PprofAddress are host:port; port 0 means any free one. Where one is empty nothing is served.
	MetricsAddress, HealthAddress, PprofAddress string
	// BootStreamAddress is where boot servers without Kubernetes connect; empty: nowhere. BootServers are those of them that may, NAME or NAME=SITE;
	// those that have joined may too. BootStreamCertificatesDir has the certificate that they are shown, with its key and the authorities of theirs.
	BootStreamAddress, BootStreamCertificatesDir string
	BootServers                                  []string
	// BootStreamJoinAddress is where they get certificates of the authority in BootStreamAuthorityDir; empty: nowhere.
	BootStreamJoinAddress, BootStreamAuthorityDir string
	// OwnCertificates says that OwnBootStream makes certificates and authority where those flags name none.
	OwnCertificates bool
	// OperatorAddress is where operators read reports and boots, over TLS; empty: nowhere. OperatorURL is under which they reach it;
	// empty: derived from the address. Without files its certificate is made anew at each start.
	OperatorAddress, OperatorURL      string
	OperatorCertFile, OperatorKeyFile string
	// OperatorClientCAFile holds the authorities whose client certificates are taken there, beside tokens; empty: none.
	OperatorClientCAFile string
	// Dashboard serves pages for browsers there.
	Dashboard bool
	// StaticMetadata is a file of the metadata that every machine has.
	StaticMetadata string
	// MetricsPlain serves metrics to whoever asks, over HTTP, at a loopback address. Else they are served over HTTPS to those that the
	// Kubernetes API knows and allows; without files the certificate is made anew at each start.
	MetricsPlain                    bool
	MetricsCertFile, MetricsKeyFile string
	// OTLPEndpoint is the base URL of a collector of OpenTelemetry that gets a trace of each boot; empty: none does. Program is what it is told
	// the spans come from.
	OTLPEndpoint, Program string
	// RecordConsoles has the serial consoles of machines that boot written into the logbook.
	RecordConsoles bool
	// LogbookDirectory is where the logbook of machines is kept beside memory; empty: nowhere.
	LogbookDirectory string

	ManagerNamespace string
	MACPrefixesFile  string
	// WatchFilter is the value of the label of this installation's objects; empty: they have none.
	WatchFilter string
	// ProbeImage is what is booted; ProbeAgentImage holds the agent, for a DiscoveryIgnitionPath that names one.
	ProbeImage, ProbeAgentImage string
	DiscoveryIgnitionPath       string
	Architecture                string

	// PinnedImages are kept in the cache although no boot configuration names them.
	PinnedImages []string

	// DefaultUKIURL, or the UKI of DefaultUKIImage, is for machines that /httpboot does not know.
	DefaultUKIURL, DefaultUKIImage string
	// BootNamespaces are those, beside the manager's, that may speak for any machine; with AllNamespaces all others may, too, behind
	// them.
	BootNamespaces []string
	// WebhookHosts are the servers that profiles may name webhooks of.
	WebhookHosts []string
	// SignConfigURLs has the URLs of configs end.
	SignConfigURLs bool
	// BootProvider and ServerLifecycle are who does one half of the work: farrier or external. MaintenanceKinds is who carries out settings, versions
	// of firmware, and their Sets.
	BootProvider, ServerLifecycle, MaintenanceKinds string

	BMCPollInterval, BMCFastPoll, BMCRequestTimeout time.Duration
	// BMCIdleTimeout is how long an unused connection is kept, where something may follow.
	BMCIdleTimeout time.Duration
	// BMCEventsAddress is where BMCs send events to; empty: nowhere. BMCEventsURL is under which they reach
	// it; empty: derived from the address. With a certificate the receiver speaks TLS.
	BMCEventsAddress, BMCEventsURL      string
	BMCEventsCertFile, BMCEventsKeyFile string
	// FirmwareAddress is where BMCs fetch images of firmware that Farrier has fetched; empty: nowhere. FirmwareURL is under which they reach it; empty:
	// derived from the address. FirmwareCacheSize is the disk space for these images, in bytes.
	FirmwareAddress, FirmwareURL string
	FirmwareCacheSize            int64
	// BMCFailureResetDelay is how long a BMC may fail before it is restarted; 0: for ever.
	BMCFailureResetDelay time.Duration
	// RotateDefaultCredentials replaces passwords that vendors ship, once a BMC has accepted them.
	RotateDefaultCredentials bool

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
	// Shards is into how many parts BMCs are divided, of which each process like this one has some; 0: the one with the Lease has them all.
	Shards int
	// Beside are put beside the controllers of every replica, such as the webhooks of a cluster.
	Beside []func(ctrl.Manager) error

	Logger logr.Logger
}

// DefaultOptions are those without flags.
func DefaultOptions() Options {
	return Options{
		Options:           setup.Default(),
		Program:           "farrier",
		ManagerNamespace:  "farrier-system",
		Architecture:      "amd64",
		BootNamespaces:    []string{AllNamespaces},
		BootProvider:      doneByFarrier,
		ServerLifecycle:   doneByFarrier,
		MaintenanceKinds:  doneByFarrier,
		BMCPollInterval:   2 * time.Minute,
		BMCFastPoll:       5 * time.Second,
		BMCRequestTimeout: 10 * time.Second,
		BMCIdleTimeout:    30 * time.Second,
		DiscoveryTimeout:  30 * time.Minute,
		DiscoveryRetries:  3,
		PowerOffBudget:    5 * time.Minute,
		EnforcePowerOff:   true,
		Cleanup:           string(inspection.CleanMetadata),
		Dashboard:         true,
		CleanupTimeout:    24 * time.Hour,
		FirmwareCacheSize: defaultFirmwareCache,
		Logger:            logr.Discard(),
	}
}

// settings are options after they were checked.
type settings struct {
	Options
	// boot is what is said about answering machines.
	boot     *setup.Settings
	static   map[string]string // metadata
	prefixes *macprefix.Database
	template string

	operatorClientCAs *x509.CertPool // nil: no client certificates

	cleanup   inspection.CleanMode
	eventsTLS *tls.Config // nil: plain HTTP

	webhookHosts content.Hosts
	filter       watchfilter.Filter

	spans *otlp.Exporter // nil: nobody wants any

	foreignBoot, foreignLifecycle, foreignKinds bool

	bootServers peer.Table
}

// check reads every file that options name and refuses what cannot work, before anything is started.
func (o Options) check() (*settings, error) {
	s := &settings{Options: o}
	var errs []error
	refuse := func(flag string, err error) { errs = append(errs, fmt.Errorf("--%s: %w", flag, err)) }
	for flag, address := range map[string]string{"operator-address": o.OperatorAddress, "metrics-address": o.MetricsAddress, "health-address": o.HealthAddress, "pprof-address": o.PprofAddress} {
		errs = append(errs, setup.CheckAddress(flag, address))
	}
	var err error
	s.DHCP.Apart = o.BootStreamAddress != ""
	s.boot, err = s.Options.Options.Check()
	errs = append(errs, err, s.checkMetadata())
	errs = append(errs, s.checkProbeImages())
	if mode, err := inspection.ParseCleanMode(o.Cleanup); err != nil {
		refuse("cleanup", err)
	} else {
		s.cleanup = mode
	}
	if s.filter, err = watchfilter.Parse(o.WatchFilter); err != nil {
		refuse("watch-filter", err)
	}
	if o.CleanupTimeout <= 0 {
		refuse("cleanup-timeout", fmt.Errorf("%s is not greater than zero", o.CleanupTimeout))
	}
	errs = append(errs, s.readFiles(), s.checkEvents(), s.checkFirmware(), s.checkOperator(), s.checkExternal(), s.checkIPXE(), s.checkPinned(), s.checkPages(), s.checkBootStream(), s.checkTracing(), s.checkShards())
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
	s.prefixes = s.prefixes.OverVendors()
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
