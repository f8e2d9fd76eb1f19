package standalone

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/farrier-dev/farrier/internal/netboot/dhcp/lease"
	"github.com/farrier-dev/farrier/internal/netboot/dhcp/service"
	"github.com/farrier-dev/farrier/internal/sim/vm"
)

// VMOptions is what can be said about virtual machines. Fields are named after the flags, --sim-vm-….
type VMOptions struct {
	// Machines is how many there are; 0: none.
	Machines int
	// Firmware are kinds that alternate; Memory and Disks are sizes of each machine, as Kubernetes writes them.
	Firmware, Memory string
	Disks            []string
	// Network is the address of this host in their network, with its length.
	Network string
}

// defaultVM is what virtual machines are without flags.
func defaultVM() VMOptions {
	return VMOptions{Firmware: string(vm.BIOS), Memory: "1Gi", Disks: []string{"4Gi"}, Network: "192.168.177.1/24"}
}

// vmDir keeps the files of virtual machines in the data directory.
const vmDir = "sim-vm"

// CompleteVM has Farrier answer virtual machines, as far as no flag says otherwise: DHCP on their network, and a boot server that they reach there.
func (o *Options) CompleteVM(given func(flag string) bool) {
	at, err := netip.ParsePrefix(o.VM.Network)
	if o.VM.Machines == 0 || err != nil {
		return // check says so
	}
	if !given("dhcp") {
		o.DHCP.Mode = service.Leases
	}
	if !given("dhcp-interface") && o.DHCP.Enabled() {
		o.DHCP.Interfaces = []string{vm.Interface}
	}
	if !given("dhcp-range") && o.DHCP.Mode == service.Leases {
		o.DHCP.Ranges = []string{rangeBeside(at)}
	}
	host, port, err := net.SplitHostPort(o.BootAddress)
	if given("boot-url") || o.BootTLSAddress != "" || err != nil || port == "0" {
		return
	}
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
		o.BootURLs = []string{"http://" + net.JoinHostPort(at.Addr().String(), port)}
	}
}

// rangeBeside are the addresses of a network but the first, the last and that of this host: the larger part on one side of it.
func rangeBeside(at netip.Prefix) string {
	first := at.Masked().Addr().Next()
	last := lease.Broadcast(at).Prev()
	own := at.Addr()
	if below, above := distance(first, own), distance(own, last); above >= below {
		first = own.Next()
	} else {
		last = own.Prev()
	}
	return first.String() + "-" + last.String()
}

func distance(from, to netip.Addr) int64 {
	number := func(a netip.Addr) (n int64) {
		for _, b := range a.As4() {
			n = n<<8 | int64(b)
		}
		return n
	}
	return number(to) - number(from)
}

// vmSettings reads what options say of virtual machines, and refuses what cannot work.
func (o Options) vmSettings() (*vm.Settings, error) {
	if o.VM.Machines == 0 {
		return nil, nil
	}
	var errs []error
	refuse := func(flag string, err error) { errs = append(errs, fmt.Errorf("--%s: %w", flag, err)) }
	s := &vm.Settings{Machines: o.VM.Machines, Dir: filepath.Join(o.DataDir, vmDir), Logger: o.Logger.WithName("sim")}
	if o.Sim > 0 {
		refuse("sim-vm", errors.New("a rack has simulated machines (--sim) or virtual ones"))
	}
	var err error
	if s.Kinds, err = vm.ParseKinds(o.VM.Firmware); err != nil {
		refuse("sim-vm-firmware", err)
	}
	if s.Network, err = netip.ParsePrefix(o.VM.Network); err != nil {
		refuse("sim-vm-network", err)
	}
	memory, err := resource.ParseQuantity(o.VM.Memory)
	if err != nil {
		refuse("sim-vm-memory", err)
	}
	s.MemoryMiB = int(memory.Value() >> 20)
	for _, text := range o.VM.Disks {
		size, err := resource.ParseQuantity(strings.TrimSpace(text))
		if err != nil {
			refuse("sim-vm-disks", err)
		}
		s.Disks = append(s.Disks, size.Value())
	}
	if len(errs) == 0 {
		if err := s.Check(); err != nil {
			refuse("sim-vm", err)
		}
	}
	return s, errors.Join(errs...)
}
