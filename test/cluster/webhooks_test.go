package cluster

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/bootstream/authority"
	"github.com/farrier-dev/farrier/test/product"
)

// sharedSecret is where managers keep the certificate of their webhooks.
const sharedSecret = "farrier-webhook-ca"

// judged asks for a claim that nobody may have, and reports whether somebody said so: the webhooks of the chart let pass what nobody judges.
func (c *cluster) judged(ctx context.Context) error {
	claim := &metalv1.ServerClaim{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "wrong-"}}
	claim.Spec.Power, claim.Spec.Image = metalv1.PowerOn, "not an image"
	err := c.Create(ctx, claim, client.DryRunAll)
	switch {
	case err == nil:
		return errors.New("an image reference that is none was let pass")
	case apierrors.IsInvalid(err), apierrors.IsForbidden(err):
		return nil
	}
	return err
}

// TestWebhooks: with the defaults of the chart and without cert-manager, the API server reaches the webhooks by their Service and verifies them by an
// authority that the managers have made and announced.
func TestWebhooks(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.install()
	first := c.manage()
	c.services.leadTo(first.webhook())
	first.ready()
	product.Eventually(t, "the API server has claims judged", c.judged)

	product.Eventually(t, "the manager leads", func(ctx context.Context) error {
		var lease coordinationv1.Lease
		err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "farrier-manager"}, &lease)
		if err == nil && (lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "") {
			err = errors.New("nobody holds the Lease")
		}
		return err
	})
	// Another version of the chart's objects leaves the authority where it is.
	before := c.announced()
	c.helm("upgrade", "farrier", chart, "--set", "podAnnotations.a=b")
	if !bytes.Equal(before, c.announced()) {
		t.Error("an upgrade removes the authority")
	}
	// Somebody removes everything: it is made anew.
	if err := c.Delete(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: sharedSecret}}); err != nil {
		t.Fatal(err)
	}
	product.Eventually(t, "another authority is announced", func(context.Context) error {
		if bytes.Equal(before, c.announced()) {
			return errors.New("the same")
		}
		return nil
	})
	product.Eventually(t, "the API server has claims judged", c.judged)
	first.stop()
}

// announced are the authorities by which the API server verifies webhooks.
func (c *cluster) announced() []byte {
	c.t.Helper()
	var validating admissionregistrationv1.ValidatingWebhookConfiguration
	if err := c.Get(c.t.Context(), client.ObjectKey{Name: "farrier"}, &validating); err != nil {
		c.t.Fatal(err)
	}
	return validating.Webhooks[0].ClientConfig.CABundle
}

// TestAuthorityTakesOver: two managers find an authority that has aged and one that is to take over. It does, and of the requests meanwhile none goes by
// without being judged.
func TestAuthorityTakesOver(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.install()
	old := c.aged()
	first, second := c.manage(), c.manage()
	first.ready()
	second.ready()
	for _, m := range []*manager{first, second} { // each by itself, since the API server asks either
		c.services.leadTo(m.webhook())
		product.Eventually(t, "the API server has claims judged", c.judged)
	}
	c.services.leadTo(first.webhook(), second.webhook())

	ctx, cancel := context.WithCancel(t.Context())
	var asking sync.WaitGroup
	var count atomic.Int32
	var unjudged []error
	asking.Go(func() {
		for ctx.Err() == nil {
			if err := c.judged(ctx); err != nil && ctx.Err() == nil {
				unjudged = append(unjudged, fmt.Errorf("%s: %w", time.Now().Format(time.TimeOnly), err))
			}
			count.Add(1)
		}
	})
	for _, m := range []*manager{first, second} {
		product.Eventually(t, "the manager shows a certificate of the next authority", func(context.Context) error {
			if c.shown(m).CheckSignatureFrom(old) == nil {
				return errors.New("it is of the former one")
			}
			return nil
		})
	}
	for _, m := range []*manager{first, second} {
		c.services.leadTo(m.webhook())
		if err := c.judged(t.Context()); err != nil {
			t.Errorf("after the change: %v", err)
		}
	}
	product.Eventually(t, "some were asked for", func(context.Context) error {
		if n := count.Load(); n < 10 {
			return fmt.Errorf("%d requests", n)
		}
		return nil
	})
	cancel()
	asking.Wait()
	if len(unjudged) > 0 {
		t.Errorf("%d of %d requests were not judged: %v", len(unjudged), count.Load(), errors.Join(unjudged...))
	}
}

// shown is the certificate that a manager shows.
func (c *cluster) shown(m *manager) *x509.Certificate {
	c.t.Helper()
	connection, err := tls.Dial("tcp", m.webhook(), &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		c.t.Fatal(err)
	}
	defer connection.Close()
	return connection.ConnectionState().PeerCertificates[0]
}

// aged makes what managers have after eight months, when the next authority has been there for some hours, and returns the one that it replaces.
func (c *cluster) aged() *x509.Certificate {
	c.t.Helper()
	const day = 24 * time.Hour
	now := time.Now()
	issuedAt := now.Add(-50 * day)
	data := map[string][]byte{}
	made := func(name string, at time.Time) *authority.Authority {
		cert, key, err := authority.NewOf("webhooks", at, 360*day)
		if err != nil {
			c.t.Fatal(err)
		}
		data[name+".crt"], data[name+".key"] = cert, key
		data["ca.crt"] = append(data["ca.crt"], cert...)
		a, err := authority.Read(cert, key, at)
		if err != nil {
			c.t.Fatal(err)
		}
		return a
	}
	old := made("authority", now.Add(-241*day))
	made("next", now.Add(-3*time.Hour))
	key, keyPEM, err := authority.NewKey()
	if err != nil {
		c.t.Fatal(err)
	}
	cert, err := old.Issue(key.Public(), "farrier-webhook."+namespace+".svc", authority.Manager, issuedAt, 90*day)
	if err != nil {
		c.t.Fatal(err)
	}
	data[corev1.TLSCertKey], data[corev1.TLSPrivateKeyKey] = cert, keyPEM
	if err := c.Create(c.t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: sharedSecret}, Type: corev1.SecretTypeTLS, Data: data}); err != nil {
		c.t.Fatal(err)
	}
	return old.Certificate()
}

// TestNoRightToAnnounce: a manager that may not change the webhook configurations says which role it lacks, and does everything else.
func TestNoRightToAnnounce(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.install("certs.mode=secret", "certs.secret.name=none", "certs.secret.caBundle=-----BEGIN CERTIFICATE-----")
	m := c.manage("--webhook-cert-file=", "--webhook-key-file=")
	m.lacks = true
	m.ready()
	product.Eventually(t, "the log says so", func(context.Context) error {
		if log := m.Log(); !strings.Contains(log, "farrier-manager-webhooks") {
			return errors.New(log)
		}
		return nil
	})
	if n := strings.Count(m.Log(), "not kept up to date"); n != 1 {
		t.Errorf("it is said %d times", n)
	}
	m.Kill()
}
