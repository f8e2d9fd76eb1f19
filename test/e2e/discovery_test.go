package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/machinerecord"
	"github.com/farrier-dev/farrier/internal/image/bootimage"
	"github.com/farrier-dev/farrier/internal/image/discovery"
	"github.com/farrier-dev/farrier/internal/inspection"
	"github.com/farrier-dev/farrier/internal/sim"
)

// discovered is a machine of QEMU with a simulated BMC, whose own simulated machine finds nothing to boot.
type discovered struct {
	*lab
	rack    *sim.Rack
	machine *sim.Machine
	server  string
}

// newDiscovery has the product order the discovery of one machine.
func newDiscovery(t *testing.T, l func(prefixes string) *lab) *discovered {
	t.Helper()
	rack, err := sim.Start(t.Context(), sim.Options{
		Servers: 1, Address: "127.0.0.1:0", Username: "admin", Password: "factory", Seed: 1,
		Timing: sim.Timing{POST: 100 * time.Millisecond}, BootURL: func() string { return "http://127.0.0.1:1/" },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_ = rack.Stop(ctx)
	})
	prefixes := filepath.Join(t.TempDir(), "macs.yaml")
	text := fmt.Sprintf("macPrefixes:\n- macPrefix: %q\n  manufacturer: Simulated\n  protocol: Redfish\n  protocolScheme: http\n  port: %d\n  defaultCredentials:\n  - username: admin\n    password: factory\n",
		sim.MACPrefix, rack.Port())
	if err := os.WriteFile(prefixes, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	info := rack.BMCs()[0]
	d := &discovered{lab: l(prefixes), rack: rack, machine: rack.Machine(0), server: info.Name + "-system-0"}
	endpoint := &metalv1.Endpoint{ObjectMeta: metav1.ObjectMeta{Name: info.Name}}
	endpoint.Spec.IP, endpoint.Spec.MACAddress = info.IP.String(), info.MAC
	d.create(endpoint)
	d.Eventually(d.server+" is switched on to be discovered", func(ctx context.Context) error {
		if rack.Machine(0).PowerState() != sim.PowerOn {
			return fmt.Errorf("it is off: %s", d.why(ctx))
		}
		return nil
	})
	return d
}

// why tells what Farrier says of a boot that does not begin.
func (d *discovered) why(ctx context.Context) string {
	var s metalv1.Server
	var c metalv1.ServerBootConfiguration
	if err := errors.Join(d.Get(ctx, client.ObjectKey{Name: d.server}, &s), d.Get(ctx, client.ObjectKey{Namespace: "farrier-system", Name: d.server}, &c)); err != nil {
		return err.Error()
	}
	var b strings.Builder
	for _, condition := range append(s.Status.Conditions, c.Status.Conditions...) {
		fmt.Fprintf(&b, "%s=%s %s; ", condition.Type, condition.Status, condition.Message)
	}
	return b.String()
}

// buildAgent compiles metalprobe.
func buildAgent(t *testing.T, architecture string) string {
	t.Helper()
	agent := filepath.Join(t.TempDir(), "metalprobe")
	build := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", agent, "../../cmd/metalprobe")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+architecture)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the agent: %v\n%s", err, out)
	}
	return agent
}

// buildProbe builds the discovery image of the kernel that these tests use.
func buildProbe(t *testing.T) discovery.Image {
	t.Helper()
	image, modules := kernel(t)
	built, err := discovery.Build(discovery.Parts{
		Kernel: discovery.Kernel{Image: image, Modules: modules, Version: filepath.Base(modules)}, Agent: buildAgent(t, "amd64"),
		Stub: "/usr/lib/systemd/boot/efi/linuxx64.efi.stub", CommandLine: "console=ttyS0,115200 farrier.lldp-duration=1s",
	})
	if err != nil {
		t.Fatal(err)
	}
	return built
}

// TestDiscoveryImage: the image that Farrier builds, at its own start for one machine and into a registry for the other, boots on real firmware and reports what the machine's SMBIOS says, until its Server is available.
func TestDiscoveryImage(t *testing.T) {
	if os.Getenv(switchVariable) == "" {
		t.Skipf("boots real firmware, which takes minutes: runs where %s is set, as `make e2e` does", switchVariable)
	}
	inFullRuns(t) // TestInspection boots the image, too
	flags := func(prefixes string, more ...string) func(*lab) []string {
		return func(l *lab) []string {
			return append([]string{"--boot-url", l.url, "--mac-prefixes-file", prefixes}, more...)
		}
	}
	t.Run("bios", func(t *testing.T) {
		image, _ := kernel(t)
		d := newDiscovery(t, func(prefixes string) *lab {
			return newLabWith(t, "", flags(prefixes, "--discovery-root", filepath.Join(filepath.Dir(image), ".."), "--registry-address", "127.0.0.1:0"))
		})
		d.boots(t, biosIPXE)
	})
	t.Run("uefi", func(t *testing.T) {
		built := buildProbe(t)
		d := newDiscovery(t, func(prefixes string) *lab {
			return newLabWith(t, "", func(l *lab) []string {
				// The name is short: QEMU's DHCP server has no room for a longer URL.
				place, err := bootimage.Open(t.Context(), l.registry.Reference("uki", "1"), bootimage.Options{PlainHTTP: true}, true)
				if err != nil {
					t.Fatal(err)
				}
				layers := []bootimage.Layer{bootimage.Bytes(bootimage.UKIType, "discovery.efi", built.UKI)}
				if _, err := place.Push(t.Context(), bootimage.Image{Architecture: "amd64", Layers: layers}); err != nil {
					t.Fatal(err)
				}
				return flags(prefixes, "--probe-os-image", l.registry.Reference("uki", "1"))(l)
			})
		})
		d.boots(t, uefiHTTP)
	})
}

// boots has a machine of QEMU boot as the simulated one would, and looks at what is known of it then.
func (d *discovered) boots(t *testing.T, how firmware) {
	t.Helper()
	url := d.url + "/ipxe/"
	if how == uefiHTTP {
		d.Eventually("a UKI for "+d.server, func(context.Context) error {
			if url = d.askHTTPBoot(d.machine.MAC()); !strings.HasSuffix(url, ".efi") {
				return fmt.Errorf("it is to boot %q", url)
			}
			return nil
		})
	}
	disk := filepath.Join(t.TempDir(), "disk")
	if err := os.WriteFile(disk, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(disk, 64<<20); err != nil {
		t.Fatal(err)
	}
	d.registers(t, start(t, how, identity{d.machine.UUID(), "DISCOVERED-1"}, ",bootfile="+url, ",bootindex=0,mac="+d.machine.MAC(), nvram{},
		"-drive", "if=none,id=d0,format=raw,file="+disk, "-device", "virtio-blk-pci,drive=d0,serial=DISK-1"))
	d.isKnown(t)
}

// registers waits until a machine has reported, and its Server is available.
func (d *discovered) registers(t *testing.T, machine *vm) {
	t.Helper()
	machine.prints("done: this machine waits until its BMC switches it off")
	t.Logf("from power-on to the report: %.0f s", time.Since(machine.on).Seconds())
	d.Eventually(d.server+" is available", func(ctx context.Context) error {
		var s metalv1.Server
		if err := d.Get(ctx, client.ObjectKey{Name: d.server}, &s); err != nil {
			return err
		}
		if s.Status.State != metalv1.ServerStateAvailable {
			return fmt.Errorf("it is %s: %s", s.Status.State, d.why(ctx))
		}
		return nil
	})
}

// report is what the record of the inspection holds.
func (d *discovered) report(t *testing.T) inspection.Report {
	t.Helper()
	var record corev1.ConfigMap
	if err := d.Get(t.Context(), client.ObjectKey{Namespace: "farrier-system", Name: d.server + "-inspection"}, &record); err != nil {
		t.Fatal(err)
	}
	registration, err := inspection.Unpack(record.BinaryData[machinerecord.Key], 4<<20)
	if err != nil {
		t.Fatal(err)
	}
	return registration.Data
}

// isKnown compares the record of the inspection with what QEMU was given.
func (d *discovered) isKnown(t *testing.T) {
	t.Helper()
	report := d.report(t)
	system := report.SystemInfo.System
	if diff := cmp.Diff([]string{"Emulated", "DISCOVERED-1", d.machine.UUID()}, []string{system.Manufacturer, system.SerialNumber, system.UUID}); diff != "" {
		t.Errorf("SMBIOS (-given +reported):\n%s", diff)
	}
	if report.SystemInfo.BIOS.Vendor == "" || len(report.CPU) == 0 || len(report.Memory) == 0 || len(report.PCIDevices) == 0 {
		t.Errorf("firmware, processors, memory or PCI devices are missing: %+v", report)
	}
	if !slices.ContainsFunc(report.NetworkInterfaces, func(n inspection.NetworkInterface) bool {
		return n.MACAddress == strings.ToLower(d.machine.MAC()) && n.CarrierStatus == inspection.CarrierUp && slices.Contains(n.IPAddresses, "10.0.2.15")
	}) {
		t.Errorf("network interfaces: %+v", report.NetworkInterfaces)
	}
	if !slices.ContainsFunc(report.Storage, func(b inspection.BlockDevice) bool { return b.Serial == "DISK-1" && b.SizeBytes == 64<<20 }) {
		t.Errorf("disks: %+v", report.Storage)
	}
}
