package setup

import (
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/farrier-dev/farrier/internal/bootserver"
	"github.com/farrier-dev/farrier/internal/image/registry"
	"github.com/farrier-dev/farrier/internal/netboot/dhcp/service"
)

// Options is what flags say about answering machines. Fields are named after the flags (flags.go); errors name those.
type Options struct {
	DataDir string
	// BootAddress is host:port; port 0 means any free one; it may be empty where BootTLSAddress is not.
	BootAddress string
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
	// DHCP is what is said of DHCP and TFTP.
	DHCP service.Options
	// Metadata answers /v1/….
	Metadata bool
	// BootRateLimit is how many requests a second one address may make; 0: any.
	BootRateLimit int
	// BootTLSRateLimit is how many TLS handshakes a second the boot server does with one address; 0: any.
	BootTLSRateLimit int
	// MaxConnections is how many connections machines may have to this process, MaxConnectionsPerAddress how many those of one address; 0:
	// by how many files the process may open.
	MaxConnections, MaxConnectionsPerAddress int

	AllowedRegistries, PlainHTTPRegistries []string
	// RegistryMirrors are "registry=mirror" pairs.
	RegistryMirrors []string
	// AllowedRegistryNetworks are CIDRs where registries may redirect to, beside the public internet.
	AllowedRegistryNetworks []string
	// RequireSignedImages refuses images that no key of the files ImageSignatureKeys has signed.
	RequireSignedImages bool
	ImageSignatureKeys  []string
	// ImageLayouts is a folder of OCI image layouts, which are images of registry.LayoutRegistry; empty: none. OtherLayouts are such folders that no
	// flag names, by registry.
	ImageLayouts   string
	OtherLayouts   map[string]string
	ImageCacheSize int64
	// UnneededImageCacheSize is the share of it for what no boot configuration names; 0: a quarter.
	UnneededImageCacheSize int64

	IgnitionAccess string
	// BootIdentity is what tells a machine that boots from others: token, address, mac or bmc. BootSecretsDeadline is how long after
	// power-on it may begin.
	BootIdentity              string
	BootSecretsDeadline       time.Duration
	AllowUnauthenticatedProbe bool
	// TrustedForwarders are CIDRs; none of them: private networks; "none": nobody.
	TrustedForwarders []string
	// NoAssignment is the status for machines without an assignment.
	NoAssignment int
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

// Default are the options without flags.
func Default() Options {
	return Options{
		DataDir:             defaultDataDir(),
		BootAddress:         ":8082",
		DHCP:                service.Default(),
		BootRateLimit:       defaultBootRateLimit,
		BootTLSRateLimit:    defaultBootTLSRateLimit,
		AllowedRegistries:   []string{registry.DefaultRegistry},
		ImageCacheSize:      10 << 30,
		IgnitionAccess:      string(bootserver.AccessExpected),
		BootIdentity:        string(bootserver.IdentityAddress),
		BootSecretsDeadline: bootserver.DefaultSecretsDeadline,
		NoAssignment:        http.StatusServiceUnavailable,
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
