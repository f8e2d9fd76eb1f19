package registry

import (
	"crypto/x509"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"github.com/farrier-dev/farrier/internal/image/signature"
)

// DefaultRegistry is the registry that is allowed when none is named.
const DefaultRegistry = "ghcr.io"

// Options configures a Client and a Resolver. A zero field has its default.
type Options struct {
	// AllowedRegistries are the registries that are talked to, each a host and
	// the port if it has one, compared exactly. Default: ghcr.io.
	AllowedRegistries []string
	// PlainHTTP are those of them that speak HTTP without TLS.
	PlainHTTP []string
	// Mirrors are asked before the registry that they are named for, in order,
	// without its credentials. One that fails is left alone for a minute. What
	// PlainHTTP says holds for mirrors as well.
	Mirrors map[string][]string
	// Layouts are folders of image layouts, by the registry that references to them name: LayoutRegistry or DiscoveryRegistry.
	Layouts map[string]string
	// SignatureKeys have to have signed every image, unless it is of a folder. Default: none, so signatures do not matter.
	SignatureKeys signature.Keys
	// RootCAs are trusted for TLS to registries. Default: the system's.
	RootCAs *x509.CertPool
	// Architecture is used for a machine whose own is not known. Default: amd64.
	Architecture string
	// Timeout bounds each call to a registry, and for a blob each pause between two reads. Default: 10s.
	Timeout time.Duration
	// Parallel bounds the calls of a Resolver that are under way at once, and the connections that are kept to a registry. Default: 8.
	Parallel int
	// AllowedNetworks are where registries may redirect to beside the public
	// internet: private, link-local and this host's own addresses are refused.
	AllowedNetworks []netip.Prefix

	// Refresh is how often a Resolver asks again where a tag points. Default: 5m.
	Refresh time.Duration
	// MinBackoff and MaxBackoff bound the wait after a failure, which doubles
	// with each. Default: 1s and 5m.
	MinBackoff, MaxBackoff time.Duration

	Clock  clock.WithTicker
	Logger logr.Logger
}

// WithDefaults returns the options with defaults in place of zero fields.
func (o Options) WithDefaults() Options {
	if len(o.AllowedRegistries) == 0 {
		o.AllowedRegistries = []string{DefaultRegistry}
	}
	if o.Architecture == "" {
		o.Architecture = "amd64"
	}
	if o.Timeout <= 0 {
		o.Timeout = 10 * time.Second
	}
	if o.Parallel <= 0 {
		o.Parallel = 8
	}
	if o.Refresh <= 0 {
		o.Refresh = 5 * time.Minute
	}
	if o.MinBackoff <= 0 {
		o.MinBackoff = time.Second
	}
	if o.MaxBackoff <= 0 {
		o.MaxBackoff = 5 * time.Minute
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Logger.GetSink() == nil {
		o.Logger = logr.Discard()
	}
	return o
}

// ParseMirrors reads "registry=mirror" pairs as their flag has them; a registry
// may have several.
func ParseMirrors(flag string, pairs []string) (map[string][]string, error) {
	mirrors := map[string][]string{}
	for _, pair := range pairs {
		name, host, ok := strings.Cut(pair, "=")
		if !ok {
			return nil, fmt.Errorf("%s: %q is not registry=mirror", flag, pair)
		}
		registry, err := parseRegistry(name)
		if err != nil {
			return nil, fmt.Errorf("%s: %q: %w", flag, pair, err)
		}
		mirror, err := parseRegistry(host)
		if err != nil {
			return nil, fmt.Errorf("%s: %q: %w", flag, pair, err)
		}
		mirrors[registry] = append(mirrors[registry], mirror)
	}
	return mirrors, nil
}

// registrySet reads a list of registries as its flag holds it.
func registrySet(flag string, registries []string) (map[string]bool, error) {
	set := make(map[string]bool, len(registries))
	for _, text := range registries {
		registry, err := parseRegistry(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", flag, err)
		}
		set[registry] = true
	}
	return set, nil
}
