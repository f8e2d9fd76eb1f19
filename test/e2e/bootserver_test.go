package e2e

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/farrier-dev/farrier/internal/image/localregistry"
	"github.com/farrier-dev/farrier/test/loopback"
	"github.com/farrier-dev/farrier/test/product"
)

// Real iPXE boots from a boot server that has no Kubernetes while the manager, its API and the registry are gone, and the manager learns of it
// afterwards.
func TestBootServerWithoutManager(t *testing.T) {
	boot, stream := "127.0.0.1:"+loopback.Port(t), "127.0.0.1:"+loopback.Port(t)
	l := newLabWith(t, boot, func(l *lab) []string { return []string{"--boot-url", l.url, "--boot-stream-address", stream} })
	l.startBootServer(boot, stream)
	const name, uuid = "apart", "6f0c2b1e-6d6a-4b5c-9a55-0a3c7d1e0021"
	ignition := l.ignition(name)
	plan := l.push(name, localregistry.Image{Kernel: kernelImage(t), Initramfs: initramfs(t, name)})
	config := l.overIPXE(name, uuid, plan)
	for url, method := range map[string]string{
		boot + "/ipxe/" + uuid:                                 http.MethodHead, // which is no delivery
		strings.Replace(config.Spec.KernelURL, l.url, boot, 1): http.MethodGet,
		strings.Replace(config.Spec.InitrdURL, l.url, boot, 1): http.MethodGet,
	} {
		l.Eventually("the boot server has "+url, func(ctx context.Context) error { return has(ctx, method, "http://"+url) })
	}

	l.Kill()
	l.registry.SetAway(true)
	machine := power(t, biosIPXE, identity{uuid, name}, l.url+"/ipxe/")
	for key, want := range map[string]string{"uuid": uuid, "marker": name, "ignition": ignition} {
		if got := machine.says(key); got != want {
			t.Errorf("%s: the machine has %q, not %q", key, got, want)
		}
	}
	machine.goesOff()
	l.registry.SetAway(false)
	l.Product = product.Start(t, l.data, l.args...)
	for _, fetched := range []string{"IPXEScriptFetched", "IgnitionDataFetched"} {
		l.condition(config, func() []metav1.Condition { return config.Status.Conditions }, fetched)
	}
}

// startBootServer starts one with a certificate of the product's own authority.
func (l *lab) startBootServer(boot, stream string) {
	l.t.Helper()
	const name = "boot-1.example"
	certificates := filepath.Join(l.data, "boot-stream")
	if out, problem, code := product.Ask(l.t, product.Farrier, "cert", "issue", name, "--dir", certificates); code != 0 {
		l.t.Fatalf("farrier cert issue: %s%s", out, problem)
	}
	key := filepath.Join(l.t.TempDir(), "view.key")
	if err := os.WriteFile(key, []byte("7d1f0c2b9a8e4d6f5c3b2a19080706f5e4d3c2b1a0f9e8d7c6b5a4938271605f"), 0o600); err != nil {
		l.t.Fatal(err)
	}
	b := product.Run(l.t, product.BootServer, name, nil,
		"--managers", stream, "--manager-name", "boot-stream.farrier.internal", "--certificates-dir", filepath.Join(certificates, name),
		"--data-dir", filepath.Join(l.t.TempDir(), "data"), "--view-key-file", key, "--boot-address", boot, "--boot-url", l.url, "--health-address", "",
		"--trusted-forwarders", "none", "--allowed-registries", l.registry.Address(), "--plain-http-registries", l.registry.Address())
	l.t.Cleanup(func() {
		b.Kill()
		b.ShowIfFailed()
	})
}

// has reports why a boot server does not serve a URL.
func has(ctx context.Context, method, url string) error {
	request, err := http.NewRequestWithContext(ctx, method, url, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return errors.New(response.Status)
	}
	_, err = io.Copy(io.Discard, response.Body)
	return err
}
