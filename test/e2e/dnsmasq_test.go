package e2e

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"

	"github.com/farrier-dev/farrier/internal/bootserver"
	"github.com/farrier-dev/farrier/internal/bootview"
	"github.com/farrier-dev/farrier/internal/bootview/booturl"
)

// dnsmasqVariable names the program, where it is not in the path.
const dnsmasqVariable = "FARRIER_E2E_DNSMASQ"

// Options that decide whether a machine boots, and works. Of those that both servers send, the values are the same, and dnsmasq sends none that we do not.
var decisive = map[byte]string{
	1: "subnet mask", 3: "routers", 6: "DNS servers", 15: "domain", 28: "broadcast address", 51: "lease time", 53: "message type", 54: "server", 58: "renewal", 59: "rebinding", 60: "class", 67: "boot file",
}

// TestLikeDnsmasq asks dnsmasq and us the same, as firmware does, and compares the answers.
func TestLikeDnsmasq(t *testing.T) {
	needsNamespace(t)
	program := dnsmasq(t)
	if !inNamespace(t) {
		return
	}
	newSegment(t)
	believeOwnAddresses(t)
	theirs := askAll(t, func(t *testing.T) { runDnsmasq(t, program) })
	ours := askAll(t, runOurs)
	for name := range firmwareRequests {
		for _, kind := range []string{"discover", "request"} {
			a, b := theirs[name+" "+kind], ours[name+" "+kind]
			for what := range a.fields {
				if a.fields[what] != b.fields[what] {
					t.Errorf("%s, %s: %s: dnsmasq says %q, we say %q", name, kind, what, a.fields[what], b.fields[what])
				}
			}
			for code, what := range decisive {
				want, has := a.options[code]
				if got, sent := b.options[code]; has && (!sent || !bytes.Equal(got, want)) {
					t.Errorf("%s, %s: option %d (%s): dnsmasq says %s, we say %s", name, kind, code, what, hex.EncodeToString(want), hex.EncodeToString(got))
				}
			}
		}
	}
	t.Logf("compared %d answers", len(theirs))
}

// dnsmasq finds the program.
func dnsmasq(t *testing.T) string {
	t.Helper()
	if program := os.Getenv(dnsmasqVariable); program != "" {
		return program
	}
	program, err := exec.LookPath("dnsmasq")
	if err != nil {
		t.Skip("dnsmasq is not installed (Debian package dnsmasq-base)")
	}
	return program
}

// believeOwnAddresses has a host, which is client and server here, believe packets of its own addresses.
func believeOwnAddresses(t *testing.T) {
	t.Helper()
	for _, name := range []string{"all", "br0", "beside1"} {
		for setting, value := range map[string]string{"accept_local": "1", "rp_filter": "0"} {
			if err := os.WriteFile(filepath.Join("/proc/sys/net/ipv4/conf", name, setting), []byte(value), 0); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// dnsmasqScript is what iPXE boots.
const dnsmasqScript = "http://192.0.2.1:8082/ipxe"

// firmwareRequests are options of the firmware in docs/dhcp.md, beside the type of the message.
var firmwareRequests = map[string][]byte{
	"operating system": {55, 4, 1, 3, 6, 15},
	"BIOS PXE":         append([]byte("<\x20PXEClient:Arch:00000:UNDI:002001]\x02\x00\x00"), 55, 8, 1, 3, 6, 15, 28, 60, 66, 67),
	"OVMF PXE":         append([]byte("<\x20PXEClient:Arch:00007:UNDI:003000]\x02\x00\x07"), 55, 8, 1, 3, 6, 15, 28, 60, 66, 67),
	"iPXE":             append([]byte("<\x20PXEClient:Arch:00000:UNDI:002001]\x02\x00\x00M\x04iPXE\xaf\x03\xb0\x01\x01"), 55, 8, 1, 3, 6, 15, 28, 60, 66, 67),
	"OVMF HTTP":        append([]byte("<\x21HTTPClient:Arch:00016:UNDI:003000]\x02\x00\x10"), 55, 8, 1, 3, 6, 15, 28, 60, 66, 67),
}

// runDnsmasq starts dnsmasq with what is ours by flags and by what the boot server says.
func runDnsmasq(t *testing.T, program string) {
	t.Helper()
	leaseByDnsmasq(t, program, "br0", "--dhcp-authoritative", "--dhcp-option=option:router,192.0.2.254", "--dhcp-option=option:dns-server,192.0.2.53",
		"--domain=rack.example", "--dhcp-match=set:ipxe,175", "--dhcp-match=set:bios,option:client-arch,0", "--dhcp-match=set:efi,option:client-arch,7", "--dhcp-match=set:http,option:client-arch,16",
		"--dhcp-boot=tag:ipxe,"+dnsmasqScript, "--dhcp-boot=tag:!ipxe,tag:bios,undionly.kpxe,,192.0.2.1", "--dhcp-boot=tag:efi,snponly.efi,,192.0.2.1",
		"--dhcp-boot=tag:http,"+segmentFile, "--dhcp-option-force=tag:http,60,HTTPClient",
		// Over IPv6: option 59 names what to boot, and option 16 repeats the class of HTTP boot (RFC 5970 §3.1; UEFI 2.10 §24.7.3.1).
		"--dhcp-range=2001:db8::1000,2001:db8::10ff,64,1h", "--dhcp-option=option6:dns-server,[2001:db8::53]",
		"--dhcp-userclass=set:ipxe6,iPXE", "--dhcp-vendorclass=set:http6,enterprise:343,HTTPClient", "--dhcp-vendorclass=set:pxe6,enterprise:343,PXEClient",
		"--dhcp-option=tag:ipxe6,option6:bootfile-url,"+dnsmasqScript6, "--dhcp-option=tag:http6,option6:bootfile-url,"+segmentFile6,
		"--dhcp-option=tag:http6,option6:16,HTTPClient",
		"--dhcp-option=tag:pxe6,tag:!ipxe6,option6:bootfile-url,tftp://[2001:db8::1]/snponly.efi")
}

// leaseByDnsmasq has dnsmasq lease addresses of the segment until the test ends, and name what the flags say.
func leaseByDnsmasq(t *testing.T, program, card string, flags ...string) {
	t.Helper()
	startDnsmasq(t, program, append(flags, "--interface="+card, "--dhcp-range=192.0.2.100,192.0.2.110,1h")...)
}

// startDnsmasq runs dnsmasq, as a DHCP server alone, until the test ends.
func startDnsmasq(t *testing.T, program string, flags ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, append(flags, "--no-daemon", "--conf-file=/dev/null", "--port=0", "--bind-interfaces", "--no-ping",
		"--user=root", "--dhcp-leasefile="+filepath.Join(t.TempDir(), "leases"))...)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	ended, err := startWithThread(cmd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
		if t.Failed() {
			t.Logf("dnsmasq: %s", said.String())
		}
	})
}

const segmentFile = "http://192.0.2.1:8082/httpboot/r/os/sha256-01.efi"

func runOurs(t *testing.T) {
	t.Helper()
	sites, err := booturl.Parse([]string{"http://192.0.2.1:8082"})
	if err != nil {
		t.Fatal(err)
	}
	view := bootview.New()
	view.SetSynced(true)
	for n := range len(firmwareRequests) {
		mac := net.HardwareAddr{0x52, 0x54, 0, 0, 2, byte(n)}.String()
		view.Put(bootview.Entry{Name: fmt.Sprintf("IPXEBootConfig/ns/%d", n), MACs: []string{mac}, Rank: bootview.HandWritten, Script: bootview.ExitScript()})
		view.Put(bootview.Entry{Name: fmt.Sprintf("HTTPBootConfig/ns/%d", n), MACs: []string{mac}, Rank: bootview.HandWritten, BootsFile: true, FileURL: segmentFile})
	}
	boot, err := bootserver.New(bootserver.Config{View: view, Sites: sites, Logger: testr.New(t)})
	if err != nil {
		t.Fatal(err)
	}
	files := t.TempDir()
	for _, name := range []string{"undionly.kpxe", "snponly.efi"} {
		if err := os.WriteFile(filepath.Join(files, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	runService(t, boot, files, "--dhcp=server --dhcp-interface=br0 --dhcp-range=192.0.2.100-192.0.2.110 --dhcp-router=192.0.2.254 --dhcp-dns=192.0.2.53 --dhcp-domain=rack.example")
}

// answered is what a server says.
type answered struct {
	fields  map[string]string
	options map[byte][]byte
}

// askAll starts a server, asks it as each firmware does, and ends it.
func askAll(t *testing.T, start func(*testing.T)) map[string]answered {
	t.Helper()
	all := map[string]answered{}
	t.Run("ask", func(t *testing.T) {
		start(t)
		conn := clientAt(t, "beside1")
		n := 0
		for name, options := range firmwareRequests {
			mac := [6]byte{0x52, 0x54, 0, 0, 2, byte(n)}
			n++
			offer := ask(t, conn, mac, append([]byte{53, 1, 1}, options...))
			all[name+" discover"] = read(offer)
			taken := append([]byte{53, 1, 3, 54, 4, 192, 0, 2, 1, 50, 4}, offer[16:20]...)
			all[name+" request"] = read(ask(t, conn, mac, append(taken, options...)))
		}
	})
	return all
}

// requestOf is a request of a client without an address.
func requestOf(mac [6]byte, options []byte) []byte {
	b := make([]byte, 240, 600)
	copy(b, []byte{1, 1, 6, 0, 0, 0, 2, mac[5], 0, 0, 0x80, 0}) // broadcast: the card of this test has another address
	copy(b[28:], mac[:])
	binary.BigEndian.PutUint32(b[236:], 0x63825363)
	b = append(append(b, options...), 255)
	return append(b, make([]byte, 300-min(300, len(b)))...)
}

// ask broadcasts a request until it is answered: the server may not listen yet.
func ask(t *testing.T, conn *net.UDPConn, mac [6]byte, options []byte) []byte {
	t.Helper()
	b := requestOf(mac, options)
	answer := make([]byte, 2000)
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		if _, err := conn.WriteToUDP(b, &net.UDPAddr{IP: net.IPv4bcast, Port: 67}); err != nil {
			t.Fatal(err)
		}
		if err := conn.SetReadDeadline(time.Now().Add(2 * time.Second)); err != nil {
			t.Fatal(err)
		}
		for {
			n, err := conn.Read(answer)
			if err != nil {
				break
			}
			if n > 240 && answer[0] == 2 && bytes.Equal(answer[28:34], mac[:]) && bytes.Contains(answer[240:n], []byte{53, 1, options[2] + 1 + options[2]/3}) {
				return answer[:n]
			}
		}
	}
	t.Fatalf("no answer to %x", options)
	return nil
}

// read takes an answer apart (RFC 2131 §2). A boot file is in its field, or in option 67, as servers like.
func read(b []byte) answered {
	a := answered{fields: map[string]string{}, options: map[byte][]byte{}}
	for rest := b[240:]; len(rest) > 2 && rest[0] != 255; {
		if rest[0] == 0 {
			rest = rest[1:]
			continue
		}
		a.options[rest[0]] = append(a.options[rest[0]], rest[2:2+int(rest[1])]...)
		rest = rest[2+int(rest[1]):]
	}
	file := strings.TrimRight(string(b[108:236]), "\x00")
	if named := a.options[67]; named != nil {
		a.options[67] = bytes.TrimRight(named, "\x00")
		file = string(a.options[67])
	}
	a.fields["boot file"] = file
	if next := net.IP(b[20:24]); file != "" {
		a.fields["next server"] = next.String()
	}
	a.fields["flags"] = hex.EncodeToString(b[10:12])
	return a
}
