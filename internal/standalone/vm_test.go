package standalone

import (
	"slices"
	"strings"
	"testing"

	"github.com/farrier-dev/farrier/internal/netboot/dhcp/service"
)

// Without other flags Farrier answers virtual machines on their own network; flags that are given win.
func TestCompleteVM(t *testing.T) {
	complete := func(change func(*Options), given ...string) Options {
		o := DefaultOptions()
		o.VM.Machines = 2
		change(&o)
		o.CompleteVM(func(flag string) bool { return slices.Contains(given, flag) })
		return o
	}
	o := complete(func(*Options) {})
	if o.DHCP.Mode != service.Leases || !slices.Equal(o.DHCP.Interfaces, []string{"farrier-vm"}) || !slices.Equal(o.DHCP.Ranges, []string{"192.168.177.2-192.168.177.254"}) ||
		!slices.Equal(o.BootURLs, []string{"http://192.168.177.1:8082"}) {
		t.Errorf("%+v, boot URLs %v", o.DHCP, o.BootURLs)
	}
	o = complete(func(o *Options) { o.VM.Network, o.BootAddress = "10.9.8.200/24", "0.0.0.0:9000" })
	if !slices.Equal(o.DHCP.Ranges, []string{"10.9.8.1-10.9.8.199"}) || !slices.Equal(o.BootURLs, []string{"http://10.9.8.200:9000"}) {
		t.Errorf("%+v, boot URLs %v", o.DHCP, o.BootURLs)
	}
	o = complete(func(o *Options) {
		o.DHCP.Ranges, o.BootURLs = []string{"192.168.177.9-192.168.177.10"}, []string{"http://boot.example"}
	}, "dhcp-range", "boot-url")
	if !slices.Equal(o.DHCP.Ranges, []string{"192.168.177.9-192.168.177.10"}) || !slices.Equal(o.BootURLs, []string{"http://boot.example"}) || o.DHCP.Mode != service.Leases {
		t.Errorf("%+v, boot URLs %v", o.DHCP, o.BootURLs)
	}
	if o = complete(func(*Options) {}, "dhcp"); o.DHCP.Mode != service.Off || len(o.DHCP.Interfaces) > 0 || len(o.DHCP.Ranges) > 0 {
		t.Errorf("--dhcp=off: %+v", o.DHCP)
	}
	if o = complete(func(o *Options) { o.BootAddress = "192.0.2.1:8082" }); len(o.BootURLs) > 0 {
		t.Errorf("--boot-address names a host, and machines are told %v", o.BootURLs)
	}
	if o = complete(func(o *Options) { o.VM.Machines = 0 }); o.DHCP.Mode != service.Off || len(o.BootURLs) > 0 {
		t.Errorf("without virtual machines: %+v", o.DHCP)
	}
}

// What cannot work is refused before anything is started, with the flag.
func TestVMIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Options)
		want   string
	}{
		"beside a simulated rack": {func(o *Options) { o.Sim = 1 }, "--sim-vm: "},
		"unknown firmware":        {func(o *Options) { o.VM.Firmware = "efi" }, "--sim-vm-firmware: "},
		"no network":              {func(o *Options) { o.VM.Network = "192.0.2.0" }, "--sim-vm-network: "},
		"no size of memory":       {func(o *Options) { o.VM.Memory = "much" }, "--sim-vm-memory: "},
		"no size of a disk":       {func(o *Options) { o.VM.Disks = []string{"1Gi", "big"} }, "--sim-vm-disks: "},
	} {
		t.Run(name, func(t *testing.T) {
			o := DefaultOptions()
			o.VM.Machines = 1
			c.change(&o)
			if _, err := o.check(); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}
