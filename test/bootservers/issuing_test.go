package bootservers

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// certManager does what the controllers of cert-manager do with Certificates of a self-signed issuer and of CA issuers.
type certManager struct {
	t *testing.T
	// secrets are by name; issuers are the Secrets of their authorities, empty for the self-signed one.
	secrets map[string]map[string][]byte
	issuers map[string]string
	signers map[string]signer
}

type signer struct {
	certificate *x509.Certificate
	key         crypto.Signer
}

func newCertManager(t *testing.T) *certManager {
	return &certManager{t: t, secrets: map[string]map[string][]byte{}, issuers: map[string]string{}, signers: map[string]signer{}}
}

func (cm *certManager) issuer(manifest *unstructured.Unstructured) {
	secret, _, err := unstructured.NestedString(manifest.Object, "spec", "ca", "secretName")
	if err != nil {
		cm.t.Fatal(err)
	}
	cm.issuers[manifest.GetName()] = secret
}

// usages are those that Certificates here may name.
var usages = map[string]func(*x509.Certificate){
	"digital signature": func(c *x509.Certificate) { c.KeyUsage |= x509.KeyUsageDigitalSignature },
	"cert sign":         func(c *x509.Certificate) { c.KeyUsage |= x509.KeyUsageCertSign },
	"server auth":       func(c *x509.Certificate) { c.ExtKeyUsage = append(c.ExtKeyUsage, x509.ExtKeyUsageServerAuth) },
	"client auth":       func(c *x509.Certificate) { c.ExtKeyUsage = append(c.ExtKeyUsage, x509.ExtKeyUsageClientAuth) },
}

// issue makes the Secret of a Certificate.
func (cm *certManager) issue(asked certificate) {
	cm.t.Helper()
	authority, known := cm.issuers[asked.Spec.IssuerRef.Name]
	if !known || asked.Spec.IssuerRef.Kind != "Issuer" || asked.Spec.PrivateKey.Algorithm != "ECDSA" {
		cm.t.Fatalf("Certificate %s: %+v", asked.Name, asked.Spec)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: asked.Spec.CommonName}, DNSNames: asked.Spec.DNSNames,
		NotBefore: time.Now().Add(-time.Second), NotAfter: time.Now().Add(asked.Spec.Duration.Duration), IsCA: asked.Spec.IsCA, BasicConstraintsValid: true,
	}
	for _, usage := range asked.Spec.Usages {
		if usages[usage] == nil {
			cm.t.Fatalf("Certificate %s: usage %q", asked.Name, usage)
		}
		usages[usage](template)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		cm.t.Fatal(err)
	}
	by := signer{template, key}
	if authority != "" {
		if by, known = cm.signers[authority]; !known {
			cm.t.Fatalf("Certificate %s: its issuer's Secret %q is not there", asked.Name, authority)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, by.certificate, key.Public(), by.key)
	if err != nil {
		cm.t.Fatal(err)
	}
	made, err := x509.ParseCertificate(der)
	if err != nil {
		cm.t.Fatal(err)
	}
	if authority == "" {
		by.certificate = made
	}
	cm.signers[asked.Spec.SecretName] = signer{made, key}
	// Keys are PKCS #1 by default, which for ECDSA is SEC 1.
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		cm.t.Fatal(err)
	}
	encode := func(kind string, der []byte) []byte { return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}) }
	cm.secrets[asked.Spec.SecretName] = map[string][]byte{
		"tls.crt": encode("CERTIFICATE", der), "tls.key": encode("EC PRIVATE KEY", keyDER), "ca.crt": encode("CERTIFICATE", by.certificate.Raw),
	}
}
