package registry

import (
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/farrier-dev/farrier/internal/image/imagetest"
)

func TestAMirrorGetsNoCredentialsOfTheRegistry(t *testing.T) {
	var locked, leaked atomic.Bool
	locked.Store(true)
	origin := imagetest.StartRegistry(t, imagetest.RobotOnly(&locked))
	mirror := imagetest.StartRegistry(t, imagetest.OnPath("/v2/", func(_ http.Handler, w http.ResponseWriter, req *http.Request) {
		if req.Header.Get("Authorization") != "" {
			leaked.Store(true)
		}
		w.Header().Set("WWW-Authenticate", `Basic realm="mirror"`)
		w.WriteHeader(http.StatusUnauthorized)
	}))
	pushed := imagetest.Push(t, origin, "v1", imagetest.Tiny("a"))
	o := registryOptions(origin)
	o.PlainHTTP = append(o.PlainHTTP, mirror.Address())
	o.Mirrors = map[string][]string{origin.Address(): {mirror.Address()}}
	r := startResolver(t, o)
	if got := r.resolve(t, Request{Reference: pushed.Reference, PullSecret: imagetest.RobotSecret(origin.Address())}); got.Err != nil {
		t.Error(got.Err)
	}
	if leaked.Load() {
		t.Error("the mirror was given credentials")
	}
}

func TestParseMirrors(t *testing.T) {
	got, err := ParseMirrors("--registry-mirrors", []string{"ghcr.io=a.lab:5000", "ghcr.io=b.lab", "docker.io=a.lab:5000"})
	if err != nil || len(got["ghcr.io"]) != 2 || len(got["docker.io"]) != 1 {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range []string{"ghcr.io", "=a.lab", "ghcr.io=", "ghcr.io=http://a.lab"} {
		if _, err := ParseMirrors("--registry-mirrors", []string{bad}); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
}
