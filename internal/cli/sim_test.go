package cli

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.yaml.in/yaml/v3"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bmc/macprefix"
	"github.com/farrier-dev/farrier/test/await"
)

// output is what a command prints while it runs.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// farrier runs one command to its end.
func farrier(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	root := Command()
	root.SetArgs(args)
	root.SetOut(&out)
	root.SetErr(&out)
	err := root.ExecuteContext(t.Context())
	return out.String(), err
}

var readyLine = regexp.MustCompile(`(?m)^ready sim=(\d+) first=(\S+) last=(\S+) admin=http://(\S+)$`)

// startSim runs `farrier sim` until the test ends, and returns the words of its ready line.
func startSim(t *testing.T, args ...string) []string {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	var out output
	root := Command()
	root.SetArgs(append([]string{"sim", "--address", "0.0.0.0:0", "--admin-address", "127.0.0.1:0"}, args...))
	root.SetOut(&out)
	root.SetErr(&out)
	ended := make(chan error, 1)
	go func() { ended <- root.ExecuteContext(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("farrier sim: %v", err)
		}
	})
	var words []string
	await.Until(t, "the ready line", func() string {
		if words = readyLine.FindStringSubmatch(out.String()); words == nil {
			return out.String() + "(nothing else)"
		}
		return ""
	})
	return words
}

func TestSim(t *testing.T) {
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	if err := os.WriteFile(file("faults.yaml"), []byte("faults:\n- {kind: no-uuid, bmcs: [2]}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	words := startSim(t, "--servers", "4", "--vendor", "mix", "--scheme", "https", "--sim-faults", file("faults.yaml"), "--username", "root", "--password", "calvin-and-hobbes",
		"--ca-file", file("ca.pem"), "--print-endpoints", file("endpoints.yaml"), "--print-mac-prefixes", file("prefixes.yaml"))
	if words[1] != "4" {
		t.Errorf("ready line %q", words[0])
	}
	bundle, err := os.ReadFile(file("ca.pem"))
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(bundle)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}
	defer transport.CloseIdleConnections()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, words[2]+"/redfish/v1/Systems", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.SetBasicAuth("root", "calvin-and-hobbes")
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("HTTP %d", resp.StatusCode)
	}
	checkSimFiles(t, file("endpoints.yaml"), file("prefixes.yaml"))
	checkFaultCommands(t, words[4])
}

func checkSimFiles(t *testing.T, endpoints, prefixes string) {
	t.Helper()
	manifests, err := os.ReadFile(endpoints)
	if err != nil {
		t.Fatal(err)
	}
	db, err := macprefix.Load(prefixes)
	if err != nil {
		t.Fatal(err)
	}
	macs := regexp.MustCompile(`macAddress: "(.*)"`).FindAllStringSubmatch(string(manifests), -1)
	if len(macs) != 4 || !strings.Contains(string(manifests), "kind: Endpoint") {
		t.Fatalf("manifests:\n%s", manifests)
	}
	for _, mac := range macs {
		entry, ok := db.Lookup(mac[1])
		if !ok || entry.ProtocolScheme != "https" || entry.Port == 0 || entry.DefaultCredentials[0].Username != "root" {
			t.Errorf("entry %+v for %s", entry, mac[1])
		}
	}
	checkForMetalOperator(t, prefixes, macs)
}

// checkForMetalOperator reads the database as metal-operator does: it takes the colons out of an address, and compares that
// with each prefix as it stands there; it creates a BMC with the entry's console, which its API wants to be one.
func checkForMetalOperator(t *testing.T, prefixes string, macs [][]string) {
	t.Helper()
	text, err := os.ReadFile(prefixes)
	if err != nil {
		t.Fatal(err)
	}
	var database struct {
		MACPrefixes []macprefix.Entry `yaml:"macPrefixes"`
	}
	if err := yaml.Unmarshal(text, &database); err != nil {
		t.Fatal(err)
	}
	consoles := []metalv1.ConsoleProtocolName{metalv1.ConsoleProtocolIPMI, metalv1.ConsoleProtocolSSH, metalv1.ConsoleProtocolSSHLenovo}
	for _, mac := range macs {
		digits := strings.ReplaceAll(mac[1], ":", "")
		at := slices.IndexFunc(database.MACPrefixes, func(e macprefix.Entry) bool { return strings.HasPrefix(digits, e.Prefix) && e.Type == "bmc" })
		if at < 0 {
			t.Errorf("no entry for %s in\n%s", mac[1], text)
			continue
		}
		e := database.MACPrefixes[at]
		if !slices.Contains(consoles, metalv1.ConsoleProtocolName(e.Console.Type)) || e.Console.Port == 0 || len(e.DefaultCredentials) == 0 {
			t.Errorf("entry %+v has no console that the API takes, or no credentials", e)
		}
	}
}

func checkFaultCommands(t *testing.T, admin string) {
	t.Helper()
	run := func(want string, args ...string) {
		t.Helper()
		out, err := farrier(t, append([]string{"sim", "fault", "--admin-address", admin}, args...)...)
		if err != nil || !strings.Contains(out, want) {
			t.Errorf("%v: %v:\n%s", args, err, out)
		}
	}
	refused := func(want string, args ...string) {
		t.Helper()
		_, err := farrier(t, append([]string{"sim", "fault", "--admin-address", admin}, args...)...)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v, want %q", args, err, want)
		}
	}
	run("f1   no-uuid", "list")
	run("f2\n", "set", "--kind", "latency", "--share", "0.5", "--value", "1ms", "--path", "Systems", "--for", "1h")
	run("latency   1ms", "list")
	run("", "clear", "f2")
	refused("there is none", "clear", "f2")
	refused("give the IDs", "clear")
	refused("--kind", "set", "--kind", "gremlins", "--bmcs", "1")
	refused("--value", "set", "--kind", "latency", "--bmcs", "1", "--value", "soon")
	refused("no such BMC", "set", "--kind", "hang", "--bmcs", "5")
	run("", "clear", "--all")
	run("truncated-json", "kinds")
	if out, err := farrier(t, "sim", "fault", "--admin-address", admin, "list"); err != nil || strings.Contains(out, "f1") {
		t.Errorf("after clear --all: %v\n%s", err, out)
	}
}

func TestSimFlagsAreChecked(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "faults.yaml")
	if err := os.WriteFile(bad, []byte("faults:\n  - kind: hang\n    share: 0.5\n    valu: 3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"servers": {[]string{"--servers", "0"}, "--servers"},
		"vendor":  {[]string{"--vendor", "acme"}, `--vendor: vendor "acme"`},
		"network": {[]string{"--network", "127.1"}, "--network"},
		"scheme":  {[]string{"--scheme", "gopher"}, "http or https"},
		"ca":      {[]string{"--ca-file", "x"}, "--ca-file"},
		"admin":   {[]string{"--address", "0.0.0.0:0", "--admin-address", "0.0.0.0:0"}, "--admin-address"},
		"faults":  {[]string{"--sim-faults", bad}, bad + `: faults[0]: line 4: key "valu"`},
		"nobody":  {[]string{"fault", "list", "--admin-address", "127.0.0.1:1"}, "is 'farrier sim' running"},
	} {
		if out, err := farrier(t, append([]string{"sim"}, tc.args...)...); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: error %v, want %q\n%s", name, err, tc.want, out)
		}
	}
}
