package acceptance

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/allocator"
	"github.com/farrier-dev/farrier/internal/sim"
)

func objectMeta(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name}
}

// TestRefusedStarts: what keeps the product from starting is said in one line that names it.
func TestRefusedStarts(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = taken.Close() })
	broken := filepath.Join(t.TempDir(), "macs.yaml")
	if err := os.WriteFile(broken, []byte("macPrefixes:\n- macPrefix: aa\n  porrt: 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		dataDir string
		args    []string
		want    []string
	}{
		"boot port taken":        {"", []string{"--boot-address", taken.Addr().String()}, []string{"--boot-address", "address already in use"}},
		"API port taken":         {"", []string{"--api-address", taken.Addr().String()}, []string{"--api-address", "already in use"}},
		"data dir under a file":  {filepath.Join(file, "data"), nil, []string{"--data-dir", file}},
		"broken MAC database":    {"", []string{"--mac-prefixes-file", broken}, []string{"--mac-prefixes-file", broken, "line 3"}},
		"missing MAC database":   {"", []string{"--mac-prefixes-file", broken + "x"}, []string{"--mac-prefixes-file", broken + "x"}},
		"bad image reference":    {"", []string{"--probe-os-image", "UPPER/case:"}, []string{"--probe-os-image"}},
		"bad forwarder":          {"", []string{"--trusted-forwarders", "10.0.0.1"}, []string{"--trusted-forwarders", "10.0.0.1"}},
		"bad boot URL":           {"", []string{"--boot-url", "ftp://x"}, []string{"--boot-url"}},
		"bad ignition access":    {"", []string{"--ignition-access", "all"}, []string{"ignition", "all", "expected"}},
		"unknown flag":           {"", []string{"--bot-address", "x"}, []string{"--bot-address"}},
		"superfluous argument":   {"", []string{"now"}, []string{"now"}},
		"missing template":       {"", []string{"--discovery-ignition-path", broken + "x"}, []string{"--discovery-ignition-path", broken + "x"}},
		"missing bundle of CAs":  {"", []string{"--bmc-ca-file", broken + "x"}, []string{"--bmc-ca-file", broken + "x"}},
		"not a bundle of CAs":    {"", []string{"--bmc-ca-file", broken}, []string{"--bmc-ca-file", broken}},
		"negative simulation":    {"", []string{"--sim", "-1"}, []string{"--sim"}},
		"nonsense for a timeout": {"", []string{"--discovery-timeout", "soon"}, []string{"--discovery-timeout"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := tc.dataDir
			if dir == "" {
				dir = filepath.Join(t.TempDir(), "data")
			}
			_, err := launch(t, dir, tc.args...)
			if err == nil {
				t.Fatal("it started")
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is not named in: %v", want, err)
				}
			}
			if strings.Contains(err.Error(), "goroutine ") {
				t.Errorf("it crashed: %v", err)
			}
		})
	}
}

// TestTroubleIsSaidAndPasses: each trouble is a condition that names its cause, and is over when the cause is.
func TestTroubleIsSaidAndPasses(t *testing.T) {
	l := newLab(t, 3)
	p := l.up(t)
	infos := l.BMCs()

	// A BMC whose password is not the default.
	l.SetPassword(2, "changed")
	l.endpoint(p, infos[2])
	bmc := &metalv1.BMC{ObjectMeta: objectMeta("", infos[2].Name)}
	p.says(bmc, func() []metav1.Condition { return bmc.Status.Conditions }, metalv1.ConditionReady, metalv1.ReasonAuthenticationFailed)
	p.patchSecret(infos[2].Name, "changed")
	p.says(bmc, func() []metav1.Condition { return bmc.Status.Conditions }, metalv1.ConditionReady, metalv1.ReasonConnected)
	p.serverIs(infos[2].Name+"-system-0", metalv1.ServerStateAvailable, metalv1.PowerStateOff)

	// A claim for a server that does not exist yet.
	l.ignition(p, "early", "ignition")
	early := l.claim(p, "early", func(c *metalv1.ServerClaim) {
		c.Spec.ServerRef = &metalv1.LocalObjectReference{Name: infos[0].Name + "-system-0"}
	})
	message := p.says(early, func() []metav1.Condition { return early.Status.Conditions }, metalv1.ConditionBound, allocator.ReasonServerNotFound)
	if !strings.Contains(message, infos[0].Name) {
		t.Errorf("the missing server is not named: %s", message)
	}
	l.endpoint(p, infos[0])
	if got := p.bound("early"); got != infos[0].Name+"-system-0" {
		t.Errorf("bound to %s", got)
	}
	p.boots(l.Machine(0), sim.OutcomeInstalled)

	// A claim whose Secret is missing, then lacks its key, then is right.
	late := l.claim(p, "late")
	name := p.bound("late")
	conditions := func() []metav1.Condition { return late.Status.Conditions }
	if m := p.says(late, conditions, metalv1.ConditionBootReady, "BootConfigurationError"); !strings.Contains(m, `Secret "late" does not exist`) {
		t.Errorf("the missing Secret is not named: %s", m)
	}
	l.ignition(p, "late", "ignitoin")
	p.Eventually("the missing key is named", func(ctx context.Context) error {
		if m := p.says(late, conditions, metalv1.ConditionBootReady, "BootConfigurationError"); !strings.Contains(m, `no key "ignition"`) {
			return fmt.Errorf("%s", m)
		}
		return nil
	})
	if records := l.machine(p, name).Record(); len(records) > 1 {
		t.Errorf("the machine was booted without its ignition: %+v", records[1])
	}
	p.setIgnition("late")
	p.boots(l.machine(p, name), sim.OutcomeInstalled)
}

// TestImages: registries that are not allowed, images that are not there, a registry that is away. References that do not parse are
// refused: TestAdmission.
func TestImages(t *testing.T) {
	l := newLab(t, 1)
	p := l.up(t)
	l.discover(p)
	l.ignition(p, "c", "ignition")
	good := l.Registry.Reference("os", "1")
	c := l.claim(p, "c", func(c *metalv1.ServerClaim) { c.Spec.Image = "elsewhere.example/os:1" })
	conditions := func() []metav1.Condition { return c.Status.Conditions }
	name := p.bound("c")
	for _, image := range []string{"elsewhere.example/os:1", l.Registry.Reference("missing", "1")} {
		p.setImage(c, image)
		p.Eventually("the image is named", func(context.Context) error {
			if m := p.says(c, conditions, metalv1.ConditionBootReady, "BootConfigurationError"); !strings.Contains(m, image) {
				return fmt.Errorf("%q is not named: %s", image, m)
			}
			return nil
		})
	}
	p.event("c", "BootConfigurationError")
	p.event(name, "BootConfigurationError")
	l.Registry.SetAway(true)
	p.setImage(c, good)
	p.Eventually("the registry is away", func(context.Context) error {
		if m := p.says(c, conditions, metalv1.ConditionBootReady, "BootConfigurationError"); !strings.Contains(m, good) {
			return fmt.Errorf("%s", m)
		}
		return nil
	})
	l.Registry.SetAway(false)
	record := p.boots(l.machine(p, name), sim.OutcomeInstalled)
	if kernel, ok := record.Fetched(sim.WhatKernel); !ok || kernel.Bytes == 0 {
		t.Errorf("no kernel was fetched: %+v", record)
	}
	p.event("c", "BootConfigurationReady")
	p.event(name, "BootConfigurationReady")
}

func (p *running) patchSecret(name, password string) {
	p.t.Helper()
	secret := &metalv1.BMCSecret{ObjectMeta: objectMeta("", name)}
	p.Eventually("BMCSecret "+name, func(ctx context.Context) error {
		if err := p.Get(ctx, client.ObjectKeyFromObject(secret), secret); err != nil {
			return err
		}
		secret.Data[metalv1.BMCSecretPasswordKey] = []byte(password)
		return p.Update(ctx, secret)
	})
}

func (p *running) setIgnition(name string) {
	p.t.Helper()
	p.Eventually("Secret "+name, func(ctx context.Context) error {
		var s corev1.Secret
		if err := p.Get(ctx, client.ObjectKey{Namespace: "default", Name: name}, &s); err != nil {
			return err
		}
		s.StringData = map[string]string{"ignition": `{"ignition":{"version":"3.4.0"}}`}
		return p.Update(ctx, &s)
	})
}

func (p *running) setImage(c *metalv1.ServerClaim, image string) {
	p.t.Helper()
	p.Eventually("claim "+c.Name, func(ctx context.Context) error {
		if err := p.Get(ctx, client.ObjectKeyFromObject(c), c); err != nil {
			return err
		}
		c.Spec.Image = image
		err := p.Update(ctx, c)
		if err != nil && !apierrors.IsConflict(err) {
			p.t.Fatal(err)
		}
		return err
	})
}
