//go:build linux

package pid1

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/insomniacslk/dhcp/dhcpv4"
	"golang.org/x/sys/unix"
)

// TestMain plays the second process: it says something, leaves an orphan behind and ends the machine.
func TestMain(m *testing.M) {
	if os.Args[0] == DiscoverName {
		fmt.Println("first line")
		fmt.Print("second line without an end")
		os.Exit(exitReboot)
	}
	os.Exit(m.Run())
}

func TestRunOnce(t *testing.T) {
	lines := make(chan []byte, consoleQueue)
	status, err := runOnce(consoles{lines})
	if err != nil || !status.Exited() || status.ExitStatus() != exitReboot {
		t.Fatalf("status %v, %v", status, err)
	}
	close(lines)
	var got []string
	for line := range lines {
		got = append(got, string(line))
	}
	if diff := cmp.Diff([]string{"first line\r\n", "second line without an end"}, got); diff != "" {
		t.Errorf("printed (-want +got):\n%s", diff)
	}
}

// A console that takes nothing holds nobody up.
func TestStuckConsole(t *testing.T) {
	stuck, good := make(chan []byte, 1), make(chan []byte, 3)
	c := consoles{stuck, good}
	for range 3 {
		if n, err := c.Write([]byte("x\n")); n != 2 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
	}
	if len(stuck) != 1 || len(good) != 3 {
		t.Errorf("%d lines wait for the one that is stuck and %d for the other", len(stuck), len(good))
	}
}

func TestIsNot(t *testing.T) {
	if Is() {
		t.Error("a test is no first process")
	}
}

var indexes = fstest.MapFS{
	"modules.dep": {Data: []byte("kernel/virtio.ko:\nkernel/virtio_ring.ko: kernel/virtio.ko\nkernel/virtio-net.ko: kernel/net_failover.ko kernel/virtio_ring.ko kernel/virtio.ko\n" +
		"kernel/net_failover.ko:\nkernel/virtio_pci.ko: kernel/virtio_ring.ko kernel/virtio.ko\nkernel/odd.ko:\nkernel/button.ko:\nbroken line\n")},
	"modules.alias": {Data: []byte("# comment\nalias virtio:d00000001v* virtio_net\nalias pci:v00001AF4d*sv*sd*bc*sc*i* virtio_pci\nalias pci:v*d*sv*sd*bc01sc0[0-4]i* odd\nalias acpi*:LNXPWRBN:* button\nalias broken\nalias pci:[ odd\n")},
}

func TestLoader(t *testing.T) {
	present := []string{"pci:v00001AF4d00001000sv00001AF4sd00000001bc02sc00i00", "pci:v00008086d00000001sv0sd0bc01sc01i00", "acpi:PNP0A08:", "acpi:LNXPWRBN:"}
	var loaded []string
	l := &loader{index: readIndex(indexes), folder: "/m", tried: map[string]bool{}}
	l.load = func(file string) error {
		loaded = append(loaded, file)
		switch file {
		case "/m/kernel/virtio_pci.ko": // its device has another behind it
			present = append(present, "virtio:d00000001v00001AF4")
		case "/m/kernel/odd.ko":
			return unix.ENOMEM
		case "/m/kernel/virtio.ko":
			return unix.EEXIST // built in
		}
		return nil
	}
	got, failed := l.forDevices(func() []string { return present })
	want := []string{
		"/m/kernel/virtio.ko", "/m/kernel/virtio_ring.ko", "/m/kernel/virtio_pci.ko", "/m/kernel/odd.ko", "/m/kernel/button.ko", "/m/kernel/net_failover.ko", "/m/kernel/virtio-net.ko",
	}
	if diff := cmp.Diff(want, loaded); diff != "" {
		t.Errorf("tried (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"kernel/virtio_ring.ko", "kernel/virtio_pci.ko", "kernel/button.ko", "kernel/net_failover.ko", "kernel/virtio-net.ko"}, got); diff != "" {
		t.Errorf("loaded (-want +got):\n%s", diff)
	}
	if len(failed) != 1 || !errors.Is(failed["kernel/odd.ko"], unix.ENOMEM) {
		t.Errorf("failed %v", failed)
	}
	if again, _ := l.forDevices(func() []string { return present }); again != nil || len(loaded) != len(want) {
		t.Errorf("loaded again: %v", again)
	}
	if empty := readIndex(fstest.MapFS{}); len(empty.files) != 0 {
		t.Errorf("an image without modules has %v", empty)
	}
}

func TestModaliases(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"pci0/modalias": "pci:a\n", "pci0/x/modalias": "virtio:b\n", "pci1/modalias": "pci:a\n", "pci1/uevent": "no\n"} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"pci:a", "virtio:b"}, modaliases(dir)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestReadLease(t *testing.T) {
	ack := func(change ...dhcpv4.Modifier) *dhcpv4.DHCPv4 {
		p, err := dhcpv4.New(append([]dhcpv4.Modifier{dhcpv4.WithYourIP(net.IPv4(10, 0, 2, 15)), dhcpv4.WithNetmask(net.CIDRMask(22, 32)), dhcpv4.WithLeaseTime(600)}, change...)...)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	l, err := readLease(ack(
		dhcpv4.WithOption(dhcpv4.OptRouter(net.IPv4(10, 0, 0, 1))), dhcpv4.WithOption(dhcpv4.OptDNS(net.IPv4(10, 0, 0, 2), net.IPv4(10, 0, 0, 3))),
		dhcpv4.WithOption(dhcpv4.OptBootFileName("http://boot/ipxe/"))))
	if err != nil {
		t.Fatal(err)
	}
	if l.prefix.String() != "10.0.2.15/22" || l.router.String() != "10.0.0.1" || len(l.servers) != 2 || l.boot != "http://boot/ipxe/" || l.renewal() != 5*time.Minute {
		t.Errorf("%+v, renewed after %s", l, l.renewal())
	}
	bare, err := readLease(ack(dhcpv4.WithNetmask(nil), dhcpv4.WithLeaseTime(1), dhcpv4.WithOption(dhcpv4.OptBootFileName("undionly.kpxe"))))
	if err != nil || bare.prefix.Bits() != 24 && bare.prefix.Bits() != 0 || bare.router.IsValid() || bare.boot != "" || bare.renewal() != leastRenewal {
		t.Errorf("%+v, %v", bare, err)
	}
	if _, err := readLease(ack(dhcpv4.WithYourIP(net.IPv4zero))); err == nil {
		t.Error("no address was taken for one")
	}
	fromField := ack()
	fromField.BootFileName = "http://boot/httpboot/r/i/sha256-0.efi"
	if got := bootURL(fromField); !strings.HasSuffix(got, ".efi") {
		t.Errorf("the field of BOOTP: %q", got)
	}
}
