package e2e

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"

	"github.com/farrier-dev/farrier/internal/bootserver"
	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/bootview/booturl"
	"github.com/farrier-dev/farrier/internal/netboot/dhcp/link"
	"github.com/farrier-dev/farrier/test/product"
)

// What machines boot over IPv6.
const (
	dnsmasqScript6 = "http://[2001:db8::1]:8082/ipxe"
	segmentFile6   = "http://[2001:db8::1]:8082/httpboot/r/os/sha256-01.efi"
)

// decisive6 is decisive over IPv6.
var decisive6 = map[uint16]string{16: "vendor class", 23: "DNS servers", 59: "boot file URL"}

// firmwareRequests6 are options of the firmware in docs/dhcp.md over IPv6.
var firmwareRequests6 = map[string][]byte{
	"operating system": nil,
	"OVMF PXE":         append(vendorClass6("PXEClient:Arch:00007:UNDI:003000"), 0, 61, 0, 2, 0, 7),
	"iPXE":             append(append(vendorClass6("PXEClient:Arch:00007:UNDI:003010"), 0, 61, 0, 2, 0, 7), "\x00\x0f\x00\x06\x00\x04iPXE"...),
	"OVMF HTTP":        append(vendorClass6("HTTPClient:Arch:00016:UNDI:003000"), 0, 61, 0, 2, 0, 16),
}

func vendorClass6(class string) []byte {
	data := binary.BigEndian.AppendUint16([]byte{0, 0, 1, 0x57}, uint16(len(class)))
	return option6(16, append(data, class...))
}

func option6(code uint16, data []byte) []byte {
	b := binary.BigEndian.AppendUint16(nil, code)
	return append(binary.BigEndian.AppendUint16(b, uint16(len(data))), data...)
}

// TestLikeDnsmasqOverIPv6 asks dnsmasq and us the same over IPv6, as firmware does, and compares what decides whether a machine boots.
func TestLikeDnsmasqOverIPv6(t *testing.T) {
	needsNamespace(t)
	program := dnsmasq(t)
	if !inNamespace(t) {
		return
	}
	newSegment(t)
	theirs := askAll6(t, func(t *testing.T) { runDnsmasq(t, program) })
	ours := askAll6(t, runOurs6)
	for name := range firmwareRequests6 {
		for _, kind := range []string{"solicit", "request"} {
			a, b := theirs[name+" "+kind], ours[name+" "+kind]
			for code, what := range decisive6 {
				want, got := a[code], b[code]
				if enterprise := []byte{0, 0, 1, 0x57}; code == 16 && got != nil {
					// dnsmasq has no way to say whose class it is; RFC 8415 §21.16 wants that, and EDK II looks at it.
					if !bytes.HasPrefix(got, enterprise) {
						t.Errorf("%s, %s: the class %x is not Intel's", name, kind, got)
					}
					got = got[len(enterprise):]
				}
				if !bytes.Equal(want, got) {
					t.Errorf("%s, %s: option %d (%s): dnsmasq says %s, we say %s", name, kind, code, what, hex.EncodeToString(want), hex.EncodeToString(got))
				}
			}
			if len(a[3]) != len(b[3]) || !bytes.Equal(a[1], b[1]) {
				t.Errorf("%s, %s: dnsmasq says %x to %x, we say %x to %x", name, kind, a[3], a[1], b[3], b[1])
			}
		}
	}
	t.Logf("compared %d answers", len(theirs))
}

func runOurs6(t *testing.T) {
	t.Helper()
	sites, err := booturl.Parse([]string{"http://[2001:db8::1]:8082"})
	if err != nil {
		t.Fatal(err)
	}
	view := bootview.New()
	view.SetSynced(true)
	mac := net.HardwareAddr(macOf6("iPXE")).String()
	view.Put(bootview.Entry{Name: "IPXEBootConfig/ns/a", MACs: []string{mac}, Rank: bootview.HandWritten, Script: bootview.ExitScript()})
	mac = net.HardwareAddr(macOf6("OVMF HTTP")).String()
	view.Put(bootview.Entry{Name: "HTTPBootConfig/ns/a", MACs: []string{mac}, Rank: bootview.HandWritten, BootsFile: true, FileURL: segmentFile6})
	boot, err := bootserver.New(bootserver.Config{View: view, Sites: sites, Logger: testr.New(t)})
	if err != nil {
		t.Fatal(err)
	}
	files := t.TempDir()
	if err := os.WriteFile(filepath.Join(files, "snponly.efi"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	runService(t, boot, files, "--dhcp=server --dhcp-interface=br0 --dhcp-range=2001:db8::1000-2001:db8::10ff --dhcp-dns=2001:db8::53")
}

// macOf6 is that of a machine by what it runs.
func macOf6(name string) []byte { return []byte{0x52, 0x54, 0, 0, 4, byte(len(name))} }

// askAll6 starts a server, asks it as each firmware does, and ends it.
func askAll6(t *testing.T, start func(*testing.T)) map[string]map[uint16][]byte {
	t.Helper()
	all := map[string]map[uint16][]byte{}
	t.Run("ask", func(t *testing.T) {
		start(t)
		for name, options := range firmwareRequests6 {
			mac := macOf6(name)
			offer := ask6(t, "beside1", 1, mac, options)
			all[name+" solicit"] = offer
			address := option6(5, append(bytes.Clone(offer[3][16:32]), make([]byte, 8)...)) // of the first IAADDR of the IA_NA
			again := append(option6(2, offer[2]), options...)
			all[name+" request"] = ask6(t, "beside1", 3, mac, again, address...)
		}
	})
	return all
}

// solicit asks for an address until a server answers.
func solicit(t *testing.T, at string) { ask6(t, at, 1, []byte{0x52, 0x54, 0, 0, 5, 1}, nil) }

// ask6 sends to all servers of a segment until one answers: it may not listen yet. inside is what is in the IA_NA. The answer comes by the packet socket that searches
// use, for the kernel has no client's port here.
func ask6(t *testing.T, at string, kind byte, mac, options []byte, inside ...byte) map[uint16][]byte {
	t.Helper()
	card, own := linkLocal(t, at)
	b := append([]byte{kind, mac[4], mac[5], kind}, option6(1, append([]byte{0, 3, 0, 1}, mac...))...)
	b = append(b, option6(8, []byte{0, 0})...)
	b = append(b, option6(6, []byte{0, 59, 0, 16, 0, 23})...)
	b = append(b, option6(3, append(make([]byte, 12), inside...))...)
	b = append(b, options...)
	raw := link.OpenRaw(card)
	defer func() { _ = raw.Close() }()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		answers := make(chan map[uint16][]byte, 1)
		heard(t, raw, own, b, answers)
		select {
		case answer := <-answers:
			return answer
		default:
		}
	}
	t.Fatalf("no answer to %x", b)
	return nil
}

// linkLocal waits until an interface has an address of its own, which the kernel makes in its own time.
func linkLocal(t *testing.T, at string) (card link.Interface, own netip.Addr) {
	t.Helper()
	product.Eventually(t, "a link-local address", func(context.Context) (err error) {
		if card, err = link.Find(at); err != nil {
			return err
		}
		var has bool
		if own, has = card.LinkLocal(); !has {
			return fmt.Errorf("%s has %v", at, card.Subnets)
		}
		return nil
	})
	return card, own
}

// heard asks once.
func heard(t *testing.T, raw *link.Raw, own netip.Addr, b []byte, answers chan<- map[uint16][]byte) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Second)
	defer stop()
	from, to := netip.AddrPortFrom(own.WithZone(""), 546), netip.MustParseAddrPort("[ff02::1:2]:547")
	err := raw.Broadcast(ctx, from, to, b, func(_ netip.AddrPort, answer []byte) {
		want := map[byte]byte{1: 2, 3: 7}[b[0]]
		if len(answer) < 4 || answer[0] != want || !bytes.Equal(answer[1:4], b[1:4]) {
			return
		}
		select {
		case answers <- options6(answer[4:]):
			stop()
		default:
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}

func options6(b []byte) map[uint16][]byte {
	all := map[uint16][]byte{}
	for len(b) >= 4 {
		code, n := binary.BigEndian.Uint16(b), int(binary.BigEndian.Uint16(b[2:]))
		if n > len(b)-4 {
			return all
		}
		all[code] = bytes.Clone(b[4 : 4+n])
		b = b[4+n:]
	}
	return all
}
