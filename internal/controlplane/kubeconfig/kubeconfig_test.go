package kubeconfig

import (
	"context"
	"crypto/tls"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/farrier-dev/farrier/internal/controlplane/pki"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func newAdmin(t *testing.T) (*Admin, *clocktesting.FakeClock) {
	t.Helper()
	dir := t.TempDir()
	authority, err := pki.OpenAuthority(filepath.Join(dir, "pki"), start)
	if err != nil {
		t.Fatal(err)
	}
	clock := clocktesting.NewFakeClock(start)
	return &Admin{
		Authority: authority, URL: "https://127.0.0.1:6443", Path: filepath.Join(dir, "elsewhere", "config"),
		Validity: MaxValidity, Clock: clock, Logger: logr.Discard(),
	}, clock
}

// shown is the certificate that a client of the kubeconfig shows now.
func shown(t *testing.T, path string) tls.Certificate {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatal(err)
	}
	if config.CertFile != config.KeyFile {
		t.Fatalf("certificate in %s and key in %s", config.CertFile, config.KeyFile)
	}
	content, err := os.ReadFile(config.CertFile) // once, as it may be replaced in between
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(content, content)
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

func TestKubeconfigShowsACertificateOfADay(t *testing.T) {
	a, _ := newAdmin(t)
	if err := a.Write(); err != nil {
		t.Fatal(err)
	}
	cert := shown(t, a.Path).Leaf
	if got := pki.Lifetime(cert); got != 24*time.Hour {
		t.Errorf("valid for %s", got)
	}
	if cert.Subject.CommonName != user || !slices.Equal(cert.Subject.Organization, []string{Group}) {
		t.Errorf("it names %s", cert.Subject)
	}
	for _, path := range []string{a.Path, CredentialsFile(a.Path)} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: mode %v (%v), want 600", path, info.Mode(), err)
		}
	}
	if got := Server(a.Path); got != a.URL {
		t.Errorf("the kubeconfig names %q, want %q", got, a.URL)
	}
	content, err := os.ReadFile(a.Path)
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(t.TempDir(), "copied")
	if err := os.WriteFile(copied, content, 0o600); err != nil {
		t.Fatal(err)
	}
	if again := shown(t, copied).Leaf; !again.Equal(cert) {
		t.Error("a copy on the same machine shows another certificate")
	}
	// client-go looks at files again, and only at files: what is in the kubeconfig itself is never renewed under a client that runs.
	config, err := clientcmd.BuildConfigFromFlags("", a.Path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := rest.HTTPClientFor(config); err != nil || len(config.CertData) > 0 || len(config.KeyData) > 0 {
		t.Errorf("certificate and key are in the kubeconfig (%v)", err)
	}
}

func TestCertificateIsRenewedAtHalfItsTime(t *testing.T) {
	a, clock := newAdmin(t)
	if err := a.Write(); err != nil {
		t.Fatal(err)
	}
	for at, want := range map[time.Duration]bool{
		0: false, time.Hour: false, 12*time.Hour - time.Second: false, 12 * time.Hour: true, 48 * time.Hour: true, -13 * time.Hour: true,
	} {
		if got := a.due(start.Add(at)); got != want {
			t.Errorf("after %s: due %t, want %t", at, got, want)
		}
	}

	first := shown(t, a.Path).Leaf
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		a.Run(ctx)
	}()
	for !clock.HasWaiters() { // until it waits for its ticker
		select {
		case <-ended:
			t.Fatal("it does not run")
		default:
		}
	}
	clock.Step(12 * time.Hour)
	for !shown(t, a.Path).Leaf.NotAfter.Equal(start.Add(36 * time.Hour)) {
		if t.Context().Err() != nil {
			t.Fatal("not renewed")
		}
	}
	if second := shown(t, a.Path).Leaf; second.PublicKey == nil || first.Equal(second) {
		t.Error("the certificate is the same")
	}
	cancel()
	<-ended
}

func TestEmergency(t *testing.T) {
	a, _ := newAdmin(t)
	content, err := Emergency(a.Authority, a.URL, start)
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(content)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(config.CertData, config.KeyData)
	if err != nil {
		t.Fatal(err)
	}
	if got := pki.Lifetime(pair.Leaf); got != time.Hour || !Privileged(pair.Leaf.Subject.Organization) || config.Host != a.URL {
		t.Errorf("%s for %s at %s", pair.Leaf.Subject, got, config.Host)
	}
}

func TestPrivileged(t *testing.T) {
	for group, want := range map[string]bool{Group: true, EmergencyGroup: true, "system:authenticated": false, "farrier:admin": false, "": false} {
		if got := Privileged([]string{"tenants", group}); got != want {
			t.Errorf("%q: %t, want %t", group, got, want)
		}
	}
}
