package manager

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	"github.com/farrier-dev/farrier/test/loopback"
)

// TestTerms: somebody else takes the lease, several times. A process without the lease writes nothing and keeps its view, from which it answers; with
// the next term it writes what it has not. No term leaves goroutines behind.
func TestTerms(t *testing.T) {
	s := newSite(t)
	s.bootKinds()
	profiles := loopback.Free(t)
	m := launch(t, "first", append(s.args, "--pprof-address", profiles)...)
	m.isReady()
	s.discover()
	s.written(s.byHand("before"))

	var goroutines []int
	const terms = 3
	for n := range terms {
		s.give("stranger")
		eventually(t, "the term ends", func() error {
			if ended := strings.Count(m.Log(), "lost lease"); ended != n+1 {
				return fmt.Errorf("%d terms have ended, want %d", ended, n+1)
			}
			return nil
		})
		logins := s.logins()
		config := s.byHand(fmt.Sprintf("standby-%d", n))
		eventually(t, "the view has what is new", func() error {
			_, err := s.ask("/ipxe/" + config.Spec.SystemUUID)
			return err
		})
		m.isReady()
		if err := s.Get(t.Context(), client.ObjectKeyFromObject(config), config); err != nil {
			t.Fatal(err)
		}
		if config.Status.State != "" {
			t.Errorf("a process without the lease has written the status %q", config.Status.State)
		}
		for i, want := range logins {
			if got := s.Stats(i).Logins; got != want {
				t.Errorf("BMC %d: %d logins without the lease, %d before", i, got, want)
			}
		}
		s.give("")
		s.written(config)
		eventually(t, "the BMCs are looked after again", func() error {
			for i, before := range logins {
				if s.Stats(i).Logins == before {
					return fmt.Errorf("BMC %d: %d logins, as before", i, before)
				}
			}
			return nil
		})
		goroutines = append(goroutines, settled(t, profiles))
	}
	t.Logf("goroutines after each term: %v", goroutines)
	// Connections come and go, of this test as well; one term's controllers have some hundred.
	if first, last := goroutines[0], goroutines[terms-1]; last > first+20 {
		t.Errorf("goroutines after each term: %v", goroutines)
	}
	m.stop()
}

// byHand makes a boot config of a machine that nobody else knows.
func (s *site) byHand(name string) *bootv1.IPXEBootConfig {
	s.t.Helper()
	config := &bootv1.IPXEBootConfig{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name}}
	config.Spec.SystemUUID = fmt.Sprintf("5e1f0000-0000-4000-8000-%012x", []byte(name)[len(name)-6:])
	config.Spec.KernelURL, config.Spec.InitrdURL = "http://192.0.2.1/kernel", "http://192.0.2.1/initrd"
	s.create(config)
	return config
}

// written waits until somebody has written the status of a boot config.
func (s *site) written(config *bootv1.IPXEBootConfig) {
	s.t.Helper()
	eventually(s.t, "the status of "+config.Name, func() error {
		if err := s.Get(s.t.Context(), client.ObjectKeyFromObject(config), config); err != nil {
			return err
		}
		if config.Status.State == "" {
			return errors.New("is not written")
		}
		return nil
	})
}

// give gives the lease to somebody, or to nobody.
func (s *site) give(holder string) {
	s.t.Helper()
	eventually(s.t, "the lease is given to "+holder, func() error {
		var lease coordinationv1.Lease
		if err := s.Get(s.t.Context(), client.ObjectKey{Namespace: s.namespace, Name: "farrier-manager"}, &lease); err != nil {
			return err
		}
		now := metav1.NowMicro()
		lease.Spec.HolderIdentity, lease.Spec.RenewTime, lease.Spec.AcquireTime, lease.Spec.LeaseDurationSeconds = &holder, &now, &now, new(int32(3600))
		return s.Update(s.t.Context(), &lease)
	})
}

// settled is the number of goroutines of a process, once it changes no more.
func settled(t *testing.T, profiles string) int {
	t.Helper()
	last, same := 0, 0
	eventually(t, "the number of goroutines settles", func() error {
		response, err := http.Get("http://" + profiles + "/debug/pprof/goroutine?debug=2")
		if err != nil {
			return err
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		if err != nil {
			return err
		}
		n := bytes.Count(text, []byte("\ngoroutine ")) + 1
		if n > last-5 && n < last+5 {
			same++
		} else {
			last, same = n, 0
		}
		if same < 5 {
			return fmt.Errorf("%d", n)
		}
		return nil
	})
	return last
}

// TestTakeover: whoever takes over has the whole view before it leads, so that the first answer to a machine is right. After an orderly end that takes
// seconds, and after a kill until the lease has expired.
func TestTakeover(t *testing.T) {
	s := newSite(t)
	s.bootKinds()
	first := launch(t, "first", s.args...)
	first.isReady()
	path := "/ipxe/" + s.byHand("000001").Spec.SystemUUID
	var before answer
	eventually(t, path, func() (err error) {
		before, err = s.ask(path)
		return err
	})
	second := launch(t, "second", s.args...)
	second.isReady()
	s.takenOver(path, before, "an orderly end", 10*time.Second, first.stop)
	third := launch(t, "third", s.args...)
	third.isReady()
	s.takenOver(path, before, "a kill", 30*time.Second, second.Kill)
	third.stop()
}

// takenOver ends the process that leads and waits until another answers machines, which has to be soon, and right the first time.
func (s *site) takenOver(path string, want answer, end string, within time.Duration, leader func()) {
	s.t.Helper()
	leader()
	began := time.Now()
	eventually(s.t, "somebody answers after "+end, func() error {
		got, err := s.ask(path)
		if errors.Is(err, syscall.ECONNREFUSED) {
			return err
		}
		if err != nil || got != want {
			s.t.Errorf("the first answer after %s: %v %q, want %q", end, err, got, want)
		}
		return nil
	})
	took := time.Since(began)
	if s.t.Logf("answers %s after %s", took, end); took > within {
		s.t.Errorf("answers %s after %s, want %s at most", took, end, within)
	}
}
