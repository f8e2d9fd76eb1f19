package manager

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	ipxev1 "github.com/farrier-dev/farrier/api/ipxe/v1alpha1"
)

const (
	// askEvery is how often the clients of TestOutages ask: more often than any machine or kubelet does.
	askEvery = 10 * time.Millisecond
	// noticedWithin is how soon /readyz tells of an API that is gone.
	noticedWithin = 5 * time.Second
)

// TestOutages: the API is away when a manager starts, and goes away three times more. The process stays the same, every machine is answered as
// before and at once, the process is alive at every moment, says that it is not ready as long as its view may be old, and acts afterwards.
func TestOutages(t *testing.T) {
	s := newSiteOf(t, 4)
	s.bootKinds()
	s.api.Kill()
	m := launch(t, "first", s.args...)
	eventually(t, "the process is alive, and not ready", func() error { return health(m, http.StatusOK, http.StatusServiceUnavailable) })
	s.restart()
	m.isReady()
	s.discover()
	paths := s.describeBoot()
	before := map[string]answer{}
	for _, path := range paths {
		eventually(t, path, func() (err error) {
			before[path], err = s.ask(path)
			return err
		})
	}
	s.claim("before")
	asked := func(n int) error {
		path := paths[n%len(paths)]
		got, err := s.ask(path)
		if err == nil && got != before[path] {
			err = fmt.Errorf("%q, want %q", got, before[path])
		}
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		return nil
	}
	for _, long := range []time.Duration{10 * time.Second, 20 * time.Second, time.Minute} {
		s.outage(m, long, asked)
	}
	if m.Ended() {
		t.Error("the process has ended")
	}
	m.stop()
}

// outage takes the API away for a while.
func (s *site) outage(m *process, long time.Duration, asked func(int) error) {
	t := s.t
	t.Helper()
	machines, alive := ask(asked), ask(func(int) error { return m.says("/healthz", http.StatusOK) })
	began := time.Now()
	s.api.Kill()
	eventually(t, "the process is not ready", func() error { return m.says("/readyz", http.StatusServiceUnavailable) })
	noticed := time.Since(began)
	if noticed > noticedWithin {
		t.Errorf("/readyz told of the outage after %s", noticed)
	}
	old := ask(func(int) error { return m.says("/readyz", http.StatusServiceUnavailable) })
	<-time.After(time.Until(began.Add(long)))
	if _, err := old.end(); err != nil {
		t.Errorf("without an API for %s: /readyz: %v", long, err)
	}
	s.restart()
	back := time.Now()
	m.isReady()
	ready := time.Since(back)
	s.claim(fmt.Sprintf("after-%d", int(long.Seconds())))
	acts := time.Since(back)
	for what, asking := range map[string]*asking{"a machine": machines, "/healthz": alive} {
		n, err := asking.end()
		if err != nil {
			t.Errorf("without an API for %s: %s: %v", long, what, err)
		}
		t.Logf("without an API for %s: %s was answered %d times", long, what, n)
	}
	t.Logf("without an API for %s: /readyz told after %s; it was 200 again %s after the API was there, and a claim ran after %s", long, noticed, ready, acts)
}

// restart starts the API again, for the client of the site as well: it finds its old connections broken.
func (s *site) restart() {
	s.t.Helper()
	s.api = s.api.Restart(s.t)
	eventually(s.t, "the API answers", func() error {
		return s.Get(s.t.Context(), client.ObjectKey{Name: s.namespace}, &corev1.Namespace{})
	})
}

// bootKinds lets the client of the site know the kinds of boots.
func (s *site) bootKinds() {
	s.t.Helper()
	for _, add := range []func(*runtime.Scheme) error{bootv1.AddToScheme, ipxev1.AddToScheme} {
		if err := add(s.Scheme()); err != nil {
			s.t.Fatal(err)
		}
	}
}

// says asks the process about itself.
func (p *process) says(path string, want int) error {
	client := http.Client{Timeout: 5 * time.Second}
	response, err := client.Get(p.health + path)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != want {
		err = fmt.Errorf("%s: %s %q, want %d", path, response.Status, body, want)
	}
	return err
}

// asking asks again and again until it is ended.
type asking struct {
	stop    chan struct{}
	asks    sync.WaitGroup
	asked   int
	failed  int
	failure error // the first
}

func ask(one func(n int) error) *asking {
	a := &asking{stop: make(chan struct{})}
	a.asks.Go(func() {
		tick := time.NewTicker(askEvery)
		defer tick.Stop()
		for {
			err := one(a.asked)
			if a.asked++; err != nil {
				if a.failed++; a.failure == nil {
					a.failure = err
				}
			}
			select {
			case <-tick.C:
			case <-a.stop:
				return
			}
		}
	})
	return a
}

// end returns how often was asked, and what went wrong.
func (a *asking) end() (int, error) {
	close(a.stop)
	a.asks.Wait()
	if a.failed == 0 && a.asked > 0 {
		return a.asked, nil
	}
	return a.asked, errors.Join(fmt.Errorf("%d of %d failed", a.failed, a.asked), a.failure)
}
