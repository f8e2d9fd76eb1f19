package registry

import (
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/farrier-dev/farrier/internal/image/imagetest"
)

func TestResolverUsesPullSecrets(t *testing.T) {
	remote := imagetest.StartRegistry(t, imagetest.OnPath("/v2/", func(next http.Handler, w http.ResponseWriter, req *http.Request) {
		if username, password, ok := req.BasicAuth(); !ok || username != "robot" || password != "s3cret" {
			w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, req)
	}))
	pushed := imagetest.Push(t, remote, "v1", imagetest.Tiny("a"))
	r := startResolver(t, registryOptions(remote))
	secret := fmt.Appendf(nil, `{"auths":{%q:{"username":"robot","password":"s3cret"}}}`, remote.Address())
	if got := r.resolve(t, Request{Reference: pushed.Reference, PullSecret: secret}); got.Err != nil {
		t.Errorf("with the secret: %v", got.Err)
	}
	// What one secret opened stays closed for everybody else.
	if got := r.resolve(t, Request{Reference: pushed.Reference}); !errors.Is(got.Err, ErrDenied) || got.Plan != (Plan{}) {
		t.Errorf("without a secret: %+v", got)
	}
	if got := r.resolve(t, Request{Reference: pushed.Reference, PullSecret: []byte("x")}); !errors.Is(got.Err, ErrPullSecret) {
		t.Errorf("with a broken secret: %v", got.Err)
	}
}

func TestResolverGetsTokens(t *testing.T) {
	var tokens atomic.Int32
	remote := imagetest.StartRegistry(t, imagetest.OnPath("/", func(next http.Handler, w http.ResponseWriter, req *http.Request) {
		switch {
		case req.URL.Path == "/token":
			tokens.Add(1)
			fmt.Fprintf(w, `{"token":"for %s"}`, req.URL.Query().Get("scope"))
		case req.Header.Get("Authorization") != "Bearer for repository:org/os:pull":
			w.Header().Set("WWW-Authenticate", `Bearer realm="http://`+req.Host+`/token",service="test",scope="repository:org/os:pull"`)
			w.WriteHeader(http.StatusUnauthorized)
		default:
			next.ServeHTTP(w, req)
		}
	}))
	r := startResolver(t, registryOptions(remote))
	for _, tag := range []string{"v1", "v2"} {
		pushed := imagetest.Push(t, remote, tag, imagetest.Tiny(tag))
		if got := r.resolve(t, Request{Reference: pushed.Reference}); got.Err != nil || got.Plan.Digest != pushed.Digest {
			t.Errorf("%s: %+v", tag, got)
		}
	}
	if n := tokens.Load(); n != 1 {
		t.Errorf("%d tokens fetched, want 1", n)
	}
}
