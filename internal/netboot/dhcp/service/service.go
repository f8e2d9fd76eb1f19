package service

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"github.com/farrier-dev/farrier/internal/netboot/bootfiles"
	"github.com/farrier-dev/farrier/internal/netboot/dhcp"
	"github.com/farrier-dev/farrier/internal/netboot/dhcp/lease"
	"github.com/farrier-dev/farrier/internal/netboot/dhcp/link"
	v4 "github.com/farrier-dev/farrier/internal/netboot/dhcp/v4"
	v6 "github.com/farrier-dev/farrier/internal/netboot/dhcp/v6"
	"github.com/farrier-dev/farrier/internal/netboot/tftp"
)

// DebianBootFiles is where Debian's package ipxe has its boot programs.
const DebianBootFiles = "/usr/lib/ipxe"

// leaseFile is in the data directory.
const leaseFile = "dhcp-leases.jsonl"

const tftpPort = 69

// Boots says what machines get, and records what they were told over DHCP and TFTP.
type Boots interface {
	dhcp.Boots
	Fetched(file string, from netip.Addr, bytes int64, ok bool)
}

// Service answers DHCP and TFTP.
type Service struct {
	Settings *Settings
	Boots    Boots
	// BootFiles is the directory of boot programs; empty: DebianBootFiles.
	BootFiles string
	// DataDir keeps the leases.
	DataDir string
	// Sighted is told of every client that has an address at the start or takes one later, and may not wait; nil: nobody is.
	Sighted func(dhcp.Sighting)
	Metrics *Metrics
	Logger  logr.Logger
}

// Run answers until ctx ends.
func (s *Service) Run(ctx context.Context) error {
	o := &s.Settings.o
	if !o.Enabled() && o.TFTPAddress == "" {
		return nil
	}
	files := s.openFiles()
	if files.dir != nil {
		defer func() { _ = files.dir.Close() }()
	}
	r := &running{Service: s, files: files, limiter: dhcp.NewLimiter(clock.RealClock{})}
	if err := r.find(); err != nil {
		return err
	}
	if r.pool != nil {
		defer func() { _ = r.pool.Close() }()
		r.sightings = newSightings(r.pool, s.Sighted, s.Logger)
		s.Metrics.setPool(r.pool)
		defer s.Metrics.setPool(nil)
	}
	if err := r.open(ctx); err != nil {
		return errors.Join(err, r.closeAll())
	}
	if r.pool != nil {
		r.sightings.begin()
	}
	return r.serve(ctx)
}

// running is a service with what it holds open.
type running struct {
	*Service
	files   *programs
	limiter *dhcp.Limiter
	links   []link.Interface
	// searches look for other servers on the links; answers wait until the first ones are done (searched).
	searches dhcp.Searches
	// own are the addresses of this host on the links.
	own      []netip.Addr
	searched sync.WaitGroup
	ranges   []lease.Range
	pool     *lease.Pool
	// sightings are of the clients of pool.
	sightings *sightings
	// parts are what runs, and closers what they hold.
	parts   []func(context.Context) error
	closers []func() error
}

// find looks at the interfaces, and makes the pool of what is leased on them.
func (r *running) find() error {
	o := &r.Settings.o
	if !o.Enabled() {
		return nil
	}
	var subnets []netip.Prefix
	for _, name := range o.Interfaces {
		i, err := link.Find(name)
		if err != nil {
			return fmt.Errorf("--dhcp-interface: %w", err)
		}
		r.links = append(r.links, i)
		r.searches.Add(i.MAC)
		for _, p := range i.Subnets {
			subnets, r.own = append(subnets, p.Masked()), append(r.own, p.Addr())
		}
	}
	if o.Mode != Leases {
		return nil
	}
	for _, text := range o.Ranges {
		parsed, err := lease.ParseRange(text, subnets)
		if err != nil {
			return fmt.Errorf("--dhcp-range: %w", err)
		}
		r.ranges = append(r.ranges, parsed)
	}
	if err := lease.CheckRanges(r.ranges, append(slices.Clone(r.own), r.Settings.routers...)); err != nil {
		return fmt.Errorf("--dhcp-range: %w", err)
	}
	if err := os.MkdirAll(r.DataDir, 0o700); err != nil {
		return fmt.Errorf("--data-dir: %w", err)
	}
	var err error
	r.pool, err = lease.New(lease.Config{Ranges: r.ranges, Reserved: r.Settings.reserved, Time: o.LeaseTime, File: filepath.Join(r.DataDir, leaseFile)})
	return err
}

// open opens the sockets, so that what cannot be had is said before anybody is answered.
func (r *running) open(ctx context.Context) error {
	for _, i := range r.links {
		if a, ok := i.IPv4(); ok && r.leases(netip.Addr.Is4) {
			if err := r.open4(ctx, i, a); err != nil {
				return err
			}
		}
		if a, ok := i.IPv6(); ok && r.leases(netip.Addr.Is6) {
			if err := r.open6(ctx, i, a); err != nil {
				return err
			}
		}
	}
	return r.openTFTP(ctx)
}

func (r *running) policy() dhcp.Policy {
	return dhcp.Policy{BootUnknown: r.Settings.o.Unknown == Boot, Program: r.files.program}
}

// boots is who is asked what machines get, and told what they were answered: it is counted, and clients with an address are reported.
func (r *running) boots(version int) dhcp.Boots {
	boots := r.Metrics.counted(version, r.Boots)
	if r.pool == nil {
		return boots
	}
	return reporting{boots, r.sightings}
}

func (r *running) open4(ctx context.Context, i link.Interface, a netip.Addr) error {
	raw := link.OpenRaw(i)
	r.closers = append(r.closers, raw.Close)
	server := v4.NewServer(v4.ServerConfig{
		Handler: v4.NewHandler(v4.Config{
			Boots: r.boots(4), Policy: r.policy(), Pool: r.pool, Server: a, TFTP: r.tftpHost(a), Routers: r.Settings.routers, DNS: r.Settings.dns,
			Domain: r.Settings.o.Domain, OtherServer: func(other netip.Addr) { r.otherServer(i.Name, other) },
		}),
		Segment: raw, Searches: r.searches, Limiter: r.limiter, Dropped: func(why dhcp.Reason) { r.Metrics.decided(4, why) }, Logger: r.Logger, Clock: clock.RealClock{},
	})
	ports := []uint16{v4.ServerPort}
	if r.pool == nil {
		ports = append(ports, v4.ProxyPort)
	}
	for _, port := range ports {
		conn, err := link.Listen(ctx, "udp4", i, port)
		if err != nil {
			return fmt.Errorf("--dhcp-interface: %w", err)
		}
		r.closers = append(r.closers, conn.Close)
		r.parts = append(r.parts, func(ctx context.Context) error {
			r.searched.Wait()
			return server.Serve(ctx, conn, port)
		})
	}
	r.searchServers(i, raw, v4.NewSearch(i.MAC))
	r.Logger.Info("DHCP answers", "link", i.Name, "address", a.String())
	return nil
}

// leases reports whether a family is answered: in server mode one that has a range. The other may have a server of its own.
func (r *running) leases(family func(netip.Addr) bool) bool {
	return r.pool == nil || slices.ContainsFunc(r.ranges, func(of lease.Range) bool { return family(of.First) })
}

func (r *running) open6(ctx context.Context, i link.Interface, own netip.Addr) error {
	server := v6.NewServer(v6.ServerConfig{
		Handler: v6.NewHandler(v6.Config{
			Boots: r.boots(6), Policy: r.policy(), Pool: r.pool, MAC: i.MAC, Server: own, TFTP: r.tftpHost(own), DNS: r.Settings.dns, Domain: r.Settings.o.Domain,
		}),
		Searches: r.searches, Limiter: r.limiter, Dropped: func(why dhcp.Reason) { r.Metrics.decided(6, why) }, Logger: r.Logger, Clock: clock.RealClock{},
	})
	conn, err := link.ListenDHCPv6(ctx, i, v6.ServerPort)
	if err != nil {
		return fmt.Errorf("--dhcp-interface: %w", err)
	}
	r.closers = append(r.closers, conn.Close)
	r.parts = append(r.parts, func(ctx context.Context) error {
		r.searched.Wait()
		return server.Serve(ctx, conn)
	})
	r.searchServers6(i)
	r.Logger.Info("DHCP answers", "link", i.Name, "address", own.String())
	return r.openRouter(ctx, i)
}

// openRouter advertises on a segment that there is DHCP.
func (r *running) openRouter(ctx context.Context, i link.Interface) error {
	if !r.Settings.o.RouterAdvertisements {
		return nil
	}
	iface, err := net.InterfaceByName(i.Name)
	if err != nil {
		return fmt.Errorf("--dhcp-interface: %w", err)
	}
	router := v6.Router{Interface: iface, Clock: clock.RealClock{}}
	for _, p := range i.Subnets {
		if p.Addr().Is6() && !p.Addr().IsLinkLocalUnicast() {
			router.Prefixes = append(router.Prefixes, p.Masked())
		}
	}
	conn, err := router.Open(ctx)
	if err != nil {
		return fmt.Errorf("--dhcp-router-advertisements: %w", err)
	}
	r.closers = append(r.closers, conn.Close)
	r.parts = append(r.parts, func(ctx context.Context) error { return router.Serve(ctx, conn) })
	return nil
}

// tftpHost is where boot programs are: at the address of --tftp-address, if it names one of the family, else where DHCP is.
func (r *running) tftpHost(own netip.Addr) netip.Addr {
	host, _, err := net.SplitHostPort(r.Settings.o.TFTPAddress)
	if err != nil {
		return own
	}
	if a, err := netip.ParseAddr(host); err == nil && !a.IsUnspecified() && a.Is4() == own.Is4() {
		return a
	}
	return own
}

func (r *running) openTFTP(ctx context.Context) error {
	addresses := []string{r.Settings.o.TFTPAddress}
	if addresses[0] == "" {
		addresses = nil
		for _, i := range r.links {
			for _, own := range []func() (netip.Addr, bool){i.IPv4, i.IPv6} {
				if a, ok := own(); ok {
					addresses = append(addresses, netip.AddrPortFrom(a, tftpPort).String())
				}
			}
		}
	}
	server := tftp.New(tftp.Config{Files: r.files, Fetched: r.fetched, SinglePort: r.Settings.o.TFTPSinglePort, Logger: r.Logger})
	for _, address := range addresses {
		var c net.ListenConfig
		conn, err := c.ListenPacket(ctx, "udp", address)
		if err != nil {
			return fmt.Errorf("--tftp-address: %w", err)
		}
		udp, ok := conn.(*net.UDPConn)
		if !ok { // what net returns for udp
			return errors.Join(net.ErrClosed, conn.Close())
		}
		r.closers = append(r.closers, udp.Close)
		r.parts = append(r.parts, func(ctx context.Context) error { return server.Serve(ctx, udp) })
		r.Logger.Info("TFTP answers", "address", udp.LocalAddr().String())
	}
	return nil
}

func (r *running) fetched(file string, from netip.Addr, bytes int64, ok bool) {
	r.Metrics.fetched(ok)
	r.Boots.Fetched(file, from, bytes, ok)
}

func (r *running) closeAll() error {
	var errs []error
	for _, c := range r.closers {
		if err := c(); err != nil && !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// serve runs the parts until ctx ends, or one of them fails.
func (r *running) serve(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	failures := make(chan error, len(r.parts))
	var all sync.WaitGroup
	for _, part := range r.parts {
		all.Go(func() {
			defer cancel() // one that ends ends the others
			failures <- part(ctx)
		})
	}
	all.Wait()
	close(failures)
	errs := []error{r.closeAll()}
	for err := range failures {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// otherServer says that somebody else leases addresses, too. On a segment that several of our links are on, we are not somebody else.
func (r *running) otherServer(name string, a netip.Addr) {
	if slices.Contains(r.own, a) || !r.Metrics.otherServer(a) {
		return
	}
	if r.pool != nil {
		r.Logger.Info("another DHCP server leases addresses on this segment; clients may get theirs from either", "link", name, "address", a.String(), "flag", "--dhcp")
		return
	}
	r.Logger.V(1).Info("DHCP server that leases addresses seen", "link", name, "address", a.String())
}

// programs are the boot programs.
type programs struct {
	path string
	dir  *bootfiles.Dir // nil: there is no directory
}

// openFiles opens the directory of boot programs. Where there is none, machines that boot over HTTP still boot, and so does iPXE.
func (s *Service) openFiles() *programs {
	p := &programs{path: s.BootFiles}
	if p.path == "" {
		p.path = DebianBootFiles
	}
	var err error
	if p.dir, err = bootfiles.Open(p.path); err != nil {
		p.dir = nil
	}
	for _, a := range []dhcp.Arch{dhcp.BIOS, dhcp.X64} {
		if p.program(a) == "" {
			s.Logger.Info("boot program missing: machines of this architecture cannot boot over TFTP; Debian's package ipxe has it", "name", a.String(), "file", filepath.Join(p.path, filepath.Base(dhcp.Programs(a)[0])), "flag", "--boot-files")
		}
	}
	return p
}

// program is the file for an architecture; empty: there is none.
func (p *programs) program(a dhcp.Arch) string {
	if p.dir == nil {
		return ""
	}
	return p.dir.First(dhcp.Programs(a))
}

// File implements tftp.Files.
func (p *programs) File(path string) (*os.File, fs.FileInfo, error) {
	if p.dir == nil {
		return nil, nil, fmt.Errorf("there is no directory %s: install Debian's package ipxe, or name another one by --boot-files", p.path)
	}
	f, info, err := p.dir.File(path)
	if errors.Is(err, bootfiles.ErrNotFound) {
		return nil, nil, fmt.Errorf("%w in %s: Debian's package ipxe has those of x86, others are yours to build", err, p.path)
	}
	return f, info, err
}
