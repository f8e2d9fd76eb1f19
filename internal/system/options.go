package system

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-logr/logr"

	"github.com/farrier-dev/farrier/internal/bootserver"
	"github.com/farrier-dev/farrier/internal/image"
	"github.com/farrier-dev/farrier/internal/macprefix"
	"github.com/farrier-dev/farrier/internal/sim"
	"github.com/farrier-dev/farrier/internal/sim/fault"
)

// Options is everything that can be said about a system. Fields are named after the flags of
// `farrier up`; errors name those.
type Options struct {
	DataDir    string
	Kubeconfig string
	// APIAddress, BootAddress and MetricsAddress are host:port; port 0 means any free one. An
	// empty MetricsAddress means that no metrics are served.
	APIAddress, BootAddress, MetricsAddress string
	// BootURL is the base URL under which machines reach the boot server; empty: derived
	// from BootAddress.
	BootURL string

	ManagerNamespace      string
	MACPrefixesFile       string
	ProbeImage            string
	DiscoveryIgnitionPath string
	Architecture          string

	AllowedRegistries, PlainHTTPRegistries []string
	ImageCacheSize                         int64

	IgnitionAccess            string
	AllowUnauthenticatedProbe bool
	TrustedForwarders         []string
	DefaultUKIURL             string

	BMCPollInterval, BMCFastPoll, BMCRequestTimeout time.Duration
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

	// Sim is the number of servers in a simulated rack; 0: there is none.
	Sim             int
	SimAddress      string
	RegistryAddress string
	SimTiming       sim.Timing
	// SimVendor, SimFaultsFile and SimAdminAddress say whose ways the simulated BMCs have, what is
	// wrong with them, and where that is changed while they run.
	SimVendor, SimFaultsFile, SimAdminAddress string
	// SimWithoutEndpoints leaves the Endpoints of the rack to the caller.
	SimWithoutEndpoints bool

	Logger logr.Logger
}

// DefaultOptions are those of `farrier up` without flags.
func DefaultOptions() Options {
	return Options{
		DataDir:           defaultDataDir(),
		APIAddress:        "127.0.0.1:6443",
		BootAddress:       ":8082",
		ManagerNamespace:  "farrier-system",
		Architecture:      "amd64",
		AllowedRegistries: []string{image.DefaultRegistry},
		ImageCacheSize:    10 << 30,
		IgnitionAccess:    string(bootserver.AccessExpected),
		BMCPollInterval:   2 * time.Minute,
		BMCFastPoll:       5 * time.Second,
		BMCRequestTimeout: 10 * time.Second,
		DiscoveryTimeout:  30 * time.Minute,
		DiscoveryRetries:  3,
		PowerOffBudget:    5 * time.Minute,
		EnforcePowerOff:   true,
		SimAddress:        "0.0.0.0:8000",
		SimVendor:         string(sim.Standard),
		RegistryAddress:   "127.0.0.1:5000",
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
	prefixes   *macprefix.Database
	template   string
	simVendors []sim.Vendor
	simFaults  []fault.Spec
	eventsTLS  *tls.Config // nil: plain HTTP
}

// check reads every file that options name and refuses what cannot work, before anything is started.
func (o Options) check() (*settings, error) {
	s := &settings{Options: o}
	var errs []error
	refuse := func(flag string, err error) { errs = append(errs, fmt.Errorf("--%s: %w", flag, err)) }
	for flag, address := range map[string]string{"api-address": o.APIAddress, "boot-address": o.BootAddress, "sim-address": o.SimAddress, "registry-address": o.RegistryAddress} {
		if _, _, err := net.SplitHostPort(address); err != nil {
			refuse(flag, err)
		}
	}
	for _, text := range o.TrustedForwarders {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			refuse("trusted-forwarders", err)
		}
		s.forwarders = append(s.forwarders, prefix)
	}
	if o.BootURL != "" {
		u, err := url.Parse(o.BootURL)
		if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.RawQuery != "" {
			refuse("boot-url", fmt.Errorf("%q is no http(s) URL without a query", o.BootURL))
		}
		s.BootURL = strings.TrimRight(o.BootURL, "/")
	}
	if o.ProbeImage != "" {
		if _, err := image.ParseReference(o.ProbeImage); err != nil {
			refuse("probe-os-image", err)
		}
	}
	if o.Sim < 0 || o.Sim > 60000 {
		refuse("sim", fmt.Errorf("%d is out of range 0 to 60000", o.Sim))
	}
	if vendors, err := sim.ParseVendors(o.SimVendor); err != nil {
		refuse("sim-vendor", err)
	} else {
		s.simVendors = vendors
	}
	errs = append(errs, s.readFiles(), s.checkEvents())
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
	if s.SimFaultsFile != "" {
		faults, err := fault.Load(s.SimFaultsFile)
		if err != nil {
			return fmt.Errorf("--sim-faults: %w", err)
		}
		s.simFaults = faults
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

// deriveURL is the URL of a server that listens at address: the address itself, or, if that is
// all of them, loopback for a simulated rack and else the first address that machines can reach.
func deriveURL(address net.Addr, simulated, secure bool) string {
	tcp, ok := address.(*net.TCPAddr)
	if !ok {
		return ""
	}
	ip := tcp.IP
	if ip.IsUnspecified() {
		ip = net.IPv4(127, 0, 0, 1)
		if !simulated {
			if found := routableAddress(); found != nil {
				ip = found
			}
		}
	}
	scheme := "http://"
	if secure {
		scheme = "https://"
	}
	return scheme + net.JoinHostPort(ip.String(), fmt.Sprint(tcp.Port))
}

func routableAddress() net.IP {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return nil
	}
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok && n.IP.IsGlobalUnicast() && n.IP.To4() != nil {
			return n.IP
		}
	}
	return nil
}
