package service

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/farrier-dev/farrier/internal/identity"
	"github.com/farrier-dev/farrier/internal/netboot/dhcp"
	"github.com/farrier-dev/farrier/internal/netboot/dhcp/lease"
)

// The values of --dhcp and --dhcp-unknown.
const (
	Off    = "off"
	Proxy  = "proxy"
	Leases = "server"

	Ignore = "ignore"
	Boot   = "boot"
)

// Options is what flags say. Fields are named after the flags; errors name those.
type Options struct {
	Mode       string
	Interfaces []string
	// Ranges are FIRST-LAST or FIRST-LAST/BITS, Reserved MAC=IP.
	Ranges, Reserved []string
	LeaseTime        time.Duration
	Routers, DNS     []string
	Domain           string
	// RouterAdvertisements tell hosts of the interfaces that there is DHCPv6.
	RouterAdvertisements bool
	// Unknown is what becomes of machines that nobody knows; empty: Ignore in proxy mode, else Boot.
	Unknown string
	// Adopt has BMCs among the clients become Endpoints, those of AdoptNetworks alone where it names any. It takes a Kubernetes API, so not every
	// program has it.
	Adopt         bool
	AdoptNetworks []string
	// Apart says that boot servers which stand apart may lease addresses, too, and tell of it.
	Apart bool
	// TFTPAddress is host:port; empty: port 69 of the interfaces, where DHCP is on.
	TFTPAddress    string
	TFTPSinglePort bool
}

// Default are the options without flags.
func Default() Options { return Options{Mode: Off, LeaseTime: lease.DefaultTime} }

// Bind binds the flags.
func (o *Options) Bind(f *pflag.FlagSet) {
	f.StringVar(&o.Mode, "dhcp", o.Mode, "DHCP for machines that boot from the network: off; proxy, say what to boot beside another DHCP server; server, also lease addresses")
	f.StringSliceVar(&o.Interfaces, "dhcp-interface", nil, "network interfaces that --dhcp answers on, also for relays that are reached over them (required with --dhcp)")
	f.StringSliceVar(&o.Ranges, "dhcp-range", nil, "addresses that --dhcp=server leases: FIRST-LAST of an interface's subnet, or FIRST-LAST/BITS of a subnet behind a relay")
	f.StringSliceVar(&o.Reserved, "dhcp-reserve", nil, "MAC=IP pairs: addresses that one client alone gets (default: none; known machines keep their addresses anyway)")
	f.DurationVar(&o.LeaseTime, "dhcp-lease-time", o.LeaseTime, "how long a lease of --dhcp=server is valid")
	f.StringSliceVar(&o.Routers, "dhcp-router", nil, "IPv4 routers that clients of --dhcp=server are told, each for its own subnet (default: none)")
	f.StringSliceVar(&o.DNS, "dhcp-dns", nil, "IP addresses of the DNS servers that clients of --dhcp=server are told (default: none)")
	f.StringVar(&o.Domain, "dhcp-domain", "", "DNS domain that clients of --dhcp=server are told (default: none)")
	f.BoolVar(&o.RouterAdvertisements, "dhcp-router-advertisements", false, "send IPv6 router advertisements that say there is DHCP and offer no route, for segments without an IPv6 router; iPXE waits 14 seconds without any")
	f.StringVar(&o.Unknown, "dhcp-unknown", "", "what --dhcp tells machines that no Server, boot config or Assignment names: ignore, nothing to boot; boot, what unknown machines boot (default: ignore with --dhcp=proxy, boot with --dhcp=server)")
	f.StringVar(&o.TFTPAddress, "tftp-address", "", "host:port of the TFTP server for the boot programs of --boot-files (default: port 69 of the addresses of --dhcp-interface; without --dhcp, none)")
	f.BoolVar(&o.TFTPSinglePort, "tftp-single-port", false, "send TFTP data from the port of --tftp-address, for firewalls that do not follow TFTP (default: from a port per transfer)")
}

// BindAdopt binds the flags of programs that have a Kubernetes API.
func (o *Options) BindAdopt(f *pflag.FlagSet) {
	f.BoolVar(&o.Adopt, "dhcp-adopt", false, "make an Endpoint of each client of --dhcp=server, of this program or of a boot server, whose MAC prefix is a BMC's, so that it becomes a BMC and its servers become Servers")
	f.StringSliceVar(&o.AdoptNetworks, "dhcp-adopt-networks", nil, "networks that the addresses of Endpoints of --dhcp-adopt must be of, such as that of the management network: CIDR; SITE=CIDR for clients of the boot servers of a site (default: every --dhcp-range; no client of a boot server)")
}

// Settings are options after they were checked.
type Settings struct {
	o            Options
	reserved     map[string][]netip.Addr
	routers, dns []netip.Addr
	// adopt are the networks by site.
	adopt map[string][]netip.Prefix
}

// Enabled reports whether DHCP answers.
func (o *Options) Enabled() bool { return o.Mode != Off }

// Adopts reports whether a client may become an Endpoint. What a boot server says of addresses counts for the networks of its site alone, which have to be named: a
// BMC there is sent its password.
func (s *Settings) Adopts(c dhcp.Sighting) bool {
	networks := s.adopt[c.Site]
	return s.o.Adopt && (len(s.adopt[""]) == 0 && !c.Apart || slices.ContainsFunc(networks, func(p netip.Prefix) bool { return p.Contains(c.Addr) }))
}

// Check refuses what cannot work, before anything is started. Ranges are compared with the interfaces when the service starts.
func (o *Options) Check() (*Settings, error) {
	s := &Settings{o: *o, reserved: map[string][]netip.Addr{}, adopt: map[string][]netip.Prefix{}}
	return s, errors.Join(s.checkMode(), s.checkUnknown(), s.checkReserved(), s.checkAddresses(), s.checkAdopt())
}

func (s *Settings) checkMode() error {
	o := &s.o
	var errs []error
	switch o.Mode {
	case Off:
		if o.RouterAdvertisements || len(o.Interfaces) > 0 || len(o.Ranges) > 0 || len(o.Reserved) > 0 {
			errs = append(errs, errors.New("--dhcp=off answers nobody: --dhcp-interface, --dhcp-range, --dhcp-reserve and --dhcp-router-advertisements need --dhcp=proxy or --dhcp=server"))
		}
	case Proxy:
		if len(o.Ranges) > 0 || len(o.Reserved) > 0 {
			errs = append(errs, errors.New("--dhcp=proxy leases nothing: --dhcp-range and --dhcp-reserve need --dhcp=server"))
		}
	case Leases:
		if len(o.Ranges) == 0 {
			errs = append(errs, errors.New("--dhcp=server needs --dhcp-range"))
		}
		if o.LeaseTime < lease.MinTime {
			errs = append(errs, fmt.Errorf("--dhcp-lease-time: %s is shorter than %s", o.LeaseTime, lease.MinTime))
		}
	default:
		return fmt.Errorf("--dhcp %q: want %s, %s or %s", o.Mode, Off, Proxy, Leases)
	}
	if o.Mode != Off && len(o.Interfaces) == 0 {
		errs = append(errs, fmt.Errorf("--dhcp=%s needs --dhcp-interface: it answers on no network that you do not name", o.Mode))
	}
	return errors.Join(errs...)
}

func (s *Settings) checkUnknown() error {
	switch s.o.Unknown {
	case "":
		s.o.Unknown = Ignore
		if s.o.Mode == Leases {
			s.o.Unknown = Boot
		}
	case Ignore, Boot:
	default:
		return fmt.Errorf("--dhcp-unknown %q: want %s or %s", s.o.Unknown, Ignore, Boot)
	}
	return nil
}

// checkAdopt: without leases of our own nobody tells us which client has which address.
func (s *Settings) checkAdopt() error {
	var errs []error
	switch {
	case s.o.Adopt && s.o.Mode != Leases && s.o.Apart && len(s.o.AdoptNetworks) == 0:
		errs = append(errs, fmt.Errorf("--dhcp-adopt with --dhcp=%s needs --dhcp-adopt-networks: it names the networks of which boot servers are believed", s.o.Mode))
	case s.o.Adopt && s.o.Mode != Leases && !s.o.Apart:
		errs = append(errs, fmt.Errorf("--dhcp-adopt needs --dhcp=server: with --dhcp=%s Farrier leases no address and does not know where a client is", s.o.Mode))
	case !s.o.Adopt && len(s.o.AdoptNetworks) > 0:
		errs = append(errs, errors.New("--dhcp-adopt-networks needs --dhcp-adopt"))
	}
	for _, text := range s.o.AdoptNetworks {
		site, network, named := strings.Cut(text, "=")
		if !named {
			site, network = "", text
		}
		p, err := netip.ParsePrefix(network)
		if err != nil || named && site == "" {
			errs = append(errs, errors.Join(fmt.Errorf("--dhcp-adopt-networks %q: want CIDR or SITE=CIDR", text), err))
			continue
		}
		s.adopt[site] = append(s.adopt[site], p.Masked())
	}
	return errors.Join(errs...)
}

func (s *Settings) checkReserved() error {
	var errs []error
	for _, text := range s.o.Reserved {
		who, address, _ := strings.Cut(text, "=")
		mac := identity.MachineMAC(who)
		a, err := netip.ParseAddr(address)
		if mac == "" || err != nil || a.Zone() != "" {
			errs = append(errs, fmt.Errorf("--dhcp-reserve %q: want MAC=IP", text))
			continue
		}
		s.reserved[mac] = append(s.reserved[mac], a)
	}
	return errors.Join(errs...)
}

func (s *Settings) checkAddresses() error {
	var errs []error
	parse := func(flag string, texts []string) (all []netip.Addr) {
		for _, text := range texts {
			a, err := netip.ParseAddr(text)
			if err != nil {
				errs = append(errs, fmt.Errorf("--%s: %w", flag, err))
			}
			all = append(all, a)
		}
		return all
	}
	s.routers, s.dns = parse("dhcp-router", s.o.Routers), parse("dhcp-dns", s.o.DNS)
	if s.o.TFTPAddress != "" {
		if _, _, err := net.SplitHostPort(s.o.TFTPAddress); err != nil {
			errs = append(errs, fmt.Errorf("--tftp-address: %w", err))
		}
	}
	return errors.Join(errs...)
}
