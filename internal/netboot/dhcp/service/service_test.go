package service

import (
	"context"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/farrier-dev/farrier/internal/netboot/dhcp"
	"github.com/farrier-dev/farrier/internal/netboot/dhcp/lease"
)

// nobody stands for a boot server that knows no machine.
type nobody struct{ files chan string }

func (nobody) Boot(dhcp.Client) dhcp.Boot { return dhcp.Boot{} }
func (nobody) Answered(dhcp.Event)        {}
func (n nobody) Fetched(file string, _ netip.Addr, _ int64, ok bool) {
	if ok {
		n.files <- file
	}
}

func newService(t *testing.T, change func(*Options)) (*Service, *strings.Builder) {
	t.Helper()
	o := Default()
	change(&o)
	settings, err := o.Check()
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	return &Service{
		Settings: settings, Boots: nobody{make(chan string, 8)}, BootFiles: t.TempDir(), DataDir: t.TempDir(), Metrics: NewMetrics(),
		Logger: funcr.New(func(_, line string) { said.WriteString(line + "\n") }, funcr.Options{}),
	}, &said
}

func TestOffAnswersNobody(t *testing.T) {
	s, said := newService(t, func(*Options) {})
	if err := s.Run(t.Context()); err != nil || said.Len() > 0 {
		t.Errorf("%v, said %q", err, said)
	}
}

func TestWhatCannotBeStartedNamesItsFlag(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Options)
		want   string
	}{
		"no such interface": {func(o *Options) { o.Mode, o.Interfaces = Proxy, []string{"there-is-none"} }, "--dhcp-interface"},
		"a range of no interface": {func(o *Options) {
			o.Mode, o.Interfaces, o.Ranges = Leases, []string{"lo"}, []string{"192.0.2.10-192.0.2.20"}
		}, "--dhcp-range"},
		"no such address": {func(o *Options) { o.TFTPAddress = "192.0.2.99:0" }, "--tftp-address"},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := newService(t, c.change)
			if err := s.Run(t.Context()); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want an error that names %s", err, c.want)
			}
		})
	}
}

// Without boot programs the log names the package that has them.
func TestMissingBootProgramsAreNamed(t *testing.T) {
	s, said := newService(t, func(*Options) {})
	p := s.openFiles()
	if p.program(dhcp.X64) != "" || !strings.Contains(said.String(), "Debian's package ipxe") || !strings.Contains(said.String(), "--boot-files") {
		t.Errorf("said %q", said)
	}
	if _, _, err := p.File("snponly.efi"); err == nil || !strings.Contains(err.Error(), "Debian's package ipxe") {
		t.Errorf("%v", err)
	}
	s.BootFiles = filepath.Join(s.BootFiles, "none")
	if _, _, err := s.openFiles().File("snponly.efi"); err == nil || !strings.Contains(err.Error(), "--boot-files") {
		t.Errorf("%v", err)
	}
}

// TFTP without DHCP, for those who have a DHCP server already.
func TestTFTPAlone(t *testing.T) {
	// The port is one that was free a moment ago.
	free, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	address := free.LocalAddr().String()
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	s, _ := newService(t, func(o *Options) { o.TFTPAddress = address })
	if err := os.WriteFile(filepath.Join(s.BootFiles, "undionly.kpxe"), []byte("program"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	conn, err := net.Dial("udp4", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	own, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = own.Close() }()
	to, err := net.ResolveUDPAddr("udp4", address)
	if err != nil {
		t.Fatal(err)
	}
	b, from := make([]byte, 600), (*net.UDPAddr)(nil)
	n := 0
	for try := 0; try < 100 && n == 0; try++ { // it may not listen yet
		if _, err := own.WriteToUDP([]byte("\x00\x01undionly.kpxe\x00octet\x00"), to); err != nil {
			continue
		}
		if err := own.SetReadDeadline(time.Now().Add(200 * time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		n, from, _ = own.ReadFromUDP(b)
	}
	if got := string(b[4:max(n, 4)]); got != "program" {
		t.Fatalf("got %q", got)
	}
	if _, err := own.WriteToUDP([]byte{0, 4, 0, 1}, from); err != nil {
		t.Fatal(err)
	}
	if fetched, ok := s.Boots.(nobody); !ok || <-fetched.files != "undionly.kpxe" {
		t.Error("not recorded")
	}
	if got := testutil.ToFloat64(s.Metrics.transfers.WithLabelValues("sent")); got != 1 {
		t.Errorf("%v files are counted", got)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestOtherServersAreSaidOnce(t *testing.T) {
	m := NewMetrics()
	now := time.Unix(1_700_000_000, 0)
	m.now = func() time.Time { return now }
	other := netip.MustParseAddr("192.0.2.9")
	if !m.otherServer(other) || m.otherServer(other) {
		t.Error("not said, or said twice")
	}
	now = now.Add(otherFor)
	if !m.otherServer(other) {
		t.Error("an hour later it is news again")
	}
	for n := range 1000 { // somebody invents them
		m.otherServer(netip.AddrFrom4([4]byte{10, 0, byte(n >> 8), byte(n)}))
	}
	if len(m.others) > maxOthers {
		t.Errorf("%d are remembered", len(m.others))
	}
}

// A segment that several links of this host are on has a server of ours on each of them.
func TestWeAreNoOtherServer(t *testing.T) {
	var said strings.Builder
	own, other := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.9")
	logger := funcr.New(func(_, line string) { said.WriteString(line) }, funcr.Options{})
	r := &running{Service: &Service{Metrics: NewMetrics(), Logger: logger}, pool: &lease.Pool{}, own: []netip.Addr{own}}
	if r.otherServer("eth1", own); said.Len() > 0 || len(r.Metrics.others) > 0 {
		t.Errorf("said %q", said.String())
	}
	if r.otherServer("eth1", other); !strings.Contains(said.String(), other.String()) || len(r.Metrics.others) != 1 {
		t.Errorf("said %q", said.String())
	}
}

// Whatever a TFTP client asks for, it reads boot programs and nothing else.
func TestNothingButBootPrograms(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(outside, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, _ := newService(t, func(*Options) {})
	if err := os.WriteFile(filepath.Join(s.BootFiles, "undionly.kpxe"), []byte("program"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(s.BootFiles, "link")); err != nil {
		t.Fatal(err)
	}
	up, err := filepath.Rel(s.BootFiles, outside)
	if err != nil {
		t.Fatal(err)
	}
	files := s.openFiles()
	defer func() { _ = files.dir.Close() }()
	for _, path := range []string{
		up, "x/../" + up, "/" + up, outside, strings.TrimPrefix(outside, "/"), "..", ".", "", "/", "link", strings.ReplaceAll(up, "/", `\`), "undionly.kpxe\x00", "undionly.kpxe/", "nothing",
	} {
		if f, _, err := files.File(path); err == nil {
			t.Errorf("%q is %s", path, f.Name())
			_ = f.Close()
		}
	}
	f, _, err := files.File("undionly.kpxe")
	if err != nil {
		t.Fatal(err)
	}
	_ = f.Close()
}
