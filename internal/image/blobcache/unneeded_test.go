package blobcache

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus/testutil"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/farrier-dev/farrier/internal/image/imagetest"
	"github.com/farrier-dev/farrier/internal/image/localregistry"
	"github.com/farrier-dev/farrier/internal/image/registry"
	"github.com/farrier-dev/farrier/test/await"
)

func numbered(i int) string { return registry.DigestOf([]byte(strconv.Itoa(i))) }

// held is a registry whose blobs wait at a gate; ended counts the requests whose client went away.
func held(t *testing.T) (remote *localregistry.Registry, g *imagetest.Gate, ended *atomic.Int32) {
	t.Helper()
	g, ended = imagetest.NewGate(), &atomic.Int32{}
	remote = imagetest.StartRegistry(t, imagetest.OnPath("/blobs/", func(next http.Handler, w http.ResponseWriter, req *http.Request) {
		g.Pass(req.Context())
		if req.Context().Err() != nil {
			ended.Add(1)
			return
		}
		next.ServeHTTP(w, req)
	}))
	t.Cleanup(g.Release)
	return remote, g, ended
}

// begin has a client ask for a blob until the test or its context ends.
func (s *serving) begin(ctx context.Context, clients *sync.WaitGroup, address string) {
	clients.Go(func() {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
		if err != nil {
			return
		}
		if resp, err := http.DefaultClient.Do(req); err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
	})
}

func eventually(t *testing.T, what string, check func() bool) {
	t.Helper()
	await.True(t, what, check)
}

// TestUnneededBlobsTakeNoNeededPlace: all places and the whole queue of what nobody needs are taken, and the next is
// refused; what is needed comes all the same.
func TestUnneededBlobsTakeNoNeededPlace(t *testing.T) {
	g := imagetest.NewGate()
	var image localregistry.Image
	var kernel atomic.Value
	kernel.Store("")
	remote := imagetest.StartRegistry(t, imagetest.OnPath("/blobs/", func(next http.Handler, w http.ResponseWriter, req *http.Request) {
		if !strings.HasSuffix(req.URL.Path, kernel.Load().(string)) {
			g.Pass(req.Context())
		}
		next.ServeHTTP(w, req)
	}))
	t.Cleanup(g.Release)
	image = imagetest.Tiny("a")
	pushed := imagetest.Push(t, remote, "v1", image)
	kernel.Store(pushed.Kernel)
	o := registryOptions(remote)
	o.Parallel = 1
	s := startBlobs(t, o)
	ctx, cancel := context.WithCancel(t.Context())
	var clients sync.WaitGroup
	defer clients.Wait()
	defer cancel()
	full := s.opts.Unneeded.Parallel + s.opts.Unneeded.Queue
	for i := range full {
		s.begin(ctx, &clients, s.layerURL(remote, numbered(i)))
	}
	eventually(t, "not all of them are under way", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.downloads) == full
	})
	g.AwaitArrivals(t, s.opts.Unneeded.Parallel)
	got := get(t, s.layerURL(remote, numbered(full)))
	if got.Status != http.StatusServiceUnavailable || got.Header.Get("Retry-After") == "" {
		t.Errorf("one more: status %d, Retry-After %q", got.Status, got.Header.Get("Retry-After"))
	}
	if n := testutil.ToFloat64(s.metrics.refused.WithLabelValues("busy")); n != 1 {
		t.Errorf("%v refusals are counted, want 1", n)
	}
	plan := planOf(remote, "org/os", image, pushed)
	plan.Initramfs, plan.Squashfs = nil, nil
	if err := s.Pin("ns/one", registry.Pin{Plan: plan}); err != nil {
		t.Fatal(err)
	}
	awaitStored(t, s.Cache, plan)
	if n := len(g.Arrived); n > 0 {
		t.Errorf("%d more downloads of what nobody needs were under way", n)
	}
}

// TestARegistryThatHangsStopsNoOther: also where machines are going to boot what it has.
func TestARegistryThatHangsStopsNoOther(t *testing.T) {
	hanging, g, _ := held(t)
	remote := imagetest.StartRegistry(t)
	image := imagetest.Tiny("a")
	pushed := imagetest.Push(t, remote, "v1", image)
	o := registryOptions(remote)
	o.AllowedRegistries = append(o.AllowedRegistries, hanging.Address())
	o.PlainHTTP = o.AllowedRegistries
	o.Parallel = 1
	s := startBlobs(t, o)
	s.boots(t, hanging, pushed.Kernel, image.Kernel)
	s.boots(t, remote, pushed.Kernel, image.Kernel)
	ctx, cancel := context.WithCancel(t.Context())
	var clients sync.WaitGroup
	defer clients.Wait()
	defer cancel()
	s.begin(ctx, &clients, s.layerURL(hanging, pushed.Kernel))
	g.AwaitArrivals(t, 1)
	if got := get(t, s.layerURL(remote, pushed.Kernel)); got.Status != http.StatusOK || !bytes.Equal(got.Body, image.Kernel) {
		t.Errorf("status %d: %s", got.Status, got.Body)
	}
}

// TestAbandonedDownloadsEnd: once nobody waits, after the grace, unless somebody is going to boot it.
func TestAbandonedDownloadsEnd(t *testing.T) {
	remote, g, ended := held(t)
	image := imagetest.Tiny("a")
	pushed := imagetest.Push(t, remote, "v1", image)
	o := registryOptions(remote)
	clk := testingclock.NewFakeClock(testTime)
	o.Clock = clk
	s := startBlobs(t, o)
	s.boots(t, remote, pushed.Initramfs, image.Initramfs)
	ctx, hangUp := context.WithCancel(t.Context())
	var clients sync.WaitGroup
	for _, digest := range []string{pushed.Kernel, pushed.Initramfs} {
		s.begin(ctx, &clients, s.layerURL(remote, digest))
	}
	g.AwaitArrivals(t, 2)
	tick := func() { s.endUseless(clk.Now()) } // what watch does
	tick()
	clk.SetTime(testTime.Add(s.opts.Unneeded.Grace))
	tick()
	if n := ended.Load(); n != 0 {
		t.Fatalf("%d downloads ended that somebody waits for", n)
	}
	hangUp()
	clients.Wait()
	eventually(t, "readers have not left", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, d := range s.downloads {
			d.mu.Lock()
			users := d.users
			d.mu.Unlock()
			if users > 1 {
				return false
			}
		}
		return true
	})
	tick()
	clk.SetTime(clk.Now().Add(s.opts.Unneeded.Grace - 1))
	tick()
	if n := ended.Load(); n != 0 {
		t.Fatalf("%d downloads ended within the grace", n)
	}
	clk.SetTime(clk.Now().Add(1))
	tick()
	eventually(t, "the registry is still asked", func() bool { return ended.Load() == 1 })
	if n := testutil.ToFloat64(s.metrics.abandoned); n != 1 {
		t.Errorf("%v abandoned downloads are counted, want 1", n)
	}
	g.Release()
	eventually(t, "what is needed has not come", func() bool { return s.store.has(pushed.Initramfs) })
	if s.store.has(pushed.Kernel) {
		t.Error("what was abandoned is there")
	}
}

// TestDownloadsHaveADeadline: also such as somebody waits for.
func TestDownloadsHaveADeadline(t *testing.T) {
	remote, g, _ := held(t)
	pushed := imagetest.Push(t, remote, "v1", imagetest.Tiny("a"))
	o := registryOptions(remote)
	clk := testingclock.NewFakeClock(testTime)
	o.Clock = clk
	s := startBlobs(t, o)
	status := make(chan int, 1)
	go func() { status <- get(t, s.layerURL(remote, pushed.Kernel)).Status }()
	g.AwaitArrivals(t, 1)
	s.endUseless(testTime.Add(s.opts.Unneeded.Deadline))
	if got := <-status; got != http.StatusGatewayTimeout {
		t.Errorf("status %d, want 504", got)
	}
}

// TestWhatBecomesNeededBeginsAnew: who waits for it gets the needed one, and sees it come.
func TestWhatBecomesNeededBeginsAnew(t *testing.T) {
	remote, g, ended := held(t)
	image := imagetest.Tiny("a")
	pushed := imagetest.Push(t, remote, "v1", image)
	s := startBlobs(t, registryOptions(remote))
	got := make(chan answer, 1)
	go func() { got <- get(t, s.layerURL(remote, pushed.Kernel)) }()
	g.AwaitArrivals(t, 1)
	plan := planOf(remote, "org/os", image, pushed)
	if err := s.Pin("ns/one", registry.Pin{Plan: plan}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the first download goes on", func() bool { return ended.Load() == 1 })
	g.Release()
	if got := <-got; got.Status != http.StatusOK || !bytes.Equal(got.Body, image.Kernel) {
		t.Errorf("status %d: %s", got.Status, got.Body)
	}
	awaitStored(t, s.Cache, plan)
}

// TestNothingUnverifiedIsSentOfWhatNobodyNeeds: not a byte, by any method, and what is right is sent.
func TestNothingUnverifiedIsSentOfWhatNobodyNeeds(t *testing.T) {
	var broken atomic.Bool
	broken.Store(true)
	remote := imagetest.StartRegistry(t, imagetest.OnPath("/blobs/", func(next http.Handler, w http.ResponseWriter, req *http.Request) {
		if broken.Load() {
			imagetest.Corrupt(next, w, req)
			return
		}
		next.ServeHTTP(w, req)
	}))
	image := imagetest.Large(5)
	pushed := imagetest.Push(t, remote, "v1", image)
	o := registryOptions(remote)
	clk := testingclock.NewFakeClock(testTime)
	o.Clock = clk
	s := startBlobs(t, o)
	for range 3 {
		if got := get(t, s.layerURL(remote, pushed.Kernel)); got.Status != http.StatusBadGateway || len(got.Body) > 100 {
			t.Errorf("status %d, %d bytes", got.Status, len(got.Body))
		}
	}
	if n := remote.Counts().Blobs; n != 1 {
		t.Errorf("%d requests to the registry for a digest that failed a moment ago", n)
	}
	expectFiles(t, s, 0, 0)
	broken.Store(false)
	clk.Step(s.opts.Unneeded.Remember)
	if got := get(t, s.layerURL(remote, pushed.Kernel)); got.Status != http.StatusOK || !bytes.Equal(got.Body, image.Kernel) {
		t.Errorf("mended: status %d, %d bytes", got.Status, len(got.Body))
	}
}

// TestTheLogAndTheRegistryHearLittleOfAFlood: beyond the budget requests are refused with 429, which comes back with time.
func TestTheLogAndTheRegistryHearLittleOfAFlood(t *testing.T) {
	remote := imagetest.StartRegistry(t)
	pushed := imagetest.Push(t, remote, "v1", imagetest.Tiny("a"))
	o := registryOptions(remote)
	clk := testingclock.NewFakeClock(testTime)
	o.Clock = clk
	o.Unneeded.PerMinute = 20
	var lines atomic.Int32
	o.Logger = funcr.New(func(_, args string) {
		if strings.Contains(args, "refused") {
			lines.Add(1)
		}
	}, funcr.Options{})
	s := startBlobs(t, o)
	byStatus := map[int]int{}
	for i := range 50 {
		byStatus[request(t, []string{http.MethodGet, http.MethodHead}[i%2], s.layerURL(remote, numbered(i)), nil).Status]++
	}
	for i := range 10 { // images, too
		byStatus[get(t, fmt.Sprintf("%s/image?imageName=%s/org/os&version=v%d&layerName=kernel", s.URL, remote.Address(), i)).Status]++
	}
	if byStatus[http.StatusNotFound] != 10 || byStatus[http.StatusTooManyRequests] != 50 {
		t.Errorf("answers by status: %v", byStatus)
	}
	if n := remote.Counts().Blobs + remote.Counts().Manifests; n > 10 {
		t.Errorf("%d requests to the registry", n)
	}
	if n := lines.Load(); n != 1 {
		t.Errorf("%d lines of the log, want 1", n)
	}
	clk.Step(30 * time.Second)
	if got := get(t, s.layerURL(remote, pushed.Kernel)); got.Status != http.StatusOK {
		t.Errorf("later: status %d", got.Status)
	}
}

// TestAStrangerTakesNoPartialBlob: what a broken download of something needed left is not his, by whatever repository.
func TestAStrangerTakesNoPartialBlob(t *testing.T) {
	remote := imagetest.StartRegistry(t, imagetest.OnPath("/blobs/", imagetest.Corrupt))
	image := imagetest.Huge(14)
	pushed := imagetest.Push(t, remote, "v1", image)
	o := registryOptions(remote)
	o.Dir = t.TempDir()
	plant(t, o.Dir, pushed.Kernel, image.Kernel)
	s := startBlobs(t, o)
	if got := get(t, s.layerURL(remote, pushed.Kernel)); got.Status != http.StatusBadGateway {
		t.Errorf("status %d, want 502", got.Status)
	}
	if left, err := filepath.Glob(filepath.Join(o.Dir, "partial", "*")); err != nil || len(left) != 1 || s.store.partials[pushed.Kernel] == nil {
		t.Errorf("%v, %v", left, err)
	}
}

// TestWhatImagesNobodyNeedsSayIsBounded: what is remembered of those that machines boot is not forgotten for them.
func TestWhatImagesNobodyNeedsSayIsBounded(t *testing.T) {
	remote := imagetest.StartRegistry(t)
	s := startBlobs(t, registryOptions(remote))
	s.pins.images["needed@v1"] = 1
	s.remember("needed@v1", registry.Image{})
	for i := range 10 * maxOthers {
		s.remember(fmt.Sprintf("other@v%d", i), registry.Image{Layers: []registry.Layer{{MediaType: strings.Repeat("x", i)}}})
	}
	s.remember("large@v1", registry.Image{Layers: []registry.Layer{{MediaType: strings.Repeat("x", maxOther+1)}}})
	if _, large := s.others.Get("large@v1"); large || s.others.Len() != maxOthers || s.images.Len() != 1 {
		t.Errorf("%d others, the large one among them: %v; %d needed", s.others.Len(), large, s.images.Len())
	}
}

func TestRefusals(t *testing.T) {
	for err, want := range map[error]string{
		ErrTooMany: "rate", fmt.Errorf("%w: x", ErrBusy): "busy", ErrCacheFull: "full", ErrTooLarge: "full", errPreempted: "full",
		registry.ErrCorrupt: "failed", registry.ErrNotFound: "failed", registry.ErrUnreachable: "failed", errors.New("x"): "", registry.ErrNotAllowed: "",
	} {
		if got := refusal(err); got != want {
			t.Errorf("%v: %q, want %q", err, got, want)
		}
	}
}

// TestUnneededDownloadsLeaveTheLine: each buffer waits while something needed is downloaded.
func TestUnneededDownloadsLeaveTheLine(t *testing.T) {
	remote := imagetest.StartRegistry(t)
	image := imagetest.Large(6)
	pushed := imagetest.Push(t, remote, "v1", image)
	o := registryOptions(remote)
	clk := testingclock.NewFakeClock(testTime)
	o.Clock = clk
	s := startBlobs(t, o)
	idle := clk.Waiters()
	s.urgent.Add(1)
	got := make(chan answer, 1)
	go func() { got <- get(t, s.layerURL(remote, pushed.Kernel)) }()
	eventually(t, "it does not wait", func() bool { return clk.Waiters() > idle && s.waits() })
	s.urgent.Add(-1)
	var whole answer
	eventually(t, "it goes on waiting", func() bool {
		clk.Step(unneededPause)
		select {
		case whole = <-got:
			return true
		default:
			return false
		}
	})
	if whole.Status != http.StatusOK || !bytes.Equal(whole.Body, image.Kernel) {
		t.Errorf("status %d, %d bytes", whole.Status, len(whole.Body))
	}
}

// waits reports whether downloads have begun, and nothing of them has been taken yet.
func (s *serving) waits() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range s.downloads {
		select {
		case <-d.started:
			if n, _, _, err := d.readable(); n == 0 && err == nil {
				return true
			}
		default:
		}
	}
	return false
}
