package registry

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

const (
	// MirrorRest is how long a mirror that has failed is left alone.
	MirrorRest = time.Minute
	// MirrorDistrust is the same for one that sent what was asked of nobody: it will
	// hardly be mended by itself.
	MirrorDistrust = time.Hour
)

// mirrors are what is asked in the place of registries, by registry.
type mirrors map[string][]*Mirror

// Mirror is a registry that may have what another one has. Nothing depends on it:
// what it does not answer well is asked of the registry itself, and all of it is
// verified by digest.
type Mirror struct {
	registry string
	clock    clock.Clock
	// limit is how long it may take to begin an answer: less than the whole call
	// may, so that the registry has a turn.
	limit time.Duration

	mu    sync.Mutex
	until time.Time // it rests
}

func newMirrors(o Options) mirrors {
	m := mirrors{}
	one := map[string]*Mirror{} // a mirror of several registries rests for all of them
	for registry, hosts := range o.Mirrors {
		for _, host := range hosts {
			if one[host] == nil {
				one[host] = &Mirror{registry: host, clock: o.Clock, limit: o.Timeout / 2}
			}
			m[registry] = append(m[registry], one[host])
		}
	}
	return m
}

func (m mirrors) hosts() map[string]bool {
	hosts := map[string]bool{}
	for _, list := range m {
		for _, mirror := range list {
			hosts[mirror.registry] = true
		}
	}
	return hosts
}

// of returns the mirrors of a registry that are not resting.
func (m mirrors) of(registry string) []*Mirror {
	var awake []*Mirror
	for _, mirror := range m[registry] {
		if !mirror.resting() {
			awake = append(awake, mirror)
		}
	}
	return awake
}

func (m *Mirror) resting() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.clock.Now().Before(m.until)
}

// Rest leaves the mirror alone for a while.
func (m *Mirror) Rest(during time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.until = m.clock.Now().Add(during)
}

// try sends a request and reports whether the answer is good, as accept finds it.
// One that fails is left alone, if it is to blame: that a mirror does not have
// something, or not for us, is no failure of it.
func (m *Mirror) try(ctx context.Context, blame bool, send func(context.Context) (*http.Response, error), accept func(*http.Response) error) bool {
	call, cancel := context.WithCancel(ctx)
	timer := time.AfterFunc(m.limit, cancel)
	resp, err := send(call)
	if err == nil {
		resp.Body = &cancelOnClose{resp.Body, cancel}
		if err = accept(resp); err == nil && timer.Stop() {
			return true
		}
		resp.Body.Close()
	}
	timer.Stop()
	cancel()
	switch {
	case !blame, ctx.Err() != nil, resp != nil && refused(resp):
	case errors.Is(err, ErrCorrupt):
		m.Rest(MirrorDistrust)
	default:
		m.Rest(MirrorRest)
	}
	return false
}

func refused(resp *http.Response) bool {
	switch resp.StatusCode {
	case http.StatusNotFound, http.StatusUnauthorized, http.StatusForbidden:
		return true
	}
	return false
}

// cancelOnClose ends the context of a request when its body is no longer read.
type cancelOnClose struct {
	io.ReadCloser
	cancel context.CancelFunc
}

func (c *cancelOnClose) Close() error {
	defer c.cancel()
	return c.ReadCloser.Close()
}
