package blobcache

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/farrier-dev/farrier/internal/image/imagetest"
	"github.com/farrier-dev/farrier/internal/image/registry"
)

var testTime = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func newStore(t *testing.T, dir string, maxBytes int64) *store {
	t.Helper()
	s, err := openStore(dir, maxBytes, maxBytes)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// keep puts a blob into a store, as a download does.
func (s *store) keep(t *testing.T, content string, now time.Time) (digest string) {
	t.Helper()
	digest, size := registry.DigestOf([]byte(content)), int64(len(content))
	file, err := s.create(digest, size)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := io.WriteString(file, content); err != nil {
		t.Fatal(err)
	}
	release, err := s.commit(file, digest, size, false, now)
	if err != nil {
		t.Fatal(err)
	}
	release()
	return digest
}

// read reads a blob back.
func (s *store) read(t *testing.T, digest string, now time.Time) (string, error) {
	t.Helper()
	file, release, err := s.open(digest, now)
	if err != nil {
		return "", err
	}
	defer release()
	content, err := io.ReadAll(file)
	return string(content), err
}

func (s *store) expect(t *testing.T, used int64, digests ...string) {
	t.Helper()
	if s.used != used || len(s.blobs) != len(digests) {
		t.Errorf("%d bytes used by %d blobs, want %d by %d", s.used, len(s.blobs), used, len(digests))
	}
	for _, digest := range digests {
		if !s.has(digest) {
			t.Errorf("%s is gone", digest)
		}
		if _, err := os.Stat(s.path(digest, false)); err != nil {
			t.Error(err)
		}
	}
}

func TestStoreEvictsTheLeastRecentlyUsed(t *testing.T) {
	s := newStore(t, t.TempDir(), 12)
	a, b, c := s.keep(t, "aaaa", testTime), s.keep(t, "bbbb", testTime), s.keep(t, "cccc", testTime)
	s.expect(t, 12, a, b, c)
	if got, err := s.read(t, a, testTime); got != "aaaa" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	d := s.keep(t, "dddd", testTime)
	s.expect(t, 12, a, c, d)
	e := s.keep(t, "eeeeeeee", testTime)
	s.expect(t, 12, d, e)
	if _, err := s.read(t, b, testTime); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("evicted blob: %v", err)
	}
}

func TestStoreKeepsWhatIsRead(t *testing.T) {
	s := newStore(t, t.TempDir(), 8)
	a, b := s.keep(t, "aaaa", testTime), s.keep(t, "bbbb", testTime)
	s.pin(a)
	_, releaseA, err := s.open(a, testTime)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.create(testDigest, 8); !errors.Is(err, ErrCacheFull) {
		t.Errorf("error %v, want %v", err, ErrCacheFull)
	}
	c := s.keep(t, "cccc", testTime) // takes the room of b
	s.expect(t, 8, a, c)
	if s.has(b) {
		t.Error("b is still there")
	}
	releaseA()
	d := s.keep(t, "dddddddd", testTime)
	s.expect(t, 8, d)
	if _, err := s.create(testDigest, 9); !errors.Is(err, ErrTooLarge) {
		t.Errorf("error %v, want %v", err, ErrTooLarge)
	}
	s.expect(t, 8, d)
}

func TestStoreCountsDownloads(t *testing.T) {
	s := newStore(t, t.TempDir(), 8)
	file, err := s.create(testDigest, 6)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := s.create(testDigest, 6); !errors.Is(err, ErrCacheFull) {
		t.Errorf("error %v, want %v", err, ErrCacheFull)
	}
	s.discard(file, 6)
	s.expect(t, 0)
	if _, err := os.Stat(file.Name()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the discarded download: %v", err)
	}
	// The same blob, downloaded from two repositories at once.
	a := s.keep(t, "aaaa", testTime)
	if again := s.keep(t, "aaaa", testTime); again != a {
		t.Errorf("%s and %s", a, again)
	}
	s.expect(t, 4, a)
}

func TestStoreSurvivesRestarts(t *testing.T) {
	dir := t.TempDir()
	s := newStore(t, dir, 100)
	a, b, c := s.keep(t, "aaaa", testTime), s.keep(t, "bbbb", testTime), s.keep(t, "cccc", testTime)
	// Uses at known times, in another order than that of arrival.
	for i, digest := range []string{b, c, a} {
		if _, err := s.read(t, digest, testTime.Add(time.Duration(i+1)*time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	for name, content := range map[string]string{
		filepath.Join("partial", "123"):   "half a",
		filepath.Join("sha256", "notes"):  "not ours",
		filepath.Join("sha256", "ABCDEF"): "not ours",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s = newStore(t, dir, 9) // and with less room
	s.expect(t, 8, a, c)
	if files, err := os.ReadDir(s.partialDir()); err != nil || len(files) != 0 {
		t.Errorf("%d partial downloads, %v", len(files), err)
	}
	if _, err := os.Stat(filepath.Join(dir, "sha256", "notes")); err != nil {
		t.Errorf("somebody else's file: %v", err)
	}
	if got, err := s.read(t, a, testTime); got != "aaaa" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

func TestStoreDropsDamagedBlobs(t *testing.T) {
	dir := t.TempDir()
	s := newStore(t, dir, 100)
	a, b := s.keep(t, "aaaa", testTime), s.keep(t, "bbbb", testTime)
	if err := os.WriteFile(s.path(a, false), []byte("aaax"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(s.path(b, false)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.read(t, b, testTime); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("removed blob: %v", err)
	}
	s = newStore(t, dir, 100)
	if _, err := s.read(t, a, testTime); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("damaged blob: %v", err)
	}
	s.expect(t, 0)
	if got, err := s.read(t, s.keep(t, "aaaa", testTime), testTime); got != "aaaa" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

func TestStoreNeedsItsDirectory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := New(Options{Dir: file}); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("error %v does not name %s", err, file)
	}
	if _, err := New(Options{}); err == nil {
		t.Error("no directory was accepted")
	}
}

// With its registry away for good, a restarted boot server serves what it has.
func TestBlobsSurviveRestarts(t *testing.T) {
	remote := imagetest.StartRegistry(t)
	image := imagetest.Large(7)
	pushed := imagetest.Push(t, remote, "v1", image)
	o := registryOptions(remote)
	o.Dir = t.TempDir()
	o.Clock = clocktesting.NewFakeClock(testTime)
	before := startBlobs(t, o)
	if got := get(t, before.layerURL(remote, pushed.Kernel)); got.Err != nil {
		t.Fatal(got.Err)
	}
	if err := before.Close(); err != nil {
		t.Fatal(err)
	}
	remote.SetAway(true)
	asked := remote.Counts()
	after := startBlobs(t, o)
	got := get(t, after.layerURL(remote, pushed.Kernel))
	if got.Err != nil || string(got.Body) != string(image.Kernel) {
		t.Errorf("status %d, %d bytes, error %v", got.Status, len(got.Body), got.Err)
	}
	if counts := remote.Counts(); counts != asked {
		t.Errorf("requests upstream: %+v before, %+v after", asked, counts)
	}
}

func TestBlobsAreBounded(t *testing.T) {
	remote := imagetest.StartRegistry(t)
	image := imagetest.Large(8)
	pushed := imagetest.Push(t, remote, "v1", image)
	o := registryOptions(remote)
	o.MaxBytes = int64(len(image.Kernel)) - 1
	s := startBlobs(t, o)
	got := get(t, s.layerURL(remote, pushed.Kernel))
	if got.Status != http.StatusBadGateway || !strings.Contains(string(got.Body), "larger than the image cache") {
		t.Errorf("too large: status %d, %s", got.Status, got.Body)
	}
	s.store.used += o.MaxBytes // as if all were in use
	got = get(t, s.layerURL(remote, pushed.Initramfs))
	if got.Status != http.StatusServiceUnavailable || got.Header.Get("Retry-After") == "" {
		t.Errorf("full: status %d, Retry-After %q", got.Status, got.Header.Get("Retry-After"))
	}
	s.store.used -= o.MaxBytes
	if got = get(t, s.layerURL(remote, pushed.Initramfs)); got.Status != http.StatusOK {
		t.Errorf("room again: status %d", got.Status)
	}
	expectFiles(t, s, 1, int64(len(image.Initramfs)))
}

func TestPathsStayInTheDirectory(t *testing.T) {
	s := newStore(t, t.TempDir(), 1)
	for _, digest := range []string{testDigest, "sha256:" + strings.Repeat("f", 64)} {
		if got := s.path(digest, false); filepath.Dir(got) != s.blobDir(false) {
			t.Errorf("%s is kept at %s", digest, got)
		}
	}
	for _, digest := range []string{"sha256:" + strings.Repeat("/", 64), "sha256:" + strings.Repeat(".", 64), testDigest + "/..", "../" + testDigest, fmt.Sprintf("sha256:%064X", -1)} {
		if registry.ValidDigest(digest) {
			t.Errorf("%q passes for a digest", digest)
		}
	}
}
