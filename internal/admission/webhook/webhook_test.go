package webhook_test

import (
	"context"
	"crypto/x509"
	"net"
	"net/netip"
	"testing"

	"github.com/go-logr/logr/testr"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/farrier-dev/farrier/internal/admission/admissiontest"
	"github.com/farrier-dev/farrier/internal/admission/cached"
	"github.com/farrier-dev/farrier/internal/admission/webhook"
	"github.com/farrier-dev/farrier/internal/controlplane/testapi"
	"github.com/farrier-dev/farrier/test/await"
	"github.com/farrier-dev/farrier/test/certificate"
	"github.com/farrier-dev/farrier/test/loopback"
)

// TestWebhook registers the webhook with a real API server and holds it to what the rules are held to.
func TestWebhook(t *testing.T) {
	cfg := testapi.StartWith(t).RESTConfig()
	api := admissiontest.NewAPI(t, cfg)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	failed := make(chan error, 2)
	rules, err := cached.Rules(ctx, cfg, admissiontest.ManagerNamespace, failed)
	if err != nil {
		t.Fatal(err)
	}
	address, certFile, keyFile, authority := servingPair(t)
	options := webhook.Options{Address: address, CertFile: certFile, KeyFile: keyFile}
	server, err := options.Server()
	if err != nil {
		t.Fatal(err)
	}
	webhook.Register(server, rules, testr.New(t))
	go func() { failed <- server.Start(ctx) }()
	register(t, api, address, authority)
	inForce(t, api)
	t.Run("Cases", func(t *testing.T) { admissiontest.Run(t, api) })
	t.Run("LabelKeys", func(t *testing.T) { admissiontest.LabelKeys(t, api) })
	t.Run("Away", func(t *testing.T) {
		cancel()
		if err := <-failed; err != nil {
			t.Fatal(err)
		}
		bad := admissiontest.Parse(t, "{apiVersion: metal.ironcore.dev/v1alpha1, kind: ServerClaim, metadata: {name: away, namespace: "+api.Namespace(t)+"}, spec: {power: 'On', image: 'not an image'}}")
		if outcome := api.Request(t, bad, nil); len(outcome.Causes) > 0 {
			t.Errorf("refused although nobody judged it: %q", outcome.Causes)
		}
	})
}

// register applies config/webhook, with an address in place of the service.
func register(t *testing.T, api *admissiontest.API, address string, authority []byte) {
	t.Helper()
	mutating, validating := configurations(t)
	for i := range mutating.Webhooks {
		redirect(&mutating.Webhooks[i].ClientConfig, address, authority)
	}
	for i := range validating.Webhooks {
		redirect(&validating.Webhooks[i].ClientConfig, address, authority)
	}
	for _, configuration := range []client.Object{mutating, validating} {
		if err := api.Client().Create(t.Context(), configuration); err != nil {
			t.Fatal(err)
		}
	}
}

func redirect(c *admissionregistrationv1.WebhookClientConfig, address string, authority []byte) {
	url := "https://" + address + *c.Service.Path
	c.Service, c.URL, c.CABundle = nil, &url, authority
}

// inForce waits until the API server asks: it learns of configurations by watching.
func inForce(t *testing.T, api *admissiontest.API) {
	t.Helper()
	await.True(t, "the API server asks", func() bool {
		claim := admissiontest.Parse(t, "{apiVersion: metal.ironcore.dev/v1alpha1, kind: ServerClaim, metadata: {generateName: probe-, namespace: default}, spec: {power: 'On', image: 'not an image'}}")
		profile := admissiontest.Parse(t, "{apiVersion: ipxe.cloud.alexandre.mahdhaoui.com/v1alpha1, kind: Profile, metadata: {generateName: probe-, namespace: default, labels: {assignment/ipxe/a: b}}, spec: {ipxe: '#!ipxe'}}")
		return len(api.Request(t, claim, nil).Causes) > 0 && len(api.Request(t, profile, nil).Causes) == 0
	})
}

// servingPair writes a certificate for a free port of loopback, which is its own authority.
func servingPair(t *testing.T) (address, certFile, keyFile string, authority []byte) {
	t.Helper()
	address = loopback.Free(t)
	pair := certificate.SelfSigned(t, func(c *x509.Certificate) {
		c.IPAddresses, c.ExtKeyUsage = []net.IP{netip.MustParseAddrPort(address).Addr().AsSlice()}, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	})
	certFile, keyFile = pair.Write(t, t.TempDir())
	return address, certFile, keyFile, pair.Cert
}
