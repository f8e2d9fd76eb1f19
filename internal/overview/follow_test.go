package overview

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
)

// watched is an API that counts lists, says when it is watched, and can refuse.
type watched struct {
	client.WithWatch
	lists    atomic.Int64
	watching chan string
	deny     func(list client.ObjectList) error
}

// IsWatchListSemanticsUnSupported tells the reflector that a watch of this API does not begin with what exists.
func (*watched) IsWatchListSemanticsUnSupported() bool { return true }

func (w *watched) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	w.lists.Add(1)
	if err := w.deny(list); err != nil {
		return err
	}
	return w.WithWatch.List(ctx, list, options...)
}

func (w *watched) Watch(ctx context.Context, list client.ObjectList, options ...client.ListOption) (watch.Interface, error) {
	events, err := w.WithWatch.Watch(ctx, list, options...)
	w.watching <- ""
	return events, err
}

// follows runs a Follower for as long as the test runs, and returns when it watches so many kinds.
func follows(t *testing.T, api *controllertest.API, kinds int, deny func(client.ObjectList) error) (*Follower, *watched) {
	t.Helper()
	w := &watched{WithWatch: api, watching: make(chan string, 100), deny: deny}
	f := NewFollower(w)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		f.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	for range kinds {
		<-w.watching
	}
	return f, w
}

// until returns when what is followed is as a test wants it.
func until(t *testing.T, f *Follower, want func(o *Objects, missing []string, err error) bool) {
	t.Helper()
	for {
		changed := f.Changed()
		if want(f.Objects()) {
			return
		}
		select {
		case <-changed:
		case <-t.Context().Done():
			t.Fatal("it did not come to that")
		}
	}
}

func allowed(client.ObjectList) error { return nil }

// TestAFollowerHasWhatTheAPIHas: what exists, what is new, what has changed and what is gone, in order of the names, and each kind is listed once.
func TestAFollowerHasWhatTheAPIHas(t *testing.T) {
	server := func(name string) *metalv1.Server {
		return &metalv1.Server{ObjectMeta: metav1.ObjectMeta{Name: name, ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "somebody"}}}}
	}
	api := controllertest.NewAPI(t, server("c"), server("a"))
	f, w := follows(t, api, 5, allowed)
	names := func(want string) func(*Objects, []string, error) bool {
		return func(o *Objects, missing []string, err error) bool {
			if o == nil || err != nil || len(missing) > 0 {
				return false
			}
			var got []string
			for i := range o.Servers {
				if o.Servers[i].ManagedFields != nil {
					t.Fatal("it keeps what nobody shows")
				}
				got = append(got, o.Servers[i].Name+string(o.Servers[i].Status.State))
			}
			return strings.Join(got, " ") == want
		}
	}
	until(t, f, names("a c"))
	api.Add(t, server("b"))
	until(t, f, names("a b c"))
	controllertest.ChangeStatus(t, api, "b", func(s *metalv1.Server) { s.Status.State = metalv1.ServerStateError })
	until(t, f, names("a bError c"))
	api.Remove(t, server("a"))
	until(t, f, names("bError c"))
	api.Add(t, &metalv1.ServerClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c"}})
	until(t, f, func(o *Objects, _ []string, _ error) bool { return len(o.Claims) == 1 })
	if n := w.lists.Load(); n != 5 {
		t.Errorf("%d lists of 5 kinds", n)
	}
}

// TestWhatAFollowerMayNotSee is named, and the rest is there.
func TestWhatAFollowerMayNotSee(t *testing.T) {
	f, _ := follows(t, controllertest.NewAPI(t), 4, func(list client.ObjectList) error {
		if _, of := list.(*metalv1.ServerClaimList); of {
			return apierrors.NewForbidden(metalv1.GroupVersion.WithResource("serverclaims").GroupResource(), "", errors.New("no"))
		}
		return nil
	})
	until(t, f, func(o *Objects, missing []string, err error) bool {
		return o != nil && err == nil && len(missing) == 1 && missing[0] == "ServerClaims: this user may not list them"
	})
}

// TestAFollowerSaysWhyNothingIsNew: while the API does not answer, and what was seen before stands.
func TestAFollowerSaysWhyNothingIsNew(t *testing.T) {
	var down atomic.Bool
	down.Store(true)
	f, _ := follows(t, controllertest.NewAPI(t), 0, func(list client.ObjectList) error {
		if _, of := list.(*metalv1.ServerList); of && down.Load() {
			return errors.New("connection refused")
		}
		return nil
	})
	until(t, f, func(o *Objects, _ []string, err error) bool {
		return o == nil && err != nil && err.Error() == "--kubeconfig: list Servers: connection refused"
	})
	down.Store(false)
	until(t, f, func(o *Objects, _ []string, err error) bool { return o != nil && err == nil })
}
