package ipxeapi

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	ipxev1 "github.com/farrier-dev/farrier/api/ipxe/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
	"github.com/farrier-dev/farrier/internal/ipxeapi/assignment"
	"github.com/farrier-dev/farrier/internal/ipxeapi/content"
	"github.com/farrier-dev/farrier/test/certificate"
)

// hang is how long is waited for what takes milliseconds on a machine that is not busy.
const hang = time.Minute

// clientPair is a certificate for a client, which is its own authority, and its key.
func clientPair(t *testing.T, name string) (cert, key []byte) {
	t.Helper()
	pair := certificate.SelfSigned(t, func(c *x509.Certificate) {
		c.Subject, c.ExtKeyUsage = pkix.Name{CommonName: name}, []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	})
	return pair.Cert, pair.Key
}

// TestAWebhookThatDemandsACertificate is presented the one of the Secret; what is wrong with that is said in the condition, and no key with it.
func TestAWebhookThatDemandsACertificate(t *testing.T) {
	certificate, key := clientPair(t, "farrier")
	foreign, foreignKey := clientPair(t, "stranger")
	clients := x509.NewCertPool()
	clients.AppendCertsFromPEM(certificate)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.TLS.PeerCertificates[0].Subject.CommonName)
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.TLS = &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: clients}
	server.StartTLS()
	defer server.Close()
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})

	for name, c := range map[string]struct {
		secret map[string][]byte // nil: there is none
		script string
		says   string
	}{
		"its certificate":            {secret: map[string][]byte{"tls.crt": certificate, "tls.key": key, "ca.crt": authority}, script: "echo farrier\n"},
		"one of another authority":   {secret: map[string][]byte{"tls.crt": foreign, "tls.key": foreignKey, "ca.crt": authority}, says: "c: webhook: remote error: tls: "},
		"a server that is no such":   {secret: map[string][]byte{"tls.crt": certificate, "tls.key": key, "ca.crt": foreign}, says: "unknown authority"},
		"the key of another":         {secret: map[string][]byte{"tls.crt": certificate, "tls.key": foreignKey, "ca.crt": authority}, says: "tls.crt and tls.key are not a PEM certificate and its key"},
		"what is no authority":       {secret: map[string][]byte{"tls.crt": certificate, "tls.key": key, "ca.crt": []byte("x")}, says: "ca.crt holds no PEM certificate"},
		"a Secret without the key":   {secret: map[string][]byte{"tls.crt": certificate, "ca.crt": authority}, says: `Secret "mtls" has no key "tls.key"`},
		"a Secret that is not there": {says: `Secret "mtls" does not exist`},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStand(t, newProfile("p", "#!ipxe\necho {{ .c }}\n", ipxev1.AdditionalContent{
				Name: "c", Webhook: &ipxev1.Webhook{URL: server.URL, MTLS: &ipxev1.WebhookMTLS{SecretRef: ipxev1.LocalObjectReference{Name: "mtls"}}},
			}), newAssignment("a", "p", map[string]string{"uuid": uuid}))
			resolver, answered := asking(t)
			s.profiles.Webhooks = resolver
			if c.secret != nil {
				s.Add(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "mtls"}, Data: c.secret})
			}
			s.settle(t, "p:default/p")
			if len(c.secret) == 3 {
				select {
				case <-answered:
				case <-time.After(hang):
					t.Fatal("nobody was asked")
				}
			}
			s.settle(t, "p:default/p", "a:default/a")
			got, err := s.script(t, "uuid="+uuid)
			if c.script != "" {
				s.profileSays(t, "p", ipxev1.ConditionContentResolved, metav1.ConditionTrue, reasonResolved)
				if err != nil || got != "#!ipxe\n"+c.script {
					t.Errorf("script %q, %v", got, err)
				}
				return
			}
			s.profileSays(t, "p", ipxev1.ConditionContentResolved, metav1.ConditionFalse, reasonContentUnavailable, c.says)
			s.assignmentSays(t, "a", ipxev1.ConditionProgrammed, metav1.ConditionFalse, reasonProfileNotReady, c.says)
			if err == nil {
				t.Errorf("its machine is given %q", got)
			}
		})
	}
}

// asking is a resolver that runs, and what it tells of answers.
func asking(t *testing.T) (*content.Resolver, chan content.Request) {
	t.Helper()
	hosts, err := content.ParseHosts([]string{"127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	r := content.NewResolver(content.Options{Hosts: hosts, MaxBytes: 100, Clock: clock.RealClock{}})
	answered := make(chan content.Request, 64)
	r.Subscribe(func(request content.Request) { answered <- request })
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return r, answered
}

// TestAProfileThatIsBrokenByAnEdit: its machines wait, and are given neither the script before nor a default; those that were given the script
// before still get its configs; and all is well again with the next edit.
func TestAProfileThatIsBrokenByAnEdit(t *testing.T) {
	p := newProfile("p", "#!ipxe\nchain {{ c }}\n")
	p.UID, p.Spec.AdditionalConfig = "p", map[string]string{"c": "text"}
	s := newStand(t, p, newProfile("q", "#!ipxe\necho default\n"), newAssignment("a", "p", map[string]string{"uuid": uuid}), newAssignment("default", "q", nil))
	s.settle(t, "p:default/p", "p:default/q", "a:default/a", "a:default/default")
	script, err := s.script(t, "uuid="+uuid)
	if err != nil {
		t.Fatal(err)
	}
	edit := func(script string) {
		t.Helper()
		controllertest.Change(t, s.API, "default/p", func(p *ipxev1.Profile) { p.Spec.IPXE = script })
		s.settle(t, "p:default/p", "a:default/a")
	}
	for range 2 { // a second look at what is broken changes nothing
		edit("#!ipxe\nchain {{ gone }}\n")
		s.profileSays(t, "p", ipxev1.ConditionReady, metav1.ConditionFalse, reasonInvalidTemplate, `"gone"`)
		s.assignmentSays(t, "a", ipxev1.ConditionProgrammed, metav1.ConditionFalse, reasonProfileNotReady, `"gone"`)
		if got, err := s.script(t, "uuid="+uuid); err == nil {
			t.Errorf("its machine is given %q", got)
		}
		if got := s.config(t, script); got != "text" {
			t.Errorf("the config of the script before: %q", got)
		}
	}
	edit("#!ipxe\necho again\n")
	if got, err := s.script(t, "uuid="+uuid); err != nil || !strings.Contains(got, "again") {
		t.Errorf("script %q, %v", got, err)
	}
	if got := s.config(t, script); got != "" {
		t.Errorf("the config of a script that is two edits old: %q", got)
	}
}

// config is what the URL that a script chains to is answered with; empty: it is refused.
func (s *stand) config(t *testing.T, script string) string {
	t.Helper()
	_, rest, _ := strings.Cut(script, "/config/")
	id, query, _ := strings.Cut(strings.TrimSpace(rest), "?")
	labels, err := assignment.ReadQuery(query)
	if err != nil || id == "" {
		t.Fatalf("%q: %v", script, err)
	}
	found, err := s.view.Config(id, labels)
	if err != nil {
		return ""
	}
	return string(found.Bytes)
}
