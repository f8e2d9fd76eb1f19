package firmwareimage

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/utils/clock"

	"github.com/farrier-dev/farrier/internal/bmc"
)

// patience is how long anything may take: the machine runs other tests beside this one.
const patience = time.Minute

const content = "firmware of a vendor, in some kilobytes"

// stand is a store before a server of images.
type stand struct {
	*Store
	images *httptest.Server
	// asked counts requests to it; answer is what it does.
	asked  atomic.Int32
	answer atomic.Pointer[http.HandlerFunc]
	told   chan string
	t      *testing.T
}

func newStand(t *testing.T, change ...func(*Options)) *stand {
	t.Helper()
	s := &stand{t: t, told: make(chan string, 64)}
	s.answers(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, content) })
	s.images = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.asked.Add(1)
		(*s.answer.Load())(w, r)
	}))
	t.Cleanup(s.images.Close)
	o := Options{Dir: filepath.Join(t.TempDir(), "firmware"), Limit: 1 << 20, BaseURL: "http://farrier.example:8085/", Key: make([]byte, 32), Clock: clock.RealClock{}}
	for _, c := range change {
		c(&o)
	}
	s.start(o)
	return s
}

// start is what a process does.
func (s *stand) start(o Options) {
	s.t.Helper()
	store, err := New(o)
	if err != nil {
		s.t.Fatal(err)
	}
	s.Store = store
	store.Subscribe(func(owner string) { s.told <- owner })
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = store.Run(ctx) })
	s.t.Cleanup(func() { cancel(); running.Wait() })
}

func (s *stand) answers(f http.HandlerFunc) { s.answer.Store(&f) }

func (s *stand) source(name, digest string) Source {
	return Source{URI: s.images.URL + "/" + name, Digest: digest}
}

// settles needs an image until it is known whether it can be had.
func (s *stand) settles(owner string, source Source) (Image, error) {
	s.t.Helper()
	deadline := time.After(patience)
	for {
		image, known, err := s.Need(owner, Request{Source: source, Username: "u", Password: "p"})
		if known {
			return image, err
		}
		select {
		case <-s.told:
		case <-deadline:
			s.t.Fatal("nothing is known of the image")
		}
	}
}

func digestOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func (s *stand) files() (names []string) {
	entries, err := os.ReadDir(s.options.Dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		s.t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestAnImageIsFetchedOnce(t *testing.T) {
	s := newStand(t)
	s.answers(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "u" || password != "p" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = io.WriteString(w, content)
	})
	source := s.source("dir/bios-2.5.0.bin", digestOf(content))
	for i := range 100 {
		image, err := s.settles(fmt.Sprint("owner-", i), source)
		if err != nil || image.Name != "bios-2.5.0.bin" || image.Size != int64(len(content)) || image.Digest != digestOf(content) {
			t.Fatalf("%+v, %v", image, err)
		}
		f, err := image.Open()
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(f)
		if _ = f.Close(); err != nil || string(got) != content {
			t.Fatalf("read %q, %v", got, err)
		}
	}
	if n := s.asked.Load(); n != 1 {
		t.Errorf("fetched %d times", n)
	}
}

func TestWhatCannotBeHad(t *testing.T) {
	other := strings.Repeat("ab", 32)
	for name, tc := range map[string]struct {
		answer http.HandlerFunc
		digest string
		is     error
		says   string
	}{
		"not there":     {http.NotFound, "", nil, "404 Not Found"},
		"another image": {nil, other, ErrDigest, digestOf(content)},
		"too large": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", fmt.Sprint(MaxSize+1))
		}, "", ErrTooLarge, ""},
		"larger than all together": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", fmt.Sprint(1<<20+1))
		}, "", ErrTooLarge, ""},
		"endless": {func(w http.ResponseWriter, _ *http.Request) {
			for range 3 {
				_, _ = w.Write(make([]byte, 1<<19))
				_ = http.NewResponseController(w).Flush()
			}
		}, "", ErrTooLarge, ""},
		"broken off": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, content)
		}, "", io.ErrUnexpectedEOF, ""},
		"redirected for ever": {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.Path+"x", http.StatusFound) }, "", nil, "redirects"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStand(t)
			if tc.answer != nil {
				s.answers(tc.answer)
			}
			_, err := s.settles("o", s.source("bios.bin", tc.digest))
			if err == nil || tc.is != nil && !errors.Is(err, tc.is) || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("error %v", err)
			}
			if left := s.files(); len(left) != 0 || s.reserved != 0 {
				t.Errorf("left %v, %d bytes reserved", left, s.reserved)
			}
			s.answers(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, content) })
			s.Again("o")
			if _, err := s.settles("o", s.source("bios.bin", "")); err != nil {
				t.Errorf("a person says that it is right now: %v", err)
			}
		})
	}
}

// TestAnotherProcess: what has a digest is not fetched again, unless its file was changed; what has none is.
func TestAnotherProcess(t *testing.T) {
	s := newStand(t)
	named, unnamed := s.source("bios.bin", digestOf(content)), s.source("bmc.bin", "")
	for i, source := range []Source{named, unnamed} {
		if _, err := s.settles(fmt.Sprint(i), source); err != nil {
			t.Fatal(err)
		}
	}
	url := s.URL(named)
	if err := os.WriteFile(filepath.Join(s.options.Dir, "1"+partSuffix), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.start(s.options)
	if got := s.files(); len(got) != 1 || s.asked.Load() != 2 {
		t.Fatalf("%v, %d requests", got, s.asked.Load())
	}
	if _, err := s.settles("0", named); err != nil || s.asked.Load() != 2 || s.URL(named) != url {
		t.Errorf("%v, %d requests", err, s.asked.Load())
	}
	if err := os.WriteFile(s.file(named), []byte("something else"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.start(s.options)
	if _, err := s.settles("0", named); err != nil || s.asked.Load() != 3 {
		t.Errorf("changed on disk: %v, %d requests", err, s.asked.Load())
	}
}

// TestRoom: what nobody needs goes for what somebody needs, and nothing else does.
func TestRoom(t *testing.T) {
	s := newStand(t, func(o *Options) { o.Limit = int64(2 * len(content)) })
	texts := map[string]string{}
	s.answers(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, texts[r.URL.Path]) })
	var sources []Source
	for i := range 3 {
		text := fmt.Sprintf("%-*d", len(content), i)
		texts[fmt.Sprintf("/%d", i)] = text
		sources = append(sources, s.source(fmt.Sprint(i), digestOf(text)))
	}
	for i := range 2 {
		if _, err := s.settles(fmt.Sprint(i), sources[i]); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.settles("2", sources[2]); !errors.Is(err, ErrFull) {
		t.Errorf("beside two that are needed: %v", err)
	}
	s.Done("0")
	s.Again("2")
	if _, err := s.settles("2", sources[2]); err != nil {
		t.Errorf("beside one that is not: %v", err)
	}
	if _, err := os.Stat(s.file(sources[1])); err != nil {
		t.Errorf("what is needed has gone: %v", err)
	}
	if _, err := os.Stat(s.file(sources[0])); err == nil {
		t.Error("what is not needed is there still")
	}
}

func TestServing(t *testing.T) {
	s := newStand(t)
	source := s.source("bios-2.5.0.bin?token=1", "")
	if _, err := s.settles("o", source); err != nil {
		t.Fatal(err)
	}
	path := strings.TrimPrefix(s.URL(source), "http://farrier.example:8085")
	if !strings.HasPrefix(path, "/firmware/") || !strings.HasSuffix(path, "/bios-2.5.0.bin") {
		t.Fatalf("path %s", path)
	}
	get := func(method, path, ranged string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, path, nil)
		if ranged != "" {
			r.Header.Set("Range", ranged)
		}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		return w
	}
	for name, tc := range map[string]struct {
		method, path, ranged string
		status               int
		body                 string
	}{
		"whole":            {http.MethodGet, path, "", http.StatusOK, content},
		"a part":           {http.MethodGet, path, "bytes=0-7", http.StatusPartialContent, content[:8]},
		"its length":       {http.MethodHead, path, "", http.StatusOK, ""},
		"a part of a name": {http.MethodGet, path[:len(path)/2], "", http.StatusNotFound, "404 page not found\n"},
		"another token":    {http.MethodGet, "/firmware/AAAA/bios-2.5.0.bin", "", http.StatusNotFound, "404 page not found\n"},
		"elsewhere":        {http.MethodGet, "/", "", http.StatusNotFound, "404 page not found\n"},
		"a change":         {http.MethodPost, path, "", http.StatusMethodNotAllowed, "Method Not Allowed\n"},
	} {
		if w := get(tc.method, tc.path, tc.ranged); w.Code != tc.status || w.Body.String() != tc.body {
			t.Errorf("%s: %d %q", name, w.Code, w.Body)
		}
	}
	if err := os.Remove(s.file(source)); err != nil {
		t.Fatal(err)
	}
	if w := get(http.MethodGet, path, ""); w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
		t.Errorf("while it is fetched: %d", w.Code)
	}
	s.Done("o")
	if w := get(http.MethodGet, path, ""); w.Code != http.StatusNotFound {
		t.Errorf("after its last owner: %d", w.Code)
	}
}

// TestAnOwnerNeedsOneImage: another one takes the place of the first.
func TestAnOwnerNeedsOneImage(t *testing.T) {
	s := newStand(t)
	first, second := s.source("1", ""), s.source("2", "")
	for _, source := range []Source{first, second} {
		if _, err := s.settles("o", source); err != nil {
			t.Fatal(err)
		}
	}
	if s.needed(first) || !s.needed(second) || len(s.files()) != 1 {
		t.Errorf("files %v", s.files())
	}
	s.Done("o")
	s.Done("nobody")
	if len(s.files()) != 0 || len(s.needs) != 0 || len(s.owners) != 0 {
		t.Errorf("left %v", s.files())
	}
}

func TestNames(t *testing.T) {
	for uri, want := range map[string]string{
		"http://h/a/b.bin?x=1": "b.bin", "http://h/": "image.bin", "http://h": "image.bin", "http://h/..": "image.bin", "http://h/%2e%2e%2fx y": "x-y",
		"http://h/" + strings.Repeat("a", 300) + ".bin": strings.Repeat("a", 96) + ".bin", "::": "image.bin",
	} {
		if got := nameOf(uri); got != want {
			t.Errorf("%s: %q, not %q", uri, got, want)
		}
	}
}

func TestFetchable(t *testing.T) {
	for uri, want := range map[string]bool{"http://h/x": true, "HTTPS://h/x": true, "nfs://h/x": false, "tftp://h/x": false, "": false} {
		if Fetchable(uri) != want {
			t.Error(uri)
		}
	}
}

func TestPasswordsStaySecret(t *testing.T) {
	if text := fmt.Sprintf("%v %+v", Request{Password: bmc.Secret("hunter2")}, &Request{Password: "hunter2"}); strings.Contains(text, "hunter2") {
		t.Error(text)
	}
}
