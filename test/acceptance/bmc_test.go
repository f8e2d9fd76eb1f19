package acceptance

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
)

// bmcIs waits until a condition of a BMC has that reason.
func (p *running) bmcIs(name, kind, reason string) *metalv1.BMC {
	p.t.Helper()
	b := &metalv1.BMC{ObjectMeta: metav1.ObjectMeta{Name: name}}
	p.says(b, func() []metav1.Condition { return b.Status.Conditions }, kind, reason)
	return b
}

// annotated sets an annotation of a BMC or a BMCSecret.
func (p *running) annotated(obj client.Object, key, value string) {
	p.t.Helper()
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, key, value)
	if err := p.Patch(p.t.Context(), obj, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
		p.t.Fatal(err)
	}
}

// event waits for an event about an object.
func (p *running) event(name, reason string) {
	p.t.Helper()
	p.Eventually("event "+reason+" about "+name, func(ctx context.Context) error {
		var list eventsv1.EventList
		if err := p.List(ctx, &list); err != nil {
			return err
		}
		for _, e := range list.Items {
			if e.Regarding.Name == name && e.Reason == reason {
				return nil
			}
		}
		return fmt.Errorf("%d events, none of them", len(list.Items))
	})
}

// TestTheSecondDefaultCredential: a BMC that refuses the first default password of its make is logged in to with
// the second, with no more attempts than that takes; who kills the product in between changes nothing; and what people set since is theirs.
func TestTheSecondDefaultCredential(t *testing.T) {
	l := newLab(t, 2)
	const second = "marker-of-the-second"
	l.SetPassword(0, second)
	text, err := os.ReadFile(l.Prefixes)
	if err != nil {
		t.Fatal(err)
	}
	text = append(text, "  - username: admin\n    password: "+second+"\n"...)
	if err := os.WriteFile(l.Prefixes, text, 0o600); err != nil {
		t.Fatal(err)
	}
	p := l.up(t)
	l.discover(p)
	one, two := l.BMCs()[0].Name, l.BMCs()[1].Name
	// Sessions may be what is refused, so the first password is tried with Basic authentication too.
	if n := l.Stats(0).Refused; n != 2 {
		t.Errorf("the BMC has refused %d requests; the first password was to be tried once for a session, and once without", n)
	}
	for name, says := range map[string]string{one: "2 of 2", two: "1 of 2"} {
		b := p.bmcIs(name, metalv1.ConditionDefaultCredentials, metalv1.ReasonCredentialsAccepted)
		if c := apimeta.FindStatusCondition(b.Status.Conditions, metalv1.ConditionDefaultCredentials); !strings.Contains(c.Message, says) {
			t.Errorf("BMC %s: %s", name, c.Message)
		}
		p.event(name, metalv1.ReasonPlainHTTP)
	}

	p.Kill()
	p = l.up(t)
	p.observed(one + "-system-0")
	secret := &metalv1.BMCSecret{}
	if err := p.Get(t.Context(), client.ObjectKey{Name: one}, secret); err != nil || string(secret.Data["password"]) != second {
		t.Errorf("after the kill the password is another one (%v)", err)
	}

	// Somebody changes the password at the BMC, and keeps it in a core Secret.
	l.SetPassword(0, "own-marker")
	core := &corev1.Secret{ObjectMeta: objectMeta("farrier-system", "vault"), StringData: map[string]string{"username": "admin", "password": "wrong"}}
	if err := p.Create(t.Context(), core); err != nil {
		t.Fatal(err)
	}
	p.annotated(secret, metalv1.AnnotationSecret, "farrier-system/vault")
	p.bmcIs(one, metalv1.ConditionReady, metalv1.ReasonAuthenticationFailed)
	core.StringData = map[string]string{"password": "own-marker"}
	if err := p.Update(t.Context(), core); err != nil {
		t.Fatal(err)
	}
	p.bmcIs(one, metalv1.ConditionReady, metalv1.ReasonConnected)
	for _, marker := range []string{second, "own-marker"} {
		if strings.Contains(p.Log(), marker) {
			t.Errorf("the password %s is in the log", marker)
		}
	}
}

// TestOperationsOnABMC: a restart on request is carried out and comes to its end; what is no operation is
// taken away and said.
func TestOperationsOnABMC(t *testing.T) {
	l := newLab(t, 1)
	p := l.up(t)
	l.discover(p)
	name := l.BMCs()[0].Name
	b := p.bmcIs(name, metalv1.ConditionReady, metalv1.ReasonConnected)
	p.annotated(b, metalv1.AnnotationOperation, metalv1.OperationGracefulRestartBMC)
	p.bmcIs(name, metalv1.ConditionReset, metalv1.ReasonUserRequested)
	b = p.bmcIs(name, metalv1.ConditionReset, metalv1.ReasonResetComplete)
	if b.Status.LastResetTime == nil || b.Annotations[metalv1.AnnotationOperation] != "" || b.Annotations[metalv1.AnnotationOperationStarted] != "" {
		t.Errorf("after the restart: %v, last reset %v", b.Annotations, b.Status.LastResetTime)
	}
	p.bmcIs(name, metalv1.ConditionReady, metalv1.ReasonConnected)
	p.annotated(b, metalv1.AnnotationOperation, "dance")
	p.event(name, metalv1.ReasonUnsupportedOperation)
}
