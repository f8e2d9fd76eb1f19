package fulldisk

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/farrier-dev/farrier/test/lab"
)

// TestFullAtAnyMoment: the disk fills up under load, at moments that nobody chose and in all the ways that it can, and has room again. Nothing that
// was acknowledged is lost, the process goes on, machines are answered all the time, and nobody has to do anything.
func TestFullAtAnyMoment(t *testing.T) {
	disk := withDisk(t, "400m")
	if disk == "" {
		return
	}
	moments := 20
	if testing.Short() {
		moments = 3
	}
	l := lab.New(t, 2)
	l.DataDir = filepath.Join(disk, "data")
	p := l.Up(t)
	l.Discover(p)
	_, server, running := l.Runs(p, "web")
	resets := running.Resets()

	asking, stop := context.WithCancel(t.Context())
	m, url := &machine{}, p.Boot+"/ipxe/"+running.UUID()
	var askers sync.WaitGroup
	askers.Go(func() { m.ask(asking, lab.CallerAt(running.IP()), url) })
	writers := newLoad(t, p, 4)

	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for moment := range moments {
		way := moment % len(ways)
		more(p, "objects are stored", writers.writes.Load, random.Int64N(200))
		free := fill(t, disk, way)
		more(p, "writes are refused", writers.refusals.Load, 1+random.Int64N(30))
		more(p, "machines are answered", m.answers.Load, 20)
		if p.Exited() {
			t.Fatalf("the process ended when the disk filled up, %s", ways[way].name)
		}
		free()
		more(p, "objects are stored again", writers.writes.Load, 1)
	}
	writers.end()
	stop()
	askers.Wait()

	if err := writers.odd.Load(); err != nil {
		t.Errorf("a write was refused otherwise: %v", *err)
	}
	if n := m.failures.Load(); n > 0 {
		t.Errorf("%d of %d answers to the machine failed: %v", n, n+m.answers.Load(), *m.last.Load())
	}
	holds(t, writers, p)
	p.Kill()
	p = l.Up(t)
	holds(t, writers, p)
	p.Bound("web")
	p.ServerIs(server.Name, server.Status.State, server.Status.PowerState)
	if got := running.Resets(); !maps.Equal(got, resets) {
		t.Errorf("the running machine was reset: %v, before %v", got, resets)
	}
	t.Logf("%d writes, %d refusals, %d answers", writers.writes.Load(), writers.refusals.Load(), m.answers.Load())
}

// TestStartOnAFullDisk: it says what is full and how much it needs, makes nothing, and starts when there is room.
func TestStartOnAFullDisk(t *testing.T) {
	disk := withDisk(t, "400m")
	if disk == "" {
		return
	}
	dir := filepath.Join(disk, "data")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	free := fill(t, disk, 0)
	refused := func() {
		t.Helper()
		_, err := lab.Launch(t, dir)
		if err == nil {
			t.Fatal("it started")
		}
		for _, part := range []string{dir, "--data-dir", "its disk is full: 0 MiB are left"} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%v does not say %q", err, part)
			}
		}
		if strings.Contains(err.Error(), "panic") || strings.Contains(err.Error(), "goroutine") {
			t.Errorf("it panicked: %v", err)
		}
	}
	refused()
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("%v, %v", entries, err)
	}
	free()
	p := lab.Start(t, dir)
	writers := newLoad(t, p, 1)
	more(p, "objects are stored", writers.writes.Load, 20)
	writers.end()
	p.Kill()
	free = fill(t, disk, 1)
	refused()
	free()
	holds(t, writers, lab.Start(t, dir))
}

// more waits until a counter has grown.
func more(p *lab.Running, what string, count func() int64, by int64) {
	want := count() + by
	p.Eventually(what, func(context.Context) error {
		if p.Exited() {
			return errors.New("the process has ended")
		}
		if got := count(); got < want {
			return fmt.Errorf("%d of %d", got, want)
		}
		return nil
	})
}

// holds fails the test unless everything that was acknowledged is there and nothing panicked.
func holds(t *testing.T, l *load, p *lab.Running) {
	t.Helper()
	lost, err := l.lost(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if len(lost) > 0 {
		t.Errorf("lost: %v", lost)
	}
	if log := p.Log(); strings.Contains(log, "panic") || strings.Contains(log, "fatal error") {
		t.Errorf("it panicked:\n%s", log)
	}
}
