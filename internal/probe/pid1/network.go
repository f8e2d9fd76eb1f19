//go:build linux

package pid1

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

const isARM = runtime.GOARCH == "arm64"

const (
	// lookForLinks is how often links are looked for that have appeared.
	lookForLinks = time.Second
	// carrierWait is how often a link without a partner is looked at.
	carrierWait = time.Second
	leasePause  = 5 * time.Second
	// metricOf orders default routes: links are asked in the order in which the kernel found them.
	metricOf = 100
)

// network brings up every link and keeps its addresses.
type network struct {
	logger logr.Logger
	// asks reports whether DHCP servers are to be asked what this machine boots.
	asks bool

	mu      sync.Mutex
	begun   map[int]time.Time       // since when links are kept, by index
	servers map[source][]netip.Addr // of names
	offers  map[source]string
}

// source is whom something is from: the DHCP servers of a link.
type source struct{ link, family int }

func newNetwork(logger logr.Logger, asks bool) *network {
	return &network{logger: logger, asks: asks, begun: map[int]time.Time{}, servers: map[source][]netip.Addr{}, offers: map[source]string{}}
}

// run looks for links until the context ends.
func (n *network) run(ctx context.Context) {
	ticker := time.NewTicker(lookForLinks)
	defer ticker.Stop()
	for {
		n.look(ctx)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func (n *network) look(ctx context.Context) {
	links, err := net.Interfaces()
	if err != nil {
		n.logger.Error(err, "links not listed")
		return
	}
	for _, link := range links {
		if !n.begin(link.Index) {
			continue
		}
		if err := up(link.Index); err != nil {
			n.logger.Error(err, "link not brought up", "link", link.Name)
		}
		if isNetwork(link) {
			n.logger.Info("network link found", "link", link.Name, "mac", link.HardwareAddr.String())
			go n.keep(ctx, link)
			go n.keep6(ctx, link)
		}
	}
}

// begin notes that a link is kept from now on, and reports whether it was not before.
func (n *network) begin(index int) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, begun := n.begun[index]; begun {
		return false
	}
	n.begun[index] = time.Now()
	return true
}

func up(index int) error {
	link, err := netlink.LinkByIndex(index)
	if err != nil {
		return err
	}
	return netlink.LinkSetUp(link)
}

// keep gives a link an IPv4 address, and keeps it.
func (n *network) keep(ctx context.Context, link net.Interface) {
	logger := n.logger.WithValues("link", link.Name)
	var current *lease
	for told := false; ctx.Err() == nil; {
		if !hasCarrier(link.Name) {
			if !told {
				logger.Info("network link has no carrier")
				told = true
			}
			sleep(ctx, carrierWait)
			continue
		}
		next, err := n.lease(ctx, link, current)
		if err != nil {
			logger.Info("no address by DHCP, asking again", "error", err)
			current = nil // a refused renewal begins anew
			sleep(ctx, leasePause)
			continue
		}
		if current == nil || current.prefix != next.prefix {
			logger.Info("address assigned by DHCP", "address", next.prefix.String())
		}
		current = next
		sleep(ctx, next.renewal())
	}
}

// lease asks for an address and sets it.
func (n *network) lease(ctx context.Context, link net.Interface, current *lease) (*lease, error) {
	client, err := openDHCP(link.Name, link.HardwareAddr)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	got, err := client.get(ctx, current)
	if err != nil {
		return nil, err
	}
	if err := set(link.Index, got, current); err != nil {
		return nil, err
	}
	boot := got.boot
	if boot == "" && n.asks {
		boot = client.bootFrom(ctx)
	}
	n.learn(source{link.Index, 4}, got.servers, boot)
	return got, nil
}

// learn takes what DHCP servers say beside an address.
func (n *network) learn(from source, servers []netip.Addr, boot string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.servers[from] = servers
	if boot != "" {
		n.offers[from] = boot
	}
	n.writeResolver()
}

// set puts an address and its default route on a link. The address before, if it is another, goes.
func set(index int, l, before *lease) error {
	link, err := netlink.LinkByIndex(index)
	if err != nil {
		return err
	}
	if before != nil && before.prefix != l.prefix {
		_ = netlink.AddrDel(link, &netlink.Addr{IPNet: ipNet(before.prefix)}) // it may have gone by itself
	}
	lifetime := int(l.seconds / time.Second)
	if err := netlink.AddrReplace(link, &netlink.Addr{IPNet: ipNet(l.prefix), ValidLft: lifetime, PreferedLft: lifetime}); err != nil {
		return fmt.Errorf("address %s: %w", l.prefix, err)
	}
	if !l.router.IsValid() {
		return nil
	}
	route := &netlink.Route{LinkIndex: index, Gw: l.router.AsSlice(), Priority: metricOf + index}
	if !l.prefix.Contains(l.router) {
		route.Flags = int(netlink.FLAG_ONLINK) // some networks have their router elsewhere
	}
	if err := netlink.RouteReplace(route); err != nil && !errors.Is(err, unix.EEXIST) {
		return fmt.Errorf("route by %s: %w", l.router, err)
	}
	return nil
}

func ipNet(p netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
}

// writeResolver writes the name servers down where Go looks for them (resolv.conf(5)). The caller holds the lock.
func (n *network) writeResolver() {
	var b strings.Builder
	seen := map[netip.Addr]bool{}
	for _, from := range sorted(n.servers) {
		for _, server := range n.servers[from] {
			if !seen[server] {
				seen[server] = true
				fmt.Fprintf(&b, "nameserver %s\n", server)
			}
		}
	}
	if err := os.WriteFile("/etc/resolv.conf", []byte(b.String()), 0o644); err != nil {
		n.logger.Error(err, "name servers not written")
	}
}

// offered are the URLs that DHCP servers named.
func (n *network) offered() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	var out []string
	for _, from := range sorted(n.offers) {
		out = append(out, n.offers[from])
	}
	return out
}

// sorted are those of IPv4 first, each in the order of links.
func sorted[T any](m map[source]T) []source {
	return slices.SortedFunc(maps.Keys(m), func(a, b source) int {
		return cmp.Or(cmp.Compare(a.family, b.family), cmp.Compare(a.link, b.link))
	})
}

// hasCarrier reports whether something is at the other end.
func hasCarrier(link string) bool {
	text, err := os.ReadFile("/sys/class/net/" + link + "/carrier")
	return err == nil && strings.TrimSpace(string(text)) == "1"
}

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
