package e2e

import (
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"os"
	"os/exec"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	"github.com/farrier-dev/farrier/internal/image/localregistry"
	"github.com/farrier-dev/farrier/internal/image/registry"
	unified "github.com/farrier-dev/farrier/internal/image/uki"
)

// snakeoil is the key pair of the package ovmf, whose certificate is in the signature database of its variables.
func snakeoil(t *testing.T) (*rsa.PrivateKey, *x509.Certificate) {
	t.Helper()
	const folder = "/usr/share/ovmf/PkKek-1-snakeoil."
	text, err := exec.Command("openssl", "pkey", "-in", folder+"key", "-passin", "pass:snakeoil").Output()
	if err != nil {
		t.Fatalf("the key of the package ovmf, by openssl: %v", err)
	}
	certificate, err := os.ReadFile(folder + "pem")
	if err != nil {
		t.Fatal(err)
	}
	keyBlock, _ := pem.Decode(text)
	certificateBlock, _ := pem.Decode(certificate)
	if keyBlock == nil || certificateBlock == nil {
		t.Fatal("the key pair of the package ovmf is not PEM")
	}
	key, err := x509.ParsePKCS8PrivateKey(keyBlock.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(certificateBlock.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return key.(*rsa.PrivateKey), parsed
}

// TestSecureBoot: firmware that checks signatures boots the UKI that Farrier signed, and refuses the same without a signature.
func TestSecureBoot(t *testing.T) {
	l := newLab(t)
	built := buildProbe(t)
	key, certificate := snakeoil(t)
	signed, err := unified.Sign(built.UKI, key, certificate)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []struct {
		name, uuid, mac string
		uki             []byte
		prints          string
	}{
		{"sig", "6f0c2b1e-6d6a-4b5c-9a55-0a3c7d1e0021", "52:54:00:00:00:21", signed, "metalprobe looks at this machine"},
		{"raw", "6f0c2b1e-6d6a-4b5c-9a55-0a3c7d1e0022", "52:54:00:00:00:22", built.UKI, "Access Denied"},
	} {
		t.Run(m.name, func(t *testing.T) {
			plan := l.push(m.name, localregistry.Image{UKI: m.uki})
			config := &bootv1.HTTPBootConfig{
				ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: m.name},
				Spec:       bootv1.HTTPBootConfigSpec{SystemUUID: m.uuid, NetworkIdentifiers: []string{m.mac}, UKIURL: registry.UKIURL(l.url, plan)},
			}
			l.create(config)
			l.ready(config, func() []metav1.Condition { return config.Status.Conditions })
			machine := power(t, uefiSecure, identity{m.uuid, m.name}, l.askHTTPBoot(m.mac))
			machine.prints(m.prints)
		})
	}
}
