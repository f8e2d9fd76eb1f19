package progress

import (
	"bytes"
	"errors"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"
)

// readFromRecorder sees what reaches the writer that could use sendfile(2).
type readFromRecorder struct {
	*httptest.ResponseRecorder
	sources []io.Reader
}

func (w *readFromRecorder) ReadFrom(r io.Reader) (int64, error) {
	w.sources = append(w.sources, r)
	return io.Copy(w.ResponseRecorder, r)
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("disk gone") }

// TestProgressWriter: a file reaches net/http as a file, in parts.
func TestProgressWriter(t *testing.T) {
	content := bytes.Repeat([]byte("farrier!"), (2*Chunk+24)/8)
	path := filepath.Join(t.TempDir(), "blob")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	under := &readFromRecorder{ResponseRecorder: httptest.NewRecorder()}
	w := New(under)
	n, err := io.CopyN(w, file, int64(len(content))-8)
	if err != nil || n != int64(len(content))-8 {
		t.Fatalf("copied %d, %v", n, err)
	}
	if !bytes.Equal(under.Body.Bytes(), content[:n]) {
		t.Error("other bytes arrived")
	}
	if len(under.sources) != 3 {
		t.Errorf("%d parts, want 3", len(under.sources))
	}
	for _, source := range under.sources {
		limited, ok := source.(*io.LimitedReader)
		if !ok {
			t.Fatalf("part is a %T", source)
		}
		if _, isFile := limited.R.(*os.File); !isFile {
			t.Errorf("a %T in a limited reader hides the file", limited.R)
		}
	}
	if n, err := w.ReadFrom(file); n != 8 || err != nil {
		t.Errorf("rest: %d, %v", n, err)
	}
	if _, err := w.ReadFrom(failing{}); err == nil {
		t.Error("the error of the source is lost")
	}
	if !bytes.Equal(under.Body.Bytes(), content) || w.Total != int64(len(content)) {
		t.Errorf("%d bytes arrived, %d were counted, want %d", under.Body.Len(), w.Total, len(content))
	}
}

// slowClient takes so many bytes a second, until its deadline.
type slowClient struct {
	*httptest.ResponseRecorder
	perSecond int
	deadline  time.Time
	taken     int64
}

func (c *slowClient) SetWriteDeadline(t time.Time) error {
	c.deadline = t
	return nil
}

func (c *slowClient) Write(p []byte) (int, error) {
	takes := time.Duration(len(p)) * time.Second / time.Duration(c.perSecond)
	if left := time.Until(c.deadline); takes > left {
		time.Sleep(left)
		return 0, os.ErrDeadlineExceeded
	}
	time.Sleep(takes)
	c.taken += int64(len(p))
	return len(p), nil
}

// TestASlowClientHoldsABlobForSoLong: who takes less than a chunk in the time of a chunk loses its connection, also if it
// takes a little all the time; who is faster may take as long as the blob needs. What comes from a registry may pause.
func TestASlowClientHoldsABlobForSoLong(t *testing.T) {
	const size = 5 * Chunk
	path := filepath.Join(t.TempDir(), "blob")
	if err := os.WriteFile(path, make([]byte, size), 0o600); err != nil {
		t.Fatal(err)
	}
	least := Chunk / int(ChunkTimeout/time.Second)
	for name, c := range map[string]struct {
		perSecond int
		file      bool
		pause     time.Duration // of the registry, before each part
		whole     bool
	}{
		"of the cache, fast enough":                  {2 * least, true, 0, true},
		"of the cache, too slow":                     {least / 2, true, 0, false},
		"while it is downloaded, fast enough":        {2 * least, false, 0, true},
		"while it is downloaded, too slow":           {least / 2, false, 0, false},
		"while a registry takes longer than a Chunk": {2 * least, false, 2 * ChunkTimeout, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := &slowClient{ResponseRecorder: httptest.NewRecorder(), perSecond: c.perSecond}
				var blob io.ReadSeeker = &pausing{bytes.NewReader(make([]byte, size)), c.pause}
				if c.file {
					f, err := os.Open(path)
					if err != nil {
						t.Fatal(err)
					}
					defer f.Close()
					blob = f
				}
				began := time.Now()
				_, err := New(client).ReadFrom(&io.LimitedReader{R: blob, N: size})
				if whole := client.taken == size; whole != c.whole {
					t.Errorf("%d bytes of %d in %s, %v", client.taken, size, time.Since(began), err)
				}
				if !c.whole && (!errors.Is(err, os.ErrDeadlineExceeded) || time.Since(began) > ChunkTimeout) {
					t.Errorf("%v after %s", err, time.Since(began))
				}
			})
		})
	}
}

// pausing is a registry's answer that takes its time.
type pausing struct {
	*bytes.Reader
	pause time.Duration
}

func (p *pausing) Read(b []byte) (int, error) {
	time.Sleep(p.pause)
	return p.Reader.Read(b)
}
