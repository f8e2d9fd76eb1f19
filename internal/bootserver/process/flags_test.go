package process

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/utils/clock"

	"github.com/farrier-dev/farrier/internal/bootstream/authority"
)

// TestWhatCannotWork is refused at the start, by the name of its flag.
func TestWhatCannotWork(t *testing.T) {
	p := newPKI(t)
	folder := p.folder("boot-1", authority.BootServer)
	write := func(content string, mode os.FileMode) string {
		path := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(path, []byte(content), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for name, c := range map[string]struct {
		change func(*Options)
		flag   string // empty: it is taken
	}{
		"all is well":                   {func(*Options) {}, ""},
		"no manager":                    {func(o *Options) { o.Managers = nil }, "--managers"},
		"a manager without a port":      {func(o *Options) { o.Managers = []string{"manager.example"} }, "--managers"},
		"a manager without a host":      {func(o *Options) { o.Managers = []string{":8444"} }, "--managers"},
		"a manager of any name":         {func(o *Options) { o.ManagerName = "" }, "--manager-name"},
		"a manager by its address":      {func(o *Options) { o.ManagerName = "*.example" }, "--manager-name"},
		"no certificates":               {func(o *Options) { o.CertificatesDir = t.TempDir() }, "--certificates-dir"},
		"the certificates of nobody":    {func(o *Options) { o.CertificatesDir = "" }, "--certificates-dir"},
		"a token without an address":    {func(o *Options) { o.JoinTokenFile = "x" }, "--join-token-file"},
		"an authority without one":      {func(o *Options) { o.JoinCAFile = "x" }, "--join-ca-file"},
		"an address without a port":     {func(o *Options) { o.JoinAddress = "manager" }, "--join-address"},
		"joining without a token":       {func(o *Options) { o.join(folder); o.JoinTokenFile = "" }, "--join-token-file"},
		"joining with a token that is":  {func(o *Options) { o.join(folder); o.JoinTokenFile = write("secret", 0o600) }, "--join-token-file"},
		"joining without an authority":  {func(o *Options) { o.join(folder); o.JoinCAFile = "" }, "--join-ca-file"},
		"joining with no authority":     {func(o *Options) { o.join(folder); o.JoinCAFile = write("x", 0o600) }, "--join-ca-file"},
		"an authority that is not here": {func(o *Options) { o.join(folder); o.JoinCAFile = "/none" }, "--join-ca-file"},
		"no key":                        {func(o *Options) { o.ViewKeyFile = "/none" }, "--view-key-file"},
		"a key for everybody":           {func(o *Options) { o.ViewKeyFile = write(viewKey, 0o644) }, "--view-key-file"},
		"a password":                    {func(o *Options) { o.ViewKeyFile = write("password", 0o600) }, "--view-key-file"},
		"a negative age":                {func(o *Options) { o.ServeStale = -1 }, "--serve-stale"},
		"TLS without a certificate":     {func(o *Options) { o.BootTLSAddress = "127.0.0.1:0" }, "--boot-tls-cert-file"},
		"TLS without its key":           {func(o *Options) { o.BootTLSAddress, o.BootTLSCertFile = "127.0.0.1:0", folder+"/tls.crt" }, "--boot-tls-key-file"},
		"metrics without files":         {func(o *Options) { o.MetricsAddress = "127.0.0.1:0" }, "--metrics-client-ca-file"},
		"metrics of files":              {func(o *Options) { o.measured(folder) }, ""},
		"metrics without a certificate": {func(o *Options) { o.measured(folder); o.MetricsCertFile = "/none" }, "--metrics-cert-file"},
		"metrics for nobody":            {func(o *Options) { o.measured(folder); o.MetricsClientCAFile = write("x", 0o600) }, "--metrics-client-ca-file"},
		"metrics for everybody":         {func(o *Options) { o.MetricsAddress, o.MetricsPlain = ":0", true }, "--metrics-plain"},
		"metrics for this host":         {func(o *Options) { o.MetricsAddress, o.MetricsPlain = "127.0.0.1:0", true }, ""},
		"profiles for everybody":        {func(o *Options) { o.PprofAddress = ":0" }, "--pprof-address"},
		"an address that is taken":      {func(o *Options) { o.HealthAddress = "192.0.2.1:1" }, "--health-address"},
		"no address":                    {func(o *Options) { o.BootAddress = "8082" }, "--boot-address"},
		"a file for a directory":        {func(o *Options) { o.DataDir = "/dev/null" }, "--data-dir"},
		"a file below a file":           {func(o *Options) { o.DataDir = "/dev/null/data" }, "--data-dir"},
	} {
		t.Run(name, func(t *testing.T) {
			o := p.options("127.0.0.1:1")
			c.change(&o)
			process, err := newProcess(&o, clock.RealClock{})
			if process != nil {
				defer func() { _ = process.close() }()
			}
			if (err != nil) != (c.flag != "") || err != nil && !strings.Contains(err.Error(), c.flag+": ") {
				t.Errorf("%v, want %q", err, c.flag)
			}
		})
	}
}

// join has a boot server without a certificate join.
func (o *Options) join(folder string) {
	o.CertificatesDir, o.JoinAddress, o.JoinCAFile = "", "127.0.0.1:1", filepath.Join(folder, "ca.crt")
	o.JoinTokenFile = filepath.Join(o.DataDir, "token")
}

func (o *Options) measured(folder string) {
	o.MetricsAddress, o.MetricsCertFile, o.MetricsKeyFile, o.MetricsClientCAFile = "127.0.0.1:0", folder+"/tls.crt", folder+"/tls.key", folder+"/ca.crt"
}

// TestAnotherKey does not destroy what the right one can read.
func TestAnotherKey(t *testing.T) {
	p := newPKI(t)
	o := p.options("127.0.0.1:1")
	o.ViewKeyFile = keyFile(t, viewKey)
	open := func() error {
		process, err := newProcess(&o, clock.RealClock{})
		if err != nil {
			return err
		}
		return process.close()
	}
	if err := open(); err != nil {
		t.Fatal(err)
	}
	view := filepath.Join(o.DataDir, "stream", "view")
	before, err := os.ReadFile(view)
	if err != nil {
		t.Fatal(err)
	}
	right := o.ViewKeyFile
	o.ViewKeyFile = keyFile(t, strings.Replace(viewKey, "7d", "00", 1))
	if err := open(); err == nil || !strings.Contains(err.Error(), "another key than that of --view-key-file") {
		t.Errorf("another key: %v", err)
	}
	if after, err := os.ReadFile(view); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the view has changed: %v", err)
	}
	o.ViewKeyFile = right
	if err := open(); err != nil {
		t.Error(err)
	}
}

// TestTwoProcesses do not share a directory.
func TestTwoProcesses(t *testing.T) {
	p := newPKI(t)
	o := p.options("127.0.0.1:1")
	o.ViewKeyFile = keyFile(t, viewKey)
	first, err := newProcess(&o, clock.RealClock{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = first.close() }()
	if _, err := newProcess(&o, clock.RealClock{}); err == nil || !strings.Contains(err.Error(), "--data-dir: ") || !strings.Contains(err.Error(), "in use") {
		t.Errorf("a second process: %v", err)
	}
}

// TestCommandLine: the help names everything once, and a command line that is wrong says so.
func TestCommandLine(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if code := Main([]string{"--help"}, &stdout, &stderr); code != 0 || !strings.Contains(stdout.String(), "--serve-stale duration") {
		t.Errorf("--help: %d, %s%s", code, stdout.String(), stderr.String())
	}
	if strings.Contains(stdout.String(), "farrier-boot-ca") {
		t.Error("the help promises an authority that a boot server without Kubernetes does not have")
	}
	stdout.Reset()
	if code := Main([]string{"--manager=x"}, &stdout, &stderr); code != 2 || !strings.Contains(stderr.String(), "did you mean --managers") {
		t.Errorf("%d, %s", code, stderr.String())
	}
}
