package leadership_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1apply "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/farrier-dev/farrier/internal/controller/leadership"
	"github.com/farrier-dev/farrier/internal/controller/reconcileerror"
)

func secret() *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "s"}}
}

// writes are all ways to write.
var writes = map[string]func(context.Context, client.Client) error{
	"create": func(ctx context.Context, c client.Client) error { return c.Create(ctx, secret()) },
	"update": func(ctx context.Context, c client.Client) error { return c.Update(ctx, secret()) },
	"patch": func(ctx context.Context, c client.Client) error {
		return c.Patch(ctx, secret(), client.RawPatch(client.Merge.Type(), []byte("{}")))
	},
	"apply": func(ctx context.Context, c client.Client) error {
		return c.Apply(ctx, corev1apply.Secret("s", "ns"), client.FieldOwner("f"))
	},
	"delete":        func(ctx context.Context, c client.Client) error { return c.Delete(ctx, secret()) },
	"delete all":    func(ctx context.Context, c client.Client) error { return c.DeleteAllOf(ctx, secret()) },
	"status create": func(ctx context.Context, c client.Client) error { return c.Status().Create(ctx, secret(), secret()) },
	"status update": func(ctx context.Context, c client.Client) error { return c.Status().Update(ctx, secret()) },
	"status patch": func(ctx context.Context, c client.Client) error {
		return c.Status().Patch(ctx, secret(), client.RawPatch(client.Merge.Type(), []byte("{}")))
	},
	"status apply": func(ctx context.Context, c client.Client) error {
		return c.Status().Apply(ctx, corev1apply.Secret("s", "ns"))
	},
	"subresource create": func(ctx context.Context, c client.Client) error {
		return c.SubResource("token").Create(ctx, secret(), secret())
	},
	"subresource update": func(ctx context.Context, c client.Client) error { return c.SubResource("scale").Update(ctx, secret()) },
	"subresource patch": func(ctx context.Context, c client.Client) error {
		return c.SubResource("scale").Patch(ctx, secret(), client.RawPatch(client.Merge.Type(), []byte("{}")))
	},
	"subresource apply": func(ctx context.Context, c client.Client) error {
		return c.SubResource("scale").Apply(ctx, corev1apply.Secret("s", "ns"))
	},
}

// TestWritesOnlyDuringTerms: every way to write is refused before a term, after it and when its context has ended, and a reconcile takes the refusal
// well. Reads are never refused.
func TestWritesOnlyDuringTerms(t *testing.T) {
	for name, write := range writes {
		t.Run(name, func(t *testing.T) {
			var l leadership.Leadership
			c := l.Client(fake.NewClientBuilder().WithObjects(secret()).WithStatusSubresource(secret()).Build())
			refused := func(when string) {
				t.Helper()
				err := write(t.Context(), c)
				var waiting reconcileerror.Waiting
				if !errors.As(err, &waiting) || l.Leads() {
					t.Errorf("%s: %v, leads: %t", when, err, l.Leads())
				}
				if _, err := reconcileerror.Handle(t.Context(), reconcile.Result{}, err); err != nil {
					t.Errorf("%s: a reconcile fails: %v", when, err)
				}
				if err := c.Get(t.Context(), client.ObjectKeyFromObject(secret()), secret()); err != nil {
					t.Errorf("%s: a read is refused: %v", when, err)
				}
			}
			refused("before a term")
			term, end := context.WithCancel(t.Context())
			l.Begin(term)
			end()
			refused("when the context of the term has ended")
			l.End()
			refused("after the term")
			l.Begin(t.Context())
			var waiting reconcileerror.Waiting
			if err := write(t.Context(), c); errors.As(err, &waiting) || !l.Leads() {
				t.Errorf("in a term: %v", err)
			}
		})
	}
}

// TestTheEndWaitsForWrites: the end of a term cuts the writes of its time short, and comes after them.
func TestTheEndWaitsForWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l leadership.Leadership
		under, goOn := make(chan struct{}), make(chan struct{})
		c := l.Client(fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
			Create: func(ctx context.Context, _ client.WithWatch, _ client.Object, _ ...client.CreateOption) error {
				close(under)
				<-ctx.Done()
				<-goOn
				return ctx.Err()
			},
		}).Build())
		term, end := context.WithCancel(t.Context())
		l.Begin(term)
		written := make(chan error, 1)
		go func() { written <- c.Create(t.Context(), secret()) }()
		<-under
		end()
		ended := make(chan struct{})
		go func() { l.End(); close(ended) }()
		synctest.Wait()
		select {
		case <-ended:
			t.Error("the term is over, and a write of it is not")
		default:
		}
		close(goOn)
		<-ended
		if err := <-written; !errors.Is(err, context.Canceled) {
			t.Errorf("the write: %v", err)
		}
	})
}

// TestChanged: whoever follows learns of each term and of each leader.
func TestChanged(t *testing.T) {
	var l leadership.Leadership
	for name, change := range map[string]func(){
		"a term begins":   func() { l.Begin(t.Context()) },
		"a term ends":     func() { l.End() },
		"another leader":  func() { l.SetLeader("192.0.2.1:8443") },
		"nobody any more": func() { l.SetLeader("192.0.2.1:8443"); l.SetLeader("") },
	} {
		changed := l.Changed()
		change()
		select {
		case <-changed:
		default:
			t.Errorf("%s: nothing is told", name)
		}
		l.SetLeader("")
	}
	l.SetLeader("192.0.2.2:8443")
	changed := l.Changed()
	if l.SetLeader("192.0.2.2:8443"); l.Leader() != "192.0.2.2:8443" {
		t.Errorf("the leader is %q", l.Leader())
	}
	select {
	case <-changed:
		t.Error("the same leader again is news")
	default:
	}
}
