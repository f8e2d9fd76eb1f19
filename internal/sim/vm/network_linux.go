package vm

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
)

// supported reports why this operating system cannot have virtual machines.
func supported() error {
	if runtime.GOARCH != "amd64" {
		return fmt.Errorf("works on amd64, not on %s", runtime.GOARCH)
	}
	return nil
}

// network is a namespace with a bridge, an interface of it for each machine, and one that leads to this host.
type network struct {
	inside, host netns.NsHandle
}

const (
	bridgeName = "br0"
	uplinkName = "up0"
)

// openNetwork makes the network, with that address of this host in it. There is no route to anything else.
func openNetwork(at netip.Prefix, taps int) (*network, error) {
	if err := vacant(); err != nil {
		return nil, err
	}
	n := &network{inside: netns.None(), host: netns.None()}
	var err error
	if n.host, err = netns.Get(); err != nil {
		return nil, err
	}
	made := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // and never unlocked: this thread ends in the other namespace
		made <- n.build(taps)
	}()
	err = <-made
	if err == nil {
		err = joinHost(at)
	}
	if err != nil {
		return nil, errors.Join(err, n.close())
	}
	return n, nil
}

// vacant waits until the interface of an earlier run is gone: the kernel removes it soon after that has ended, however it ended.
func vacant() error {
	const patience, look = 10 * time.Second, 50 * time.Millisecond
	ticker := time.NewTicker(look)
	defer ticker.Stop()
	for tries := patience / look; ; tries-- {
		_, err := netlink.LinkByName(Interface)
		switch {
		case errors.As(err, &netlink.LinkNotFoundError{}):
			return nil
		case err != nil:
			return err
		case tries == 0:
			return fmt.Errorf("interface %s is there already: it belongs to another 'farrier up --sim-vm' on this host", Interface)
		}
		<-ticker.C
	}
}

// build fills a namespace of its own, in which its thread stays.
func (n *network) build(taps int) error {
	var err error
	if n.inside, err = netns.New(); err != nil {
		return fmt.Errorf("namespace: %w", err)
	}
	bridge := &netlink.Bridge{LinkAttrs: named(bridgeName)}
	if err := netlink.LinkAdd(bridge); err != nil {
		return fmt.Errorf("bridge: %w", err)
	}
	// Both ends at once: there is never one without the other.
	up := &netlink.Veth{LinkAttrs: named(uplinkName), PeerName: Interface, PeerNamespace: netlink.NsFd(n.host)}
	if err := netlink.LinkAdd(up); err != nil {
		return fmt.Errorf("interface %s: %w", Interface, err)
	}
	ports := []netlink.Link{up}
	for i := range taps {
		tap := &netlink.Tuntap{LinkAttrs: named(tapName(i)), Mode: netlink.TUNTAP_MODE_TAP}
		if err := netlink.LinkAdd(tap); err != nil {
			return fmt.Errorf("interface %s: %w", tap.Name, err)
		}
		ports = append(ports, tap)
	}
	for _, port := range ports {
		if err := errors.Join(netlink.LinkSetMaster(port, bridge), netlink.LinkSetUp(port)); err != nil {
			return fmt.Errorf("interface %s: %w", port.Attrs().Name, err)
		}
	}
	return netlink.LinkSetUp(bridge)
}

func named(name string) netlink.LinkAttrs {
	attrs := netlink.NewLinkAttrs()
	attrs.Name = name
	return attrs
}

// joinHost gives this host its address in the network. Nothing that comes from there goes on to other networks.
func joinHost(at netip.Prefix) error {
	for _, family := range []string{"ipv4", "ipv6"} {
		if err := disable("/proc/sys/net/" + family + "/conf/" + Interface + "/forwarding"); err != nil {
			return err
		}
	}
	link, err := netlink.LinkByName(Interface)
	if err != nil {
		return err
	}
	address, err := netlink.ParseAddr(at.String())
	if err != nil {
		return err
	}
	if err := errors.Join(netlink.AddrAdd(link, address), netlink.LinkSetUp(link)); err != nil {
		return fmt.Errorf("interface %s: %w", Interface, err)
	}
	return nil
}

// disable sets a switch of the kernel to 0, unless it is, or the kernel has none.
func disable(path string) error {
	now, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) || strings.TrimSpace(string(now)) == "0" {
		return nil
	}
	return os.WriteFile(path, []byte("0"), 0)
}

// start starts a program in the namespace. The channel tells how it ended, and is closed.
func (n *network) start(cmd *exec.Cmd) (<-chan error, error) {
	started, ended := make(chan error, 1), make(chan error, 1)
	go func() {
		// The program dies with the thread that started it (prctl(2), PR_SET_PDEATHSIG). So the thread waits, and ends with it.
		runtime.LockOSThread()
		if err := netns.Set(n.inside); err != nil {
			started <- fmt.Errorf("namespace: %w", err)
			return
		}
		err := cmd.Start()
		started <- err
		if err == nil {
			ended <- cmd.Wait()
			close(ended)
		}
	}()
	return ended, <-started
}

// close removes the interface of this host; the rest goes with the namespace.
func (n *network) close() error {
	var errs []error
	if n.inside.IsOpen() {
		if link, err := netlink.LinkByName(Interface); err == nil {
			errs = append(errs, netlink.LinkDel(link))
		}
		errs = append(errs, n.inside.Close())
	}
	return errors.Join(append(errs, n.host.Close())...)
}
