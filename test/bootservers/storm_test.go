package bootservers

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
)

const (
	// booting is how many machines boot, each of which asks every askEvery.
	booting  = 200
	configs  = 20
	askEvery = 400 * time.Millisecond
)

func uuidOf(machine int) string { return fmt.Sprintf("5e1f0000-0000-4000-8000-%012x", machine%configs) }

func secretOf(machine int) string {
	return fmt.Sprintf(`{"ignition":{"version":"3.4.0"},"passwd":{"users":[{"name":"user-%d"}]}}`, machine%configs)
}

// describe makes boot configs by hand, which are always open.
func (w *world) describe() {
	w.t.Helper()
	for machine := range configs {
		named := metav1.ObjectMeta{Namespace: managerNamespace, Name: fmt.Sprintf("by-hand-%d", machine)}
		config := &bootv1.IPXEBootConfig{ObjectMeta: named}
		config.Spec.SystemUUID, config.Spec.KernelURL, config.Spec.InitrdURL = uuidOf(machine), "http://192.0.2.1/kernel-1", "http://192.0.2.1/initrd"
		config.Spec.IgnitionSecretRef = &bootv1.LocalObjectReference{Name: named.Name}
		create(w.t, w, &corev1.Secret{ObjectMeta: named, StringData: map[string]string{"ignition": secretOf(machine)}}, config)
	}
}

// storm is machines that boot all the time from a boot server.
type storm struct {
	b       *bootServer
	answers atomic.Int64
	stop    func()
}

// boots reports what is wrong with what a machine is told.
func (b *bootServer) boots(ctx context.Context, by *http.Client, machine int) error {
	for path, want := range map[string]string{"/ipxe/": "kernel ${kernel-url}", "/ignition/": secretOf(machine)} {
		got, err := get(ctx, by, b.url+path+uuidOf(machine))
		if err != nil {
			return err
		}
		if got.status != http.StatusOK || !strings.Contains(got.body, want) {
			return fmt.Errorf("%s%s: %d %.200q", path, uuidOf(machine), got.status, got.body)
		}
	}
	return nil
}

func (b *bootServer) knowsAll() {
	b.w.t.Helper()
	for machine := range configs {
		b.w.Eventually("the boot of a machine from "+b.name, func(ctx context.Context) error { return b.boots(ctx, http.DefaultClient, machine) })
	}
}

func (b *bootServer) storm() *storm {
	s := &storm{b: b}
	ctx, cancel := context.WithCancel(b.w.t.Context())
	by := &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: booting}}
	var done sync.WaitGroup
	for machine := range booting {
		done.Go(func() {
			tick := time.NewTicker(askEvery + time.Duration(machine)*time.Millisecond/4)
			defer tick.Stop()
			for {
				select {
				case <-ctx.Done():
					return
				case <-tick.C:
				}
				if err := b.boots(context.WithoutCancel(ctx), by, machine); err != nil {
					b.w.t.Errorf("after %d answers of %s: %v", s.answers.Load(), b.name, err)
					return
				}
				s.answers.Add(2)
			}
		})
	}
	s.stop = sync.OnceFunc(func() {
		cancel()
		done.Wait()
		by.CloseIdleConnections()
	})
	b.w.t.Cleanup(s.stop)
	return s
}

// more waits until so many more machines were answered.
func (s *storm) more(n int64) {
	s.b.w.t.Helper()
	want := s.answers.Load() + n
	s.b.w.Eventually("answers of "+s.b.name, func(context.Context) error {
		if got := s.answers.Load(); got < want {
			return fmt.Errorf("%d, want %d", got, want)
		}
		return nil
	})
}

// TestFaults: a manager is killed while machines boot, boot servers are killed while it is away, and what they keep on disk is damaged. Nobody is
// told anything but what the manager would tell him.
func TestFaults(t *testing.T) {
	w := newWorld(t, 1)
	w.describe()
	first, second := w.servers[0], w.servers[1]
	first.knowsAll()
	second.knowsAll()
	t.Run("stolen credentials", w.stolen)
	t.Run("what a boot server cannot use", w.refused)

	epoch := first.follows("")
	storms := []*storm{first.storm(), second.storm()}
	storms[0].more(booting)
	storms[1].more(booting)
	w.manager.Kill()
	for _, s := range storms {
		s.more(2 * booting)
	}
	w.startManager()
	for _, s := range storms {
		s.more(2 * booting)
		s.b.follows(epoch)
	}
	w.manager.Kill()
	storms[1].stop()
	second.Kill()
	second.start()
	second.isReady()
	second.knowsAll()
	storms[0].more(booting)
	storms[0].stop()

	second.Kill()
	damage(t, filepath.Join(second.data, "stream", "view"))
	second.start()
	w.Eventually("the answer that there is nothing to serve", func(ctx context.Context) error {
		return second.saysOfItself(ctx, "/readyz", http.StatusServiceUnavailable)
	})
	for machine := range configs {
		if got, err := get(t.Context(), http.DefaultClient, second.url+"/ignition/"+uuidOf(machine)); err != nil || got.status != http.StatusServiceUnavailable {
			t.Errorf("with a damaged view: %d %.200q, %v", got.status, got.body, err)
		}
	}
	w.startManager()
	second.isReady()
	second.knowsAll()
}

// damage changes one bit in the middle of a file.
func damage(t *testing.T, path string) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	content[len(content)/2] ^= 1
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}
