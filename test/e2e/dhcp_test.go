package e2e

import (
	"context"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"
	"github.com/spf13/pflag"

	"github.com/farrier-dev/farrier/internal/bootserver"
	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/bootview/booturl"
	"github.com/farrier-dev/farrier/internal/netboot/dhcp/link"
	"github.com/farrier-dev/farrier/internal/netboot/dhcp/service"
)

// insideVariable says that this process is in a network namespace of its own.
const insideVariable = "FARRIER_E2E_NETNS"

const (
	segmentAddress, segmentAddress6 = "192.0.2.1", "2001:db8::1"
	segmentPort                     = "8082"
	besideAddress                   = "192.0.2.2"
	segmentTap                      = "tap0" // at which machines are
)

// TestDHCP boots real firmware on a segment where there is no DHCP and no TFTP but ours: a bridge in a network namespace, with the machines' cards on it.
func TestDHCP(t *testing.T) {
	needsNamespace(t)
	if !inNamespace(t) {
		return
	}
	newSegment(t)
	for _, c := range []struct {
		name   string
		how    firmware
		beside bool // another server leases, and ours says what to boot
		flags  string
		asked  []string // of DHCP, TFTP and HTTP
		family string
	}{
		{"iPXE of a BIOS card", biosIPXE, false, "--dhcp-range=192.0.2.100-192.0.2.110", []string{"DHCP ack: chainload script", "Chainload", "Script"}, ""},
		{"iPXE of an EFI card", uefiIPXE, false, "--dhcp-range=192.0.2.100-192.0.2.110", []string{"DHCP ack: chainload script", "Chainload", "Script"}, ""},
		{"PXE of OVMF", uefiPXE, false, "--dhcp-range=192.0.2.100-192.0.2.110", []string{"DHCP ack: snponly.efi", "Program snponly.efi"}, "IPv4"},
		{"HTTP boot of OVMF", uefiHTTP, false, "--dhcp-range=192.0.2.100-192.0.2.110", []string{"DHCP ack: boot file", "HTTP /httpboot/r/os/sha256-01.efi"}, ""},
		{"PXE of OVMF over IPv6", uefiPXE, false, "--dhcp-range=2001:db8::1000-2001:db8::10ff/64 --dhcp-router-advertisements", []string{"DHCP reply: snponly.efi", "Program snponly.efi"}, "IPv6"},
		{"iPXE of a BIOS card beside another server", biosIPXE, true, "", []string{"DHCP offer: chainload script", "Chainload", "Script"}, ""},
		{"PXE of OVMF beside another server", uefiPXE, true, "", []string{"DHCP offer: snponly.efi", "Program snponly.efi"}, "IPv4"},
		{"HTTP boot of OVMF beside another server", uefiHTTP, true, "", []string{"DHCP offer: boot file", "HTTP /httpboot/r/os/sha256-01.efi"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.how == uefiIPXE {
				inFullRuns(t) // TestIPXE boots the card's EFI driver
			}
			flags := "--dhcp=server --dhcp-interface=br0 " + c.flags
			if c.beside {
				inFullRuns(t) // TestBesideAnotherServer
				flags = "--dhcp=proxy --dhcp-interface=br0"
				serveBeside(t)
			}
			s := serveSegment(t, flags)
			machine := powerOnSegment(t, c.how, c.family)
			for _, want := range c.asked {
				s.await(t, want)
			}
			machine.reached()
		})
	}
}

// needsNamespace skips a test where it cannot have a network namespace.
func needsNamespace(t *testing.T) {
	t.Helper()
	if os.Getenv(switchVariable) == "" {
		t.Skipf("runs where %s is set, as `make e2e` does", switchVariable)
	}
	if os.Geteuid() != 0 {
		t.Skip("needs root, for a network namespace")
	}
}

// inNamespace reports whether a test runs in a network namespace of its own. If not, it has run there when this returns.
func inNamespace(t *testing.T) bool {
	t.Helper()
	if os.Getenv(insideVariable) != "" {
		return true
	}
	runInside(t, "^"+t.Name()+"$")
	return false
}

// clientAt is a socket of a DHCP client at an interface.
func clientAt(t *testing.T, name string) *net.UDPConn {
	t.Helper()
	card, err := link.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := link.Listen(t.Context(), "udp4", card, 68)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// runInside runs a test of this program in a network namespace.
func runInside(t *testing.T, name string) {
	t.Helper()
	if _, part, some := strings.Cut(flag.Lookup("test.run").Value.String(), "/"); some {
		name += "/" + part
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run="+name, "-test.v", "-test.timeout=25m", fmt.Sprintf("-test.short=%v", testing.Short()))
	cmd.Env = append(os.Environ(), insideVariable+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
}

// newSegment makes the bridge.
func newSegment(t *testing.T) {
	t.Helper()
	for _, args := range []string{
		"link set lo up", "link add br0 type bridge forward_delay 0", "addr add " + segmentAddress + "/24 dev br0", "addr add " + segmentAddress6 + "/64 dev br0 nodad",
		"link add beside0 type veth peer name beside1", "link set beside0 master br0", "link set beside0 up", "link set beside1 up", "addr add " + besideAddress + "/24 dev beside1",
		"tuntap add dev " + segmentTap + " mode tap", "link set " + segmentTap + " master br0", "link set " + segmentTap + " up", "link set br0 up",
	} {
		ip(t, args)
	}
}

// ip runs a command of iproute2.
func ip(t *testing.T, args string) {
	t.Helper()
	if out, err := exec.Command("ip", strings.Fields(args)...).CombinedOutput(); err != nil {
		t.Fatalf("ip %s: %v\n%s (Debian package iproute2)", args, err, out)
	}
}

// segment is what machines were given on it.
type segment struct {
	mu    sync.Mutex
	given []string
}

func (s *segment) note(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(s.given, what) {
		s.given = append(s.given, what)
	}
}

func (s *segment) has(what string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(s.given, what)
}

func (s *segment) await(t *testing.T, what string) {
	t.Helper()
	for deadline := time.Now().Add(patience); !s.has(what); {
		if time.Now().After(deadline) {
			s.mu.Lock()
			defer s.mu.Unlock()
			t.Fatalf("not asked for %q within %s, but for %q", what, patience, s.given)
		}
		<-time.After(100 * time.Millisecond)
	}
}

const segmentUUID = "6f0c2b1e-6d6a-4b5c-9a55-0a3c7d1e0100"

// serveSegment answers DHCP, TFTP and HTTP on the segment until the test ends.
func serveSegment(t *testing.T, flags string) *segment {
	t.Helper()
	s := &segment{}
	sites, err := booturl.Parse([]string{"http://" + net.JoinHostPort(segmentAddress, segmentPort), "http://" + net.JoinHostPort(segmentAddress6, segmentPort)})
	if err != nil {
		t.Fatal(err)
	}
	view := bootview.New()
	view.Put(bootview.Entry{Name: "IPXEBootConfig/ns/a", UUID: segmentUUID, Rank: bootview.HandWritten, Script: bootview.CustomScript([]byte("#!ipxe\npoweroff\n"))})
	view.Put(bootview.Entry{Name: "HTTPBootConfig/ns/a", UUID: segmentUUID, Rank: bootview.HandWritten, BootsFile: true, FileURL: sites.Of("").Object() + "/httpboot/r/os/sha256-01.efi"})
	view.SetSynced(true)
	boot, err := bootserver.New(bootserver.Config{View: view, Sites: sites, Logger: testr.New(t), Deliver: func(d bootview.Delivery) {
		s.note(strings.TrimSpace(string(d.Kind) + " " + d.What))
	}})
	if err != nil {
		t.Fatal(err)
	}
	files := t.TempDir()
	if err := os.WriteFile(filepath.Join(files, "snponly.efi"), make([]byte, 200_000), 0o600); err != nil {
		t.Fatal(err)
	}
	runService(t, boot, files, flags)
	for _, address := range []string{segmentAddress, segmentAddress6} {
		l, err := net.Listen("tcp", net.JoinHostPort(address, segmentPort))
		if err != nil {
			t.Fatal(err)
		}
		web := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			s.note("HTTP " + r.URL.Path)
			boot.ServeHTTP(w, r)
		})}
		go func() { _ = web.Serve(l) }()
		t.Cleanup(func() { _ = web.Close() })
	}
	return s
}

// serveBeside is another DHCP server on the segment: it leases addresses and names nothing to boot.
func serveBeside(t *testing.T) *service.Metrics {
	t.Helper()
	return runService(t, unknowing(t), t.TempDir(), "--dhcp=server --dhcp-interface=beside1 --dhcp-range=192.0.2.100-192.0.2.110 --dhcp-unknown=ignore")
}

// unknowing is a boot server that knows no machine.
func unknowing(t *testing.T) *bootserver.Server {
	t.Helper()
	view := bootview.New()
	view.SetSynced(true)
	boot, err := bootserver.New(bootserver.Config{View: view, Logger: testr.New(t)})
	if err != nil {
		t.Fatal(err)
	}
	return boot
}

// runService answers DHCP and TFTP until the test ends.
func runService(t *testing.T, boot service.Boots, files, flags string) *service.Metrics {
	t.Helper()
	o := service.Default()
	f := pflag.NewFlagSet("dhcp", pflag.ContinueOnError)
	o.Bind(f)
	if err := f.Parse(strings.Fields(flags)); err != nil {
		t.Fatal(err)
	}
	settings, err := o.Check()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	m := service.NewMetrics()
	var parts sync.WaitGroup
	t.Cleanup(func() {
		cancel()
		parts.Wait()
	})
	parts.Go(func() {
		run := &service.Service{Settings: settings, Boots: boot, BootFiles: files, DataDir: t.TempDir(), Metrics: m, Logger: testr.New(t)}
		if err := run.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	return m
}

// powerOnSegment switches a machine on whose card is on the segment.
func powerOnSegment(t *testing.T, how firmware, family string) *vm {
	t.Helper()
	return startOnSegment(t, how, identity{segmentUUID, ""}, "52:54:00:00:01:00", family)
}

// startOnSegment is the same for a machine of this name.
func startOnSegment(t *testing.T, how firmware, who identity, mac, family string, more ...string) *vm {
	t.Helper()
	return startOn(t, how, who, "tap,id=n0,ifname="+segmentTap+",script=no,downscript=no,vnet_hdr=off", "virtio-net-pci,netdev=n0,bootindex=0,mac="+mac, family, nvram{}, more...)
}
