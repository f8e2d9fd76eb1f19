package system

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
)

var gone = &url.Error{Op: "Get", URL: "https://192.0.2.1", Err: &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}}

func TestAway(t *testing.T) {
	leases := schema.GroupResource{Resource: "leases"}
	later := apierrors.NewTimeoutError("version", 1)
	later.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeResourceVersionTooLarge}}
	for name, tc := range map[string]struct {
		err  error
		want bool
	}{
		"nothing":                  {nil, false},
		"refused":                  {gone, true},
		"wrapped":                  {fmt.Errorf("Secret: %w", gone), true},
		"no route":                 {&net.OpError{Op: "read", Err: syscall.EHOSTUNREACH}, true},
		"cut":                      {io.ErrUnexpectedEOF, true},
		"too slow":                 {context.DeadlineExceeded, true},
		"given up by us":           {&url.Error{Op: "Get", Err: context.Canceled}, false},
		"not ready":                {apierrors.NewServiceUnavailable("starting"), true},
		"broken":                   {apierrors.NewInternalError(errors.New("etcd")), true},
		"too many":                 {apierrors.NewTooManyRequestsError("later"), true},
		"none":                     {apierrors.NewNotFound(leases, "l"), false},
		"forbidden":                {apierrors.NewForbidden(leases, "l", nil), false},
		"unknown":                  {apierrors.NewUnauthorized("who"), false},
		"older than asked for":     {later, false},
		"another's certificate":    {&url.Error{Op: "Get", Err: &tls.CertificateVerificationError{Err: errors.New("x509")}}, false},
		"no TLS":                   {&url.Error{Op: "Get", Err: http.ErrSchemeMismatch}, false},
		"an error of another kind": {errors.New("missing CRDs"), false},
	} {
		if got := away(tc.err); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestReadiness: not ready before the caches are full and while a part has no contact, with the reason; alive at all times.
func TestReadiness(t *testing.T) {
	s := &System{synced: make(chan struct{})}
	health := s.health()
	says := func(path string, status int, words ...string) {
		t.Helper()
		answer := httptest.NewRecorder()
		health.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, path, nil))
		if answer.Code != status {
			t.Errorf("%s: %d %q, want %d", path, answer.Code, answer.Body, status)
		}
		for _, word := range words {
			if !strings.Contains(answer.Body.String(), word) {
				t.Errorf("%s: %q does not say %q", path, answer.Body, word)
			}
		}
	}
	says("/healthz", 200)
	says("/readyz", 503, "caches")
	close(s.synced)
	says("/readyz", 200)
	s.contact.note("Lease", gone)
	s.contact.note("*v1alpha1.Server", gone)
	says("/readyz", 503, "out of touch", "192.0.2.1")
	says("/readyz/caches", 200)
	says("/healthz/ping", 200)
	s.contact.note("Lease", nil)
	says("/readyz", 503, "Server")
	s.contact.note("*v1alpha1.Server", nil)
	says("/readyz", 200)
	says("/other", 404)
}

// TestAwaitAPI: what can be waited for is, and what cannot is returned at once.
func TestAwaitAPI(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &System{logger: logr.Discard()}
		began := time.Now()
		err := s.AwaitAPI(t.Context(), func(context.Context) error {
			if time.Since(began) < time.Minute {
				return fmt.Errorf("keys: %w", gone)
			}
			if s.contact.Err() == nil {
				t.Error("the process says that it has contact")
			}
			return nil
		})
		if waited := time.Since(began); err != nil || waited > time.Minute+5*time.Second || s.contact.Err() != nil {
			t.Errorf("%v after %s, contact: %v", err, waited, s.contact.Err())
		}
		broken := errors.New("missing CRDs")
		if err := s.AwaitAPI(t.Context(), func(context.Context) error { return broken }); !errors.Is(err, broken) {
			t.Errorf("%v", err)
		}
		refused := apierrors.NewUnauthorized("no accounts yet")
		if err := s.AwaitAPI(t.Context(), func(context.Context) error { return refused }); !errors.Is(err, refused) {
			t.Errorf("%v", err)
		}
		began = time.Now()
		errs := []error{gone, refused, apierrors.NewForbidden(schema.GroupResource{}, "", nil), nil}
		if err := s.AwaitAPI(t.Context(), func(context.Context) (err error) { err, errs = errs[0], errs[1:]; return err }); err != nil {
			t.Errorf("an API that has just started: %v", err)
		}
		first := true
		err = s.AwaitAPI(t.Context(), func(context.Context) error {
			if first {
				first = false
				return gone
			}
			return refused
		})
		if waited := time.Since(began); !errors.Is(err, refused) || waited < settling || waited > 2*settling {
			t.Errorf("an API that goes on refusing: %v after %s", err, waited)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := s.AwaitAPI(ctx, func(context.Context) error { return gone }); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
	})
}

// TestInformersAreBackSoon: a watch that breaks is noted at once, and is there again within seconds after the API is, however long that was away.
func TestInformersAreBackSoon(t *testing.T) {
	for _, long := range []time.Duration{10 * time.Second, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			var c contact
			api := &watched{}
			informer := c.informer(api, &corev1.Secret{}, 0, toolscache.Indexers{})
			var failures atomic.Int32
			_ = informer.SetWatchErrorHandler(func(*toolscache.Reflector, error) { failures.Add(1) })
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan struct{})
			go func() { informer.RunWithContext(ctx); close(done) }()
			time.Sleep(time.Minute) // the clock is the test's
			synctest.Wait()
			if err := c.Err(); err != nil || !informer.HasSynced() {
				t.Fatalf("contact: %v, synced: %t", err, informer.HasSynced())
			}
			api.away.Store(true)
			api.current.Load().Stop()
			time.Sleep(2 * time.Second)
			if c.Err() == nil {
				t.Error("nothing is noted of an API that is gone")
			}
			time.Sleep(long)
			api.refuses.Store(1) // no roles yet
			api.away.Store(false)
			back := time.Now()
			if err := c.await(t.Context()); err != nil {
				t.Error(err)
			}
			if late := time.Since(back); late > 5*time.Second {
				t.Errorf("after %s without an API: back %s after it", long, late)
			}
			if n := failures.Load(); n > 0 {
				t.Errorf("after %s without an API: %d errors reached the reflector, which logs each", long, n)
			}
			cancel()
			<-done
		})
	}
}

// watched is an API with one kind and no objects.
type watched struct {
	away    atomic.Bool
	refuses atomic.Int32 // that many requests
	current atomic.Pointer[watch.FakeWatcher]
}

func (w *watched) err() error {
	switch {
	case w.away.Load():
		return gone
	case w.refuses.Load() > 0:
		w.refuses.Add(-1)
		return apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "", errors.New("no roles yet"))
	}
	return nil
}

func (w *watched) List(metav1.ListOptions) (runtime.Object, error) {
	if err := w.err(); err != nil {
		return nil, err
	}
	return &corev1.SecretList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}}, nil
}

func (w *watched) Watch(metav1.ListOptions) (watch.Interface, error) {
	if err := w.err(); err != nil {
		return nil, err
	}
	w.current.Store(watch.NewFake())
	return w.current.Load(), nil
}

// IsWatchListSemanticsUnSupported has objects listed.
func (w *watched) IsWatchListSemanticsUnSupported() bool { return true }
