package rotation

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

const namespace = "bare-metal"

var start = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// world is an API with the webhook configurations, a clock, and managers.
type world struct {
	t     *testing.T
	api   client.WithWatch
	clock *clocktesting.FakeClock
	// refuse is asked before each request; nil: all are answered.
	refuse func(verb string, of client.Object) error
	log    strings.Builder
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, clock: clocktesting.NewFakeClock(start)}
	ask := func(verb string, of client.Object) error {
		if w.refuse == nil {
			return nil
		}
		return w.refuse(verb, of)
	}
	ours := admissionregistrationv1.WebhookClientConfig{Service: &admissionregistrationv1.ServiceReference{Namespace: namespace, Name: Service}}
	theirs := admissionregistrationv1.WebhookClientConfig{Service: &admissionregistrationv1.ServiceReference{Namespace: "other", Name: Service}, CABundle: []byte("theirs")}
	name := metav1.ObjectMeta{Name: Configurations}
	w.api = fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithObjects(
		&admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: name, Webhooks: []admissionregistrationv1.MutatingWebhook{{Name: "mutate.farrier.dev", ClientConfig: ours}}},
		&admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: name, Webhooks: []admissionregistrationv1.ValidatingWebhook{
			{Name: "validate.farrier.dev", ClientConfig: ours}, {Name: "validate.example.org", ClientConfig: theirs},
		}},
	).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			return errors.Join(ask("get", o), c.Get(ctx, key, o, opts...))
		},
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if err := ask("create", o); err != nil {
				return err
			}
			return c.Create(ctx, o, opts...)
		},
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
			if err := ask("update", o); err != nil {
				return err
			}
			return c.Update(ctx, o, opts...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			if err := ask("patch", o); err != nil {
				return err
			}
			return c.Patch(ctx, o, p, opts...)
		},
	}).Build()
	return w
}

func (w *world) manager() *Keeper {
	return New(w.api, namespace, Configurations, w.clock, funcr.New(func(_, args string) { w.log.WriteString(args + "\n") }, funcr.Options{Verbosity: 1}))
}

// steps has each manager look once, and fails if one cannot.
func (w *world) steps(managers ...*Keeper) {
	w.t.Helper()
	for i, k := range managers {
		if err := k.step(w.t.Context()); err != nil {
			w.t.Fatalf("manager %d: %v", i, err)
		}
	}
}

// bundle is what API servers verify by, which both configurations agree about.
func (w *world) bundle() []byte {
	w.t.Helper()
	refuse := w.refuse
	w.refuse = nil
	defer func() { w.refuse = refuse }()
	var mutating admissionregistrationv1.MutatingWebhookConfiguration
	var validating admissionregistrationv1.ValidatingWebhookConfiguration
	for _, o := range []client.Object{&mutating, &validating} {
		if err := w.api.Get(w.t.Context(), client.ObjectKey{Name: Configurations}, o); err != nil {
			w.t.Fatal(err)
		}
	}
	bundle := mutating.Webhooks[0].ClientConfig.CABundle
	if !bytes.Equal(bundle, validating.Webhooks[0].ClientConfig.CABundle) {
		w.t.Error("the configurations have different authorities")
	}
	if got := string(validating.Webhooks[1].ClientConfig.CABundle); got != "theirs" {
		w.t.Errorf("the webhook of somebody else has %q", got)
	}
	return bundle
}

// verified fails unless API servers take what every manager shows.
func (w *world) verified(managers ...*Keeper) {
	w.t.Helper()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(w.bundle())
	for i, k := range managers {
		shown, err := k.GetCertificate(nil)
		if err != nil {
			w.t.Fatalf("manager %d: %v", i, err)
		}
		if _, err := shown.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: "farrier-webhook." + namespace + ".svc", CurrentTime: w.clock.Now()}); err != nil {
			w.t.Errorf("on %s API servers do not take what manager %d shows: %v", w.clock.Now().Format(time.DateOnly), i, err)
		}
	}
}

func (w *world) leaf(k *Keeper) *x509.Certificate {
	w.t.Helper()
	shown, err := k.GetCertificate(nil)
	if err != nil {
		w.t.Fatal(err)
	}
	return shown.Leaf
}

// TestYears: over three years, whatever one manager changes, API servers take what both show, before and after the other has looked; the certificate is
// renewed in time, and authorities come and go.
func TestYears(t *testing.T) {
	w := newWorld(t)
	a, b := w.manager(), w.manager()
	w.steps(a, b)
	leaves, authorities := map[string]bool{}, map[string]bool{}
	most := 0
	for range 3 * 365 {
		w.clock.Step(day)
		w.steps(a)
		w.verified(a, b)
		w.steps(b)
		w.verified(a, b)
		if !w.leaf(a).Equal(w.leaf(b)) {
			t.Fatal("two managers show different certificates")
		}
		if left := w.leaf(a).NotAfter.Sub(w.clock.Now()); left < 29*day {
			t.Fatalf("the certificate ends in %s", left)
		}
		leaves[w.leaf(a).SerialNumber.String()] = true
		announced := certificates(w.bundle())
		most = max(most, len(announced))
		for _, c := range announced {
			authorities[c.SerialNumber.String()] = true
		}
	}
	if len(leaves) < 15 || len(authorities) < 4 || len(authorities) > 6 || most != 2 {
		t.Errorf("%d certificates, %d authorities, at most %d at a time", len(leaves), len(authorities), most)
	}
}

// TestOverlap: the next authority does not sign before it has been announced for an hour, nor while a configuration lacks it.
func TestOverlap(t *testing.T) {
	w := newWorld(t)
	k := w.manager()
	w.steps(k)
	w.clock.Step(authorityValidity * 2 / 3)
	w.steps(k)
	before := w.leaf(k)
	if n := len(certificates(w.bundle())); n != 2 {
		t.Fatalf("%d authorities are announced", n)
	}
	w.clock.Step(overlap - time.Second)
	w.steps(k)
	if !w.leaf(k).Equal(before) {
		t.Error("the next authority signs before API servers know it")
	}
	var validating admissionregistrationv1.ValidatingWebhookConfiguration
	if err := w.api.Get(t.Context(), client.ObjectKey{Name: Configurations}, &validating); err != nil {
		t.Fatal(err)
	}
	validating.Webhooks[0].ClientConfig.CABundle = nil
	if err := w.api.Update(t.Context(), &validating); err != nil {
		t.Fatal(err)
	}
	w.clock.Step(time.Second)
	w.steps(k)
	if !w.leaf(k).Equal(before) {
		t.Error("the next authority signs although a configuration lacked it")
	}
	w.verified(k)
	w.steps(k)
	if w.leaf(k).Equal(before) {
		t.Error("the next authority does not sign")
	}
	w.verified(k)
}

// TestSeveralBegin: managers that begin at the same time agree, whichever writes first.
func TestSeveralBegin(t *testing.T) {
	w := newWorld(t)
	a, b := w.manager(), w.manager()
	once := false
	w.refuse = func(verb string, of client.Object) error {
		if _, isSecret := of.(*corev1.Secret); isSecret && verb == "create" && !once {
			once = true
			w.steps(b) // between what a has read and what it writes
		}
		return nil
	}
	w.steps(a)
	if !once || !w.leaf(a).Equal(w.leaf(b)) {
		t.Error("two managers show different certificates")
	}
	w.verified(a, b)
	// The same with a renewal.
	w.clock.Step(70 * day)
	once = false
	w.refuse = func(verb string, of client.Object) error {
		if _, isSecret := of.(*corev1.Secret); isSecret && verb == "update" && !once {
			once = true
			w.steps(b)
		}
		return nil
	}
	w.steps(a)
	if !once || !w.leaf(a).Equal(w.leaf(b)) {
		t.Error("two managers show different certificates after a renewal")
	}
	w.verified(a, b)
}

// TestFailures: what cannot be read or written keeps what is shown, is said once, and is made up for.
func TestFailures(t *testing.T) {
	for name, refused := range map[string]func(verb string, of client.Object) bool{
		"no API":                func(string, client.Object) bool { return true },
		"Secret not written":    func(verb string, of client.Object) bool { _, is := of.(*corev1.Secret); return is && verb != "get" },
		"Secret not read":       func(verb string, of client.Object) bool { _, is := of.(*corev1.Secret); return is && verb == "get" },
		"configuration unread":  func(verb string, of client.Object) bool { _, is := of.(*corev1.Secret); return !is && verb == "get" },
		"configuration refused": func(verb string, of client.Object) bool { _, is := of.(*corev1.Secret); return !is && verb == "patch" },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			k := w.manager()
			w.steps(k)
			before := w.leaf(k)
			refusal := errors.New("refused for the test")
			w.refuse = func(verb string, of client.Object) error {
				if refused(verb, of) {
					return refusal
				}
				return nil
			}
			w.clock.Step(authorityValidity * 2 / 3)
			w.log.Reset()
			k.look(t.Context())
			k.look(t.Context())
			if n := strings.Count(w.log.String(), "not kept up to date"); n != 1 {
				t.Errorf("said %d times:\n%s", n, w.log.String())
			}
			w.verifiedOr(before, k)
			w.refuse = nil
			w.steps(k)
			w.verified(k)
		})
	}
}

// verifiedOr is verified, or that the manager shows what it has shown before.
func (w *world) verifiedOr(before *x509.Certificate, k *Keeper) {
	w.t.Helper()
	if !w.leaf(k).Equal(before) {
		w.verified(k)
	}
}

// TestBroken: of what somebody has broken in the Secret, as much as has to be is made anew, and API servers take it at once.
func TestBroken(t *testing.T) {
	for name, c := range map[string]struct {
		breaks       func(data map[string][]byte)
		newAuthority bool
	}{
		"nothing":          {func(map[string][]byte) {}, false},
		"serving key":      {func(d map[string][]byte) { d["tls.key"] = []byte("x") }, false},
		"serving half":     {func(d map[string][]byte) { d["tls.crt"] = d["authority.crt"] }, false},
		"bundle":           {func(d map[string][]byte) { d["ca.crt"] = []byte("x") }, false},
		"next":             {func(d map[string][]byte) { d["next.crt"] = []byte("x") }, false},
		"authority":        {func(d map[string][]byte) { d["authority.crt"] = []byte("x") }, true},
		"no authority key": {func(d map[string][]byte) { delete(d, "authority.key") }, true},
		"everything":       {func(d map[string][]byte) { clear(d) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			a, b := w.manager(), w.manager()
			w.steps(a, b)
			before := w.bundle()
			secret := &corev1.Secret{}
			if err := w.api.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: SecretName}, secret); err != nil {
				t.Fatal(err)
			}
			c.breaks(secret.Data)
			if err := w.api.Update(t.Context(), secret); err != nil {
				t.Fatal(err)
			}
			w.steps(a, b)
			w.verified(a, b)
			if changed := !bytes.Equal(before, w.bundle()); changed != c.newAuthority {
				t.Errorf("another authority: %t", changed)
			}
		})
	}
}

// TestNotOurs: what leads to somebody else, or what cert-manager fills in, is left alone, and the log says so.
func TestNotOurs(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*admissionregistrationv1.ValidatingWebhookConfiguration)
		says   string
	}{
		"another installation": {func(c *admissionregistrationv1.ValidatingWebhookConfiguration) {
			c.Webhooks[0].ClientConfig.Service.Namespace = "other"
		}, "no webhook leads to the Service bare-metal/farrier-webhook"},
		"cert-manager": {func(c *admissionregistrationv1.ValidatingWebhookConfiguration) {
			c.Annotations = map[string]string{injected: "bare-metal/farrier-webhook"}
		}, injected},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			var configuration admissionregistrationv1.ValidatingWebhookConfiguration
			if err := w.api.Get(t.Context(), client.ObjectKey{Name: Configurations}, &configuration); err != nil {
				t.Fatal(err)
			}
			c.change(&configuration)
			if err := w.api.Update(t.Context(), &configuration); err != nil {
				t.Fatal(err)
			}
			k := w.manager()
			k.look(t.Context())
			if !strings.Contains(w.log.String(), c.says) {
				t.Errorf("the log does not say %q:\n%s", c.says, w.log.String())
			}
			if _, err := k.GetCertificate(nil); err != nil {
				t.Error(err)
			}
			if err := w.api.Get(t.Context(), client.ObjectKey{Name: Configurations}, &configuration); err != nil {
				t.Fatal(err)
			}
			if configuration.Webhooks[0].ClientConfig.CABundle != nil {
				t.Error("it was changed")
			}
		})
	}
}

// TestClockGoesBack: a manager whose clock is behind changes nothing that others have made.
func TestClockGoesBack(t *testing.T) {
	w := newWorld(t)
	a := w.manager()
	w.steps(a)
	before := w.leaf(a)
	w.clock.SetTime(start.Add(-300 * day))
	b := w.manager()
	w.steps(b)
	if !w.leaf(b).Equal(before) {
		t.Error("a clock that is behind has everything made anew")
	}
}
