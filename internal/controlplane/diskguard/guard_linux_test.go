package diskguard

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr/funcr"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/farrier-dev/farrier/internal/host/diskspace"
)

// disk is a disk whose free room the test says, with the files of a store.
type disk struct {
	mu    sync.Mutex
	space diskspace.Space
	err   error
	lines []string
	guard *Guard
	dir   string
}

func (d *disk) has(bytes, files uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.space = diskspace.Space{Bytes: bytes, Files: files}
}

func newDisk(t *testing.T) *disk {
	t.Helper()
	d := &disk{dir: t.TempDir(), space: diskspace.Space{Bytes: 1 << 30, Files: 1000}}
	for _, path := range []string{"member/wal/0000000000000000-0000000000000000.wal", "member/snap/db"} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(d.dir, path)), 0o700), os.WriteFile(filepath.Join(d.dir, path), []byte("x"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	d.guard = New(Options{
		Dir: "/data", Store: &Reserve{Dir: d.dir, Size: func() int64 { return 1 << 20 }}, Clock: clocktesting.NewFakeClock(testTime),
		Space: func(string) (diskspace.Space, error) {
			d.mu.Lock()
			defer d.mu.Unlock()
			return d.space, d.err
		},
		Logger: funcr.New(func(_, line string) { d.lines = append(d.lines, line) }, funcr.Options{}),
	})
	return d
}

// stores reports whether the store gets a write.
func (d *disk) stores(t *testing.T) bool {
	t.Helper()
	got := false
	_, err := d.guard.Intercept(t.Context(), &pb.PutRequest{Key: []byte("key")}, nil, func(context.Context, any) (any, error) {
		got = true
		return nil, nil
	})
	if got != (err == nil) || err != nil && !errors.Is(err, rpctypes.ErrGRPCNoSpace) {
		t.Fatalf("stored: %v, %v", got, err)
	}
	return got
}

func TestTheStoreGetsNothingBelowTheMark(t *testing.T) {
	const enough = 1000
	d := newDisk(t)
	for _, step := range []struct {
		bytes, files uint64
		stores       bool // before the guard has looked at the reserve
		after        bool
	}{
		{LowMark, enough, true, true},
		{LowMark - 1, enough, false, false},
		{LowMark, enough, false, false}, // not yet enough
		{OpenMark - 1, enough, false, false},
		{OpenMark, enough, false, true}, // once the reserve is complete
		{1 << 40, LowFiles - 1, false, false},
		{1 << 40, LowFiles, false, true},
		{0, 0, false, false},
	} {
		d.has(step.bytes, step.files)
		if got := d.stores(t); got != step.stores {
			t.Errorf("%d bytes, %d files: stores %v before the guard looked", step.bytes, step.files, got)
		}
		if err := d.guard.Refresh(); (err == nil) != step.after {
			t.Errorf("%d bytes, %d files: %v", step.bytes, step.files, err)
		}
		if got := d.stores(t); got != step.after {
			t.Errorf("%d bytes, %d files: stores %v", step.bytes, step.files, got)
		}
	}
}

func TestReadsGoOn(t *testing.T) {
	d := newDisk(t)
	d.has(0, 0)
	for _, request := range []any{&pb.RangeRequest{Key: []byte("key")}, &pb.StatusRequest{}} {
		if _, err := d.guard.Intercept(t.Context(), request, nil, func(context.Context, any) (any, error) { return nil, nil }); err != nil {
			t.Errorf("%T: %v", request, err)
		}
	}
}

func TestFullIsSaidOnceAndWithNumbers(t *testing.T) {
	d := newDisk(t)
	d.has(3<<20, 1000)
	for range 3 {
		if err := d.guard.Refresh(); err == nil || err.Error() != "the disk of /data is full: 3 MiB are left; Farrier stores nothing until it is 96 MiB" {
			t.Fatal(err)
		}
	}
	d.has(1<<30, 5)
	if err := d.guard.Err(); err == nil || !strings.Contains(err.Error(), "5 more files") {
		t.Error(err)
	}
	d.has(1<<30, 1000)
	if err := d.guard.Refresh(); err != nil {
		t.Error(err)
	}
	if len(d.lines) != 3 || !strings.Contains(d.lines[0], "nearly full") || !strings.Contains(d.lines[1], "3 MiB") || !strings.Contains(d.lines[2], "room again") {
		t.Errorf("%q", d.lines)
	}
}

func TestADiskThatCannotBeAskedIsNotFull(t *testing.T) {
	d := newDisk(t)
	d.err = errors.New("no such disk")
	for range 2 {
		if !d.stores(t) {
			t.Error("nothing is stored")
		}
	}
	if len(d.lines) != 1 {
		t.Errorf("%q", d.lines)
	}
}

// TestTheReserveIsThere: what etcd's log and database grow into next is on the disk, and nothing else is left there.
func TestTheReserveIsThere(t *testing.T) {
	d := newDisk(t)
	wal := filepath.Join(d.dir, "member/wal")
	own := filepath.Join(wal, "0.tmp") // etcd's own, which it is about to use
	if err := os.WriteFile(own, []byte("own"), 0o600); err != nil {
		t.Fatal(err)
	}
	if needed := NeededToStart(d.dir); needed != LowMark+SegmentSize {
		t.Errorf("a start needs %d bytes", needed)
	}
	if err := d.guard.Refresh(); err != nil {
		t.Fatal(err)
	}
	if d.guard.o.Store.unsupported {
		t.Skip("this file system reserves nothing")
	}
	entries, err := os.ReadDir(wal)
	if err != nil || len(entries) != 3 {
		t.Errorf("%v, %v", entries, err)
	}
	if content, err := os.ReadFile(own); err != nil || string(content) != "own" {
		t.Errorf("etcd's own file is %q, %v", content, err)
	}
	for path, want := range map[string]int64{
		"member/wal/1.tmp": SegmentSize, "member/wal/0000000000000000-0000000000000000.wal": SegmentSize + InFlight, "member/snap/db": 1<<20 + headroom,
	} {
		if got := onDisk(t, filepath.Join(d.dir, path)); got < want {
			t.Errorf("%s has %d bytes of the disk, want %d", path, got, want)
		}
	}
	// etcd takes one for its log: there is another soon.
	if err := os.Rename(own, filepath.Join(wal, "0000000000000001-0000000000000009.wal")); err != nil {
		t.Fatal(err)
	}
	if err := d.guard.Refresh(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"0.tmp", "0000000000000001-0000000000000009.wal"} {
		if got := onDisk(t, filepath.Join(wal, name)); got < SegmentSize {
			t.Errorf("%s has %d bytes of the disk", name, got)
		}
	}
	if needed := NeededToStart(d.dir); needed != LowMark {
		t.Errorf("a start needs %d bytes beyond what is reserved", needed)
	}
}

func TestWithoutAReserveNothingIsStored(t *testing.T) {
	d := newDisk(t)
	if err := os.RemoveAll(filepath.Join(d.dir, "member/wal")); err != nil {
		t.Fatal(err)
	}
	err := d.guard.Refresh()
	var full *FullError
	if !errors.As(err, &full) || !errors.Is(err, os.ErrNotExist) || d.stores(t) {
		t.Errorf("%v", err)
	}
}

// TestWhatIsInFlightIsBounded: what does not fit waits until something else is stored.
func TestWhatIsInFlightIsBounded(t *testing.T) {
	d := newDisk(t)
	inside, leave := make(chan struct{}), make(chan struct{})
	large := &pb.PutRequest{Value: make([]byte, InFlight)}
	var running sync.WaitGroup
	running.Go(func() {
		_, _ = d.guard.Intercept(t.Context(), large, nil, func(context.Context, any) (any, error) {
			close(inside)
			<-leave
			return nil, nil
		})
	})
	<-inside
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.guard.Intercept(ctx, large, nil, func(context.Context, any) (any, error) { return nil, nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want that it waited", err)
	}
	close(leave)
	running.Wait()
	if !d.stores(t) {
		t.Error("nothing is stored")
	}
}

func TestRunLooksAtEveryInterval(t *testing.T) {
	d := newDisk(t)
	clock := clocktesting.NewFakeClock(testTime)
	d.guard.o.Clock = clock
	looks := make(chan error)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { d.guard.Run(ctx, func(_ context.Context, err error) { looks <- err }) })
	for !clock.HasWaiters() {
		runtime.Gosched()
	}
	for _, bytes := range []uint64{1 << 30, 0, 1 << 30} {
		d.has(bytes, 1000)
		clock.Step(Interval)
		if err := <-looks; (err != nil) != (bytes == 0) {
			t.Errorf("%d bytes: %v", bytes, err)
		}
	}
	cancel()
	running.Wait()
}
