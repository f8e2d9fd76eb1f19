package system

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/farrier-dev/farrier/internal/controller/controllertest"
)

func TestBootTLSFlags(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Options)
		says   string // empty: it is taken
	}{
		"none":                      {func(o *Options) { o.BootTLSAddress = "" }, ""},
		"address":                   {func(*Options) {}, ""},
		"TLS alone":                 {func(o *Options) { o.BootAddress = "" }, ""},
		"nothing":                   {func(o *Options) { o.BootAddress, o.BootTLSAddress = "", "" }, "--boot-address"},
		"no address":                {func(o *Options) { o.BootTLSAddress = "8443" }, "--boot-tls-address"},
		"files without an address":  {func(o *Options) { o.BootTLSAddress, o.BootTLSCertFile = "", "x" }, "--boot-tls-cert-file"},
		"names":                     {func(o *Options) { o.BootTLSNames = []string{"192.0.2.1", "fd00::1", "boot.example", "*.example"} }, ""},
		"no name":                   {func(o *Options) { o.BootTLSNames = []string{"https://boot.example"} }, "--boot-tls-names"},
		"strict":                    {func(o *Options) { o.BootSecretsNeedTLS, o.BootURLs = true, []string{"https://192.0.2.1"} }, ""},
		"strict, URL of its own":    {func(o *Options) { o.BootSecretsNeedTLS = true }, ""},
		"strict, plain URL":         {func(o *Options) { o.BootSecretsNeedTLS, o.BootURLs = true, []string{"a=http://192.0.2.1"} }, "http://192.0.2.1"},
		"strict, without TLS":       {func(o *Options) { o.BootSecretsNeedTLS, o.BootTLSAddress = true, "" }, "--boot-secrets-need-tls"},
		"authority without a pair":  {func(o *Options) { o.BootTLSCAFile = "x" }, "--boot-tls-ca-file"},
		"authority behind a proxy":  {func(o *Options) { o.BootTLSCAFile, o.BootTLSAddress = "x", "" }, ""},
		"forward secrecy of nobody": {func(o *Options) { o.BootTLSForwardSecrecy, o.BootTLSAddress = true, "" }, "--boot-tls-forward-secrecy"},
	} {
		o := DefaultOptions()
		o.BootTLSAddress = ":8443"
		c.change(&o)
		_, err := o.check()
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q in it", name, err, c.says)
		}
	}
}

// TestMachinesAreReachedOverTLS: what machines are told, and what the certificate is for, follows from the addresses and URLs.
func TestMachinesAreReachedOverTLS(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Options)
		url    string // its beginning
		names  []string
	}{
		"plain": {func(o *Options) { o.BootTLSAddress = "" }, "http://127.0.0.1:", nil},
		"both":  {func(*Options) {}, "https://127.0.0.1:", []string{"127.0.0.1"}},
		"TLS":   {func(o *Options) { o.BootAddress = "" }, "https://127.0.0.1:", []string{"127.0.0.1"}},
		"by site": {func(o *Options) {
			o.BootURLs = []string{"http://192.0.2.1", "a=https://a.example", "a=https://[fd00::1]:8443"}
		}, "http://192.0.2.1", []string{"127.0.0.1", "a.example", "fd00::1"}},
		"by names": {func(o *Options) { o.BootTLSNames = []string{"b.example"} }, "https://127.0.0.1:", []string{"127.0.0.1", "b.example"}},
		"images":   {func(o *Options) { o.ImageServerURL = "https://images.example" }, "https://127.0.0.1:", []string{"127.0.0.1", "images.example"}},
	} {
		o := DefaultOptions()
		o.BootAddress, o.BootTLSAddress, o.DataDir = "127.0.0.1:0", "127.0.0.1:0", t.TempDir()
		c.change(&o)
		s, err := New(o)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !strings.HasPrefix(s.BootURL, c.url) {
			t.Errorf("%s: %s, want %s", name, s.BootURL, c.url)
		}
		if o.BootTLSAddress != "" {
			if diff := cmp.Diff(c.names, s.bootTLSNames); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
		}
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	}
}

// TestAuthorityIsKept: the first process makes it, all after it and beside it have the same, and what cannot be used is an error that
// says which Secret.
func TestAuthorityIsKept(t *testing.T) {
	api, namespace := controllertest.NewAPI(t), "farrier-system"
	first, err := ensureBootAuthority(t.Context(), api, namespace, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	again, err := ensureBootAuthority(t.Context(), api, namespace, time.Now())
	if err != nil || string(again.PEM()) != string(first.PEM()) {
		t.Errorf("another authority, %v", err)
	}

	o := DefaultOptions()
	o.BootAddress, o.BootTLSAddress, o.DataDir = "127.0.0.1:0", "127.0.0.1:0", filepath.Join(t.TempDir(), "new")
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Stop() }()
	if err := s.ensureBootTLS(t.Context(), api); err != nil {
		t.Fatal(err)
	}
	if file, err := os.ReadFile(s.BootCAFile()); err != nil || string(file) != string(first.PEM()) || string(s.BootCA()) != string(first.PEM()) {
		t.Errorf("the data directory has another: %v", err)
	}
	if err := s.publishBootCA(t.Context(), api, api); err != nil {
		t.Fatal(err)
	}
	var published corev1.ConfigMap
	if err := api.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: bootAuthority}, &published); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"url": s.BootURL, "ca.crt": string(first.PEM())}, published.Data); diff != "" {
		t.Errorf("published (-want +got):\n%s", diff)
	}

	var secret corev1.Secret
	if err := api.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: bootAuthority}, &secret); err != nil {
		t.Fatal(err)
	}
	secret.Data[corev1.TLSPrivateKeyKey] = []byte("x")
	if err := api.Update(t.Context(), &secret); err != nil {
		t.Fatal(err)
	}
	if _, err := ensureBootAuthority(t.Context(), api, namespace, time.Now()); err == nil || !strings.Contains(err.Error(), namespace+"/"+bootAuthority) {
		t.Errorf("a Secret that somebody broke: %v", err)
	}
}
