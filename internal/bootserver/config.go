package bootserver

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/bootview/booturl"
	"github.com/farrier-dev/farrier/internal/image/blobcache"
	"github.com/farrier-dev/farrier/internal/inspection"
	"github.com/farrier-dev/farrier/internal/ipxeapi/profile"
)

// Access says who may read ignition.
type Access string

const (
	// AccessToken: only with the token of the open attempt.
	AccessToken Access = "token"
	// AccessExpected: with the token; or without one while the attempt is open,
	// unless the caller's address belongs to another known machine. The default.
	AccessExpected Access = "expected"
	// AccessOpen: whoever asks.
	AccessOpen Access = "open"
)

// ParseAccess is for the flag --ignition-access; empty means the default.
func ParseAccess(s string) (Access, error) {
	switch a := Access(s); a {
	case "":
		return AccessExpected, nil
	case AccessToken, AccessExpected, AccessOpen:
		return a, nil
	}
	return "", fmt.Errorf("ignition access %q: want %s, %s or %s", s, AccessToken, AccessExpected, AccessOpen)
}

// Blobs has the blobs of images, by the URLs that registry.LayerURL and registry.UKIURL write; blobcache.Cache implements it.
type Blobs interface {
	// Open returns a blob: a verified one, or else one that may still be downloaded.
	Open(ctx context.Context, u *url.URL, verified bool) (*blobcache.Blob, error)
	// Stat returns what is known of a blob, without its content.
	Stat(ctx context.Context, u *url.URL) (*blobcache.Blob, error)
}

// Reports takes what machines say about themselves. A nil error means stored.
type Reports interface {
	Register(context.Context, inspection.Registration) error
	BootState(context.Context, inspection.BootState) error
}

// Config is what a Server is made of. Only View is required.
type Config struct {
	View *bootview.View
	// Profiles answers machines that name themselves (/ipxe?labels, /config); nil: nobody
	// is assigned anything.
	Profiles *profile.View
	// NoAssignment is the status for a machine that nothing is assigned to: 503, which
	// iPXE asks again after, or 404 for those who chain to something else. Zero: 503.
	NoAssignment int
	// Known reports whether a machine is one of ours that boots nothing now, by its UUID or a MAC address, either of which may be empty; nil: only what boots is known.
	Known func(uuid, mac string) bool
	// Blobs serves artifacts; nil: there are none, 404.
	Blobs Blobs
	// Reports takes probe reports; nil: 503.
	Reports Reports
	// Unknown remembers who asked what to boot and was told that there is nothing; nil: of those only the log says something.
	Unknown *bootview.UnknownMachines
	// Sighted is told of the same machines, each time; nil: nobody. It must not block.
	Sighted func(bootview.UnknownMachine)
	// Deliver is told what was given to whom. It must not block.
	Deliver func(Delivery)
	// Bound is told to whom the boot of an entry is bound from now on; proven says that the caller had what was given to its BMC alone. It must
	// not block.
	Bound func(entry, attempt string, by bootview.Caller, proven bool)

	// Revision is a header of every answer that says which view it was made of; nil: none. It is shared by all answers.
	Revision func() []string
	// Ready says why machines are not to be sent here; nil: when the view is not synchronised.
	Ready func() error
	// SecretsExpired reports whether what is secret may not be given away any more, because nobody knows whether it is still the
	// machine's; nil: never.
	SecretsExpired func() bool
	// Others says that other boot servers answer the machines as well, so that whoever has the token of a boot may have it from one of them.
	Others bool

	// Sites are the bases at which machines reach this server; BootURL is that of the default site, where Sites
	// has none. Without any iPXE is disabled.
	Sites   booturl.Sites
	BootURL string
	// DefaultUKI is what unknown machines boot over UEFI HTTP; nil or an empty
	// answer: nothing.
	DefaultUKI func() string

	// TrustedForwarders may say in X-Forwarded-For whom they ask for.
	TrustedForwarders []netip.Prefix
	// TrustPrivateNetworks trusts hosts of private networks that send the header, for DHCP servers that stand there
	// already when nobody has named them.
	TrustPrivateNetworks bool
	// IgnitionAccess is AccessExpected when empty.
	IgnitionAccess Access
	// Identity is what a caller has to show to be taken for a machine; empty: IdentityAddress.
	Identity Identity
	// Neighbour is the MAC address, canonical, of a host on a segment of ours; empty: it is not on one. nil: nothing is known of neighbours.
	Neighbour func(netip.Addr) string
	// SecretsDeadline is how long after power-on a machine may have what is for it alone; zero: DefaultSecretsDeadline.
	SecretsDeadline time.Duration
	// Alarm is told of those who ask for what is for one machine alone and are not that machine; Early of a machine, by the name of its Server,
	// that asks before its BMC has shown it on. Neither may block.
	Alarm func(Alarm)
	Early func(server string)
	// AllowUnauthenticatedProbe takes reports without a token.
	AllowUnauthenticatedProbe bool

	// SecretsNeedTLS refuses over plain HTTP whatever may hold a secret, and reports.
	SecretsNeedTLS bool

	// Instances answers the metadata service; nil: it is off, 404.
	Instances *bootview.Instances
	// ProgramsDir holds the network boot programs of /boot, <arch>/<file>; empty: none.
	ProgramsDir string
	// Names are further names under which this server is reached from its own host (package hostcheck), beside those of Sites.
	Names []string
	// RateLimit is how many requests a second one address may make, ten seconds' worth of them at once; zero: any.
	RateLimit int

	// MaxReport is the longest probe report in bytes; zero: DefaultMaxReport.
	MaxReport int64
	// ReportTimeout is how long a report may take to be stored; zero:
	// DefaultReportTimeout.
	ReportTimeout time.Duration

	Logger logr.Logger
	Clock  clock.PassiveClock // nil: the real one
}

const (
	// DefaultMaxReport is many times what a machine with hundreds of disks sends.
	DefaultMaxReport = 4 << 20
	// DefaultSecretsDeadline is longer than a power-on self test, a network boot and their repetitions take.
	DefaultSecretsDeadline = time.Hour
	// DefaultReportTimeout is shorter than the 30 s that agents wait at least.
	DefaultReportTimeout = 15 * time.Second
)

func (c Config) withDefaults() (Config, error) {
	if c.View == nil {
		return Config{}, errors.New("boot server: no view")
	}
	var err error
	if c.BootURL != "" {
		if c.BootURL, err = booturl.Check(c.BootURL); err != nil {
			return Config{}, fmt.Errorf("boot URL: %w", err)
		}
		c.Sites = c.Sites.WithDefault(c.BootURL)
	}
	if c.IgnitionAccess, err = ParseAccess(string(c.IgnitionAccess)); err != nil {
		return Config{}, err
	}
	if c.Identity, err = ParseIdentity(string(c.Identity)); err != nil {
		return Config{}, err
	}
	if c.SecretsDeadline == 0 {
		c.SecretsDeadline = DefaultSecretsDeadline
	}
	if c.Alarm == nil {
		c.Alarm = func(Alarm) {}
	}
	if c.Early == nil {
		c.Early = func(string) {}
	}
	if c.RateLimit < 0 {
		return Config{}, fmt.Errorf("boot server: a rate limit of %d requests a second", c.RateLimit)
	}
	if c.MaxReport == 0 {
		c.MaxReport = DefaultMaxReport
	}
	if c.ReportTimeout == 0 {
		c.ReportTimeout = DefaultReportTimeout
	}
	if c.DefaultUKI == nil {
		c.DefaultUKI = func() string { return "" }
	}
	if c.Unknown == nil {
		c.Unknown = &bootview.UnknownMachines{}
	}
	if c.Sighted == nil {
		c.Sighted = func(bootview.UnknownMachine) {}
	}
	if c.Bound == nil {
		c.Bound = func(string, string, bootview.Caller, bool) {}
	}
	if c.SecretsExpired == nil {
		c.SecretsExpired = func() bool { return false }
	}
	if c.Deliver == nil {
		c.Deliver = func(Delivery) {}
	}
	if c.Clock == nil {
		c.Clock = clock.RealClock{}
	}
	return c, nil
}
