package e2e

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/test/loopback"
	"github.com/farrier-dev/farrier/test/product"
)

// TestAdoption plugs a simulated BMC into a segment where the product leases addresses: it becomes a Server, and nobody writes an object.
func TestAdoption(t *testing.T) {
	needsNamespace(t)
	if !inNamespace(t) {
		return
	}
	newSegment(t)
	believeOwnAddresses(t)
	p := product.Start(t, filepath.Join(t.TempDir(), "data"), "--mac-prefixes-file", writePrefixes(t), "--boot-url", "http://"+segmentAddress+":"+segmentPort, "--dhcp=server", "--dhcp-interface=br0",
		"--dhcp-range=192.0.2.100-192.0.2.110", "--dhcp-adopt", "--dhcp-adopt-networks=192.0.2.0/24")

	conn := clientAt(t, "beside1")
	plugIn := func(mac [6]byte) netip.Addr { return plugIn(t, conn, mac) }
	bystander := plugIn([6]byte{0x52, 0x54, 0, 0, 3, 1})
	mac := [6]byte{0x02, 0xfa, 0x44, 0, 0, 1}
	at := plugIn(mac)
	if out, err := exec.CommandContext(t.Context(), "ip", "addr", "add", at.String()+"/24", "dev", "beside1").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	product.Run(t, product.Farrier, "farrier sim", func(string) {}, "sim", "--servers", "1", "--address", net.JoinHostPort(at.String(), "8000"), "--admin-address", "")

	p.Eventually("a Server", func(ctx context.Context) error {
		var e metalv1.Endpoint
		if err := p.Get(ctx, client.ObjectKey{Name: "bmc-02fa44000001"}, &e); err != nil {
			return err
		}
		if e.Spec.IP != at.String() || e.Labels[metalv1.LabelAdopted] != metalv1.LabelAdoptedDHCP {
			return fmt.Errorf("the Endpoint is %+v %v", e.Spec, e.Labels)
		}
		var bmc metalv1.BMC
		if err := p.Get(ctx, client.ObjectKey{Name: e.Name}, &bmc); err != nil {
			return err
		}
		var servers metalv1.ServerList
		if err := p.List(ctx, &servers); err != nil {
			return err
		}
		if len(servers.Items) != 1 || servers.Items[0].Spec.BMCRef == nil || servers.Items[0].Spec.BMCRef.Name != e.Name {
			return fmt.Errorf("%d Servers; BMC %+v", len(servers.Items), bmc.Status)
		}
		return nil
	})
	// It declines its address, and gets another one.
	declined := append([]byte{53, 1, 4, 54, 4, 192, 0, 2, 1, 50, 4}, at.AsSlice()...)
	if _, err := conn.WriteToUDP(requestOf(mac, declined), &net.UDPAddr{IP: net.IPv4bcast, Port: 67}); err != nil {
		t.Fatal(err)
	}
	next := plugIn(mac)
	if next == at {
		t.Fatalf("leased %s again", at)
	}
	p.Eventually("the Endpoint at its new address", func(ctx context.Context) error {
		var e metalv1.Endpoint
		if err := p.Get(ctx, client.ObjectKey{Name: "bmc-02fa44000001"}, &e); err != nil || e.Spec.IP == next.String() {
			return err
		}
		return fmt.Errorf("it is at %s, want %s", e.Spec.IP, next)
	})
	if err := p.Get(t.Context(), client.ObjectKey{Name: "bmc-525400000301"}, &metalv1.Endpoint{}); !apierrors.IsNotFound(err) {
		t.Errorf("a client that is no BMC, at %s, became an Endpoint: %v", bystander, err)
	}
	if log := p.Log(); !strings.Contains(log, "DHCP client adopted as an Endpoint") {
		t.Errorf("the log does not say so:\n%s", log)
	}
}

// writePrefixes writes a MAC prefix database with credentials.
func writePrefixes(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "prefixes.yaml")
	text := "macPrefixes:\n- {macPrefix: 02fa44, manufacturer: ACME, protocolScheme: http, port: 8000, defaultCredentials: [{username: admin, password: simulated}]}\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// plugIn has a device take an address.
func plugIn(t *testing.T, conn *net.UDPConn, mac [6]byte) netip.Addr {
	t.Helper()
	host := []byte("\x0c\x07idrac-1\x3c\x05iDRAC")
	offer := ask(t, conn, mac, append([]byte{53, 1, 1}, host...))
	taken := slices.Concat([]byte{53, 1, 3, 54, 4}, read(offer).options[54], []byte{50, 4}, offer[16:20])
	return netip.AddrFrom4([4]byte(ask(t, conn, mac, append(taken, host...))[16:20]))
}

// TestAdoptionOverTheBootStream has a boot server without Kubernetes lease the addresses: the manager, which does not, makes the Endpoint of the BMC, and lists the machine
// that nobody knows.
func TestAdoptionOverTheBootStream(t *testing.T) {
	needsNamespace(t)
	if !inNamespace(t) {
		return
	}
	newSegment(t)
	believeOwnAddresses(t)
	const name = "boot-1.north.example"
	data, stream, boot := filepath.Join(t.TempDir(), "data"), "127.0.0.1:"+loopback.Port(t), "http://"+segmentAddress+":"+segmentPort
	p := product.Start(t, data, "--mac-prefixes-file", writePrefixes(t), "--boot-url", "http://127.0.0.1:1", "--boot-url", "north="+boot, "--boot-stream-address", stream,
		"--boot-servers", name+"=north", "--dhcp-adopt", "--dhcp-adopt-networks", "198.51.100.0/24,north=192.0.2.0/24")
	certificates := filepath.Join(data, "boot-stream")
	if out, problem, code := product.Ask(t, product.Farrier, "cert", "issue", name, "--dir", certificates); code != 0 {
		t.Fatalf("farrier cert issue: %s%s", out, problem)
	}
	b := product.Run(t, product.BootServer, name, nil, "--managers", stream, "--manager-name", "boot-stream.farrier.internal", "--certificates-dir", filepath.Join(certificates, name),
		"--data-dir", filepath.Join(t.TempDir(), "data"), "--boot-address", segmentAddress+":"+segmentPort, "--boot-url", boot, "--health-address", "",
		"--dhcp=server", "--dhcp-interface=br0", "--dhcp-range=192.0.2.100-192.0.2.110", "--dhcp-unknown=ignore")
	t.Cleanup(func() {
		b.Kill()
		b.ShowIfFailed()
	})

	conn := clientAt(t, "beside1")
	at := plugIn(t, conn, [6]byte{0x02, 0xfa, 0x44, 0, 0, 1})
	p.Eventually("an Endpoint of the site", func(ctx context.Context) error {
		var e metalv1.Endpoint
		if err := p.Get(ctx, client.ObjectKey{Name: "bmc-02fa44000001"}, &e); err != nil {
			return err
		}
		if e.Spec.IP != at.String() || e.Labels[metalv1.LabelAdopted] != metalv1.LabelAdoptedDHCP || e.Labels[metalv1.LabelSite] != "north" {
			return fmt.Errorf("the Endpoint is %+v %v", e.Spec, e.Labels)
		}
		return nil
	})
	const stranger = "52:54:00:00:03:01"
	ask(t, conn, [6]byte{0x52, 0x54, 0, 0, 3, 1}, append([]byte{53, 1, 1}, firmwareRequests["OVMF PXE"]...))
	p.Eventually("an unknown machine", func(context.Context) error {
		out, problem, code := product.Ask(t, product.Farrier, "unknown", "--kubeconfig", p.Kubeconfig)
		if code != 0 || !strings.Contains(out, stranger) || !strings.Contains(out, "x86_64") {
			return fmt.Errorf("farrier unknown says %q, %q", out, problem)
		}
		return nil
	})
}
