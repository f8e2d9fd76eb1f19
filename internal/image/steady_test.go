package image

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
	const size = 5 * steadyChunk
	path := filepath.Join(t.TempDir(), "blob")
	if err := os.WriteFile(path, make([]byte, size), 0o600); err != nil {
		t.Fatal(err)
	}
	least := steadyChunk / int(steadyLimit/time.Second)
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
		"while a registry takes longer than a chunk": {2 * least, false, 2 * steadyLimit, true},
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
				_, err := newSteadyWriter(client).ReadFrom(&io.LimitedReader{R: blob, N: size})
				if whole := client.taken == size; whole != c.whole {
					t.Errorf("%d bytes of %d in %s, %v", client.taken, size, time.Since(began), err)
				}
				if !c.whole && (!errors.Is(err, os.ErrDeadlineExceeded) || time.Since(began) > steadyLimit) {
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
