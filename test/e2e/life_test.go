package e2e

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/image/localregistry"
)

// TestLife is the whole life of two servers on real firmware, one with a BIOS and one with UEFI: they are discovered, claimed and released, and cleaned. Each claim boots its
// own image, with its own ignition; what its tenant has written to the disk is gone when the server is available again.
func TestLife(t *testing.T) {
	needsNamespace(t)
	if !inNamespace(t) {
		return
	}
	registry, err := localregistry.Start(t.Context(), "127.0.0.1:5001")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = registry.Stop() })
	m := newMachines(t, "--sim-vm", "2", "--sim-vm-firmware", "bios,uefi", "--sim-vm-disks", "64Mi", "--cleanup", "full", "--power-off-budget", "10s",
		"--allowed-registries", registry.Address(), "--plain-http-registries", registry.Address())
	var tenants []*claimed
	for i := range 2 {
		tenants = append(tenants, m.claim(registry, i+1))
	}
	for _, c := range tenants {
		c.runs()
		c.leaves()
	}
	for _, c := range tenants {
		c.isGone()
	}
}

// claimed is a machine with a tenant.
type claimed struct {
	*machines
	number   int
	claim    *metalv1.ServerClaim
	ignition string // what the guest says when it has read its own
	pattern  string // what it writes to the disk
}

// claim has a machine boot an image of its own, as soon as it is available.
func (m *machines) claim(registry *localregistry.Registry, number int) *claimed {
	m.t.Helper()
	s := m.await(serverName(number), metalv1.ServerStateAvailable)
	name := fmt.Sprintf("tenant-%d", number)
	c := &claimed{machines: m, number: number, pattern: strings.Repeat(fmt.Sprintf("secret of %s. ", name), 300)}
	var address string
	for _, n := range s.Status.NetworkInterfaces {
		for _, ip := range n.IPs {
			if strings.HasPrefix(ip, "192.168.177.") {
				address = ip
			}
		}
	}
	guest := tenantInitramfs(m.t, name, nil, tenant{address, c.pattern})
	// A unified kernel image does not learn the token of its ignition; by iPXE both machines do, the second over its EFI driver.
	image := localregistry.Image{Kernel: kernelImage(m.t), Initramfs: guest}
	if _, err := registry.Push(m.t.Context(), name, "1", image); err != nil {
		m.t.Fatal(err)
	}
	payload := fmt.Sprintf(`{"ignition":{"version":"3.4.0"},"passwd":{"users":[{"name":%q}]}}`, name)
	c.ignition = fmt.Sprintf("200 sha256:%x", sha256.Sum256([]byte(payload)))
	c.claim = &metalv1.ServerClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: metalv1.ServerClaimSpec{
		Power: metalv1.PowerOn, Image: registry.Reference(name, "1"), ServerRef: &metalv1.LocalObjectReference{Name: s.Name}, IgnitionSecretRef: &metalv1.LocalObjectReference{Name: name},
	}}
	secret := &corev1.Secret{ObjectMeta: c.claim.ObjectMeta, StringData: map[string]string{"ignition": payload}}
	if err := errors.Join(m.Create(m.t.Context(), secret), m.Create(m.t.Context(), c.claim)); err != nil {
		m.t.Fatal(err)
	}
	return c
}

func (c *claimed) folder() string {
	return filepath.Join(c.data, "sim-vm", fmt.Sprintf("sim-%04d", c.number))
}

// says waits for a line of the guest on the machine's console, and returns its value.
func (c *claimed) says(key string) (value string) {
	c.t.Helper()
	c.eventually(c.claim.Name+" says "+key, func(context.Context) error {
		text, err := os.ReadFile(filepath.Join(c.folder(), "console.log"))
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(text)) {
			if found, ok := strings.CutPrefix(line, "farrier-e2e: "+key+"="); ok && strings.HasSuffix(line, "\n") {
				value = strings.TrimSpace(found)
				return nil
			}
		}
		return errors.New("not yet")
	})
	return value
}

// runs waits until the tenant has what the claim names, and has written to the disk.
func (c *claimed) runs() {
	c.t.Helper()
	if got := c.says("marker"); got != c.claim.Name {
		c.t.Errorf("%s booted the image of %q", c.claim.Name, got)
	}
	if got := c.says("ignition"); got != c.ignition {
		c.t.Errorf("%s has the ignition %q, not %q", c.claim.Name, got, c.ignition)
	}
	c.says("occupied")
	// The probe, on a machine that was on when it was claimed, heard the graceful shutdown. The tenant hears none and is forced off.
	if text, err := os.ReadFile(filepath.Join(c.folder(), "console.log")); !strings.Contains(string(text), "power button pressed") {
		c.t.Errorf("the probe of %s was forced off, %v", c.claim.Name, err)
	}
	if found := c.traces(); found != 3 {
		c.t.Errorf("the pattern of %s is on the disk %d times, want 3", c.claim.Name, found)
	}
	c.eventually(c.claim.Name+" is bound", func(ctx context.Context) error {
		if err := c.Get(ctx, client.ObjectKeyFromObject(c.claim), c.claim); err != nil {
			return err
		}
		if c.claim.Status.Phase != metalv1.ServerClaimPhaseBound {
			return fmt.Errorf("it is %s", c.claim.Status.Phase)
		}
		return nil
	})
}

func (c *claimed) leaves() {
	c.t.Helper()
	if err := c.Delete(c.t.Context(), c.claim); err != nil {
		c.t.Fatal(err)
	}
	c.await(serverName(c.number), metalv1.ServerStateCleanup)
}

// isGone waits until the server has been cleaned, and looks at each byte of its disk.
func (c *claimed) isGone() {
	c.t.Helper()
	begin := time.Now()
	c.await(serverName(c.number), metalv1.ServerStateAvailable)
	c.t.Logf("%s cleaned after %.0f s", serverName(c.number), time.Since(begin).Seconds())
	content := c.disk()
	for at, b := range content {
		if b != 0 {
			c.t.Errorf("byte %d of the disk of %s is %#x", at, c.claim.Name, b)
			return
		}
	}
}

// traces counts on the disk, from outside, what the tenant has written.
func (c *claimed) traces() int { return bytes.Count(c.disk(), []byte(c.pattern)) }

func (c *claimed) disk() []byte {
	c.t.Helper()
	file, err := os.Open(filepath.Join(c.folder(), "disk1.img"))
	if err != nil {
		c.t.Fatal(err)
	}
	defer file.Close()
	content, err := io.ReadAll(file)
	if err != nil {
		c.t.Fatal(err)
	}
	if len(content) != 64<<20 {
		c.t.Fatalf("the disk has %d bytes", len(content))
	}
	return content
}
