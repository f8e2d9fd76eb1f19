//go:build linux

package pid1

import (
	"context"
	"errors"
	"fmt"
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

	mu     sync.Mutex
	begun  map[int]bool
	leased map[int]*lease
	offers map[int]string
}

func newNetwork(logger logr.Logger, asks bool) *network {
	return &network{logger: logger, asks: asks, begun: map[int]bool{}, leased: map[int]*lease{}, offers: map[int]string{}}
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
		n.mu.Lock()
		begun := n.begun[link.Index]
		n.begun[link.Index] = true
		n.mu.Unlock()
		if begun {
			continue
		}
		if err := up(link.Index); err != nil {
			n.logger.Error(err, "link not brought up", "link", link.Name)
		}
		if link.Flags&net.FlagLoopback == 0 && len(link.HardwareAddr) == 6 {
			n.logger.Info("network link found", "link", link.Name, "mac", link.HardwareAddr.String())
			go n.keep(ctx, link)
		}
	}
}

func up(index int) error {
	link, err := netlink.LinkByIndex(index)
	if err != nil {
		return err
	}
	return netlink.LinkSetUp(link)
}

// keep gives a link an address, and keeps it. IPv6 addresses come by themselves, from router advertisements (RFC 4862).
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
	n.mu.Lock()
	defer n.mu.Unlock()
	n.leased[link.Index] = got
	if boot != "" {
		n.offers[link.Index] = boot
	}
	n.writeResolver()
	return got, nil
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
	for _, index := range sorted(n.leased) {
		for _, server := range n.leased[index].servers {
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

// offered are the URLs that DHCP servers named, in the order of links.
func (n *network) offered() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	var out []string
	for _, index := range sorted(n.offers) {
		out = append(out, n.offers[index])
	}
	return out
}

func sorted[T any](m map[int]T) []int {
	out := make([]int, 0, len(m))
	for i := range m {
		out = append(out, i)
	}
	slices.Sort(out)
	return out
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
