package blobcache

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/farrier-dev/farrier/internal/image/registry"
)

// unneededOf begins a download of what nobody needs.
func (s *store) unneededOf(t *testing.T, size int64) (*os.File, *reservation, *error) {
	t.Helper()
	ended := new(error)
	file, r, err := s.createUnneeded(size, func(why error) { *ended = why })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	return file, r, ended
}

// keepUnneeded is keep for what nobody needs.
func (s *store) keepUnneeded(t *testing.T, content string) (digest string) {
	t.Helper()
	digest = registry.DigestOf([]byte(content))
	file, r, _ := s.unneededOf(t, int64(len(content)))
	if _, err := io.WriteString(file, content); err != nil {
		t.Fatal(err)
	}
	if err := s.grow(r, int64(len(content))); err != nil {
		t.Fatal(err)
	}
	release, err := s.commitUnneeded(file, digest, r, testTime)
	if err != nil {
		t.Fatal(err)
	}
	release()
	return digest
}

// TestASizeThatIsSaidTakesNothing: only what has arrived takes room, of what nobody needs and never of a pin.
func TestASizeThatIsSaidTakesNothing(t *testing.T) {
	s, err := openStore(t.TempDir(), 12, 8)
	if err != nil {
		t.Fatal(err)
	}
	pinned := s.keep(t, "pppp", testTime)
	s.pin(pinned)
	other := s.keep(t, "oooooo", testTime)
	_, r, _ := s.unneededOf(t, 8)
	s.expect(t, 10, pinned, other)
	if _, _, err := s.createUnneeded(1, nil); !errors.Is(err, ErrBusy) {
		t.Errorf("more than the share under way: %v, want %v", err, ErrBusy)
	}
	if _, _, err := s.createUnneeded(9, nil); !errors.Is(err, ErrTooLarge) {
		t.Errorf("more than the share at once: %v, want %v", err, ErrTooLarge)
	}
	if err := s.grow(r, 2); err != nil {
		t.Error(err)
	}
	s.expect(t, 12, pinned, other)
	if err := s.grow(r, 3); err != nil {
		t.Error(err)
	}
	s.expect(t, 7, pinned)
	if err := s.grow(r, 8); err != nil {
		t.Error(err)
	}
	s.expect(t, 12, pinned)
	s.pin("another")
	if err := s.grow(r, 9); !errors.Is(err, ErrCacheFull) {
		t.Errorf("more than there is: %v, want %v", err, ErrCacheFull)
	}
}

// TestWhatNobodyNeedsHasItsShare: beyond it, it makes room for itself.
func TestWhatNobodyNeedsHasItsShare(t *testing.T) {
	s, err := openStore(t.TempDir(), 100, 8)
	if err != nil {
		t.Fatal(err)
	}
	needed := s.keep(t, "nnnn", testTime)
	a, b := s.keepUnneeded(t, "aaaa"), s.keepUnneeded(t, "bbbb")
	s.expect(t, 12, needed, a, b)
	c := s.keepUnneeded(t, "cccc")
	s.expect(t, 12, needed, b, c)
	s.pin(b) // somebody is going to boot it: it no longer counts
	d := s.keepUnneeded(t, "dddd")
	s.expect(t, 16, needed, b, c, d)
	s.unpin(b)
	e := s.keepUnneeded(t, "eeee")
	s.expect(t, 16, needed, b, d, e)
}

// TestWhatIsNeededTakesRoom: of downloads that nobody needs, and of blobs that strangers read; not of pins that are read.
func TestWhatIsNeededTakesRoom(t *testing.T) {
	s, err := openStore(t.TempDir(), 12, 8)
	if err != nil {
		t.Fatal(err)
	}
	pinned, strange := s.keep(t, "pppp", testTime), s.keepUnneeded(t, "ssss")
	s.pin(pinned)
	file, release, err := s.open(strange, testTime)
	if err != nil {
		t.Fatal(err)
	}
	under, r, ended := s.unneededOf(t, 4)
	if err := s.grow(r, 4); err != nil {
		t.Fatal(err)
	}
	if !s.fits(8) || s.fits(9) {
		t.Errorf("8 bytes fit: %v, 9 bytes fit: %v", s.fits(8), s.fits(9))
	}
	a := s.keep(t, "aaaaaaaa", testTime)
	s.expect(t, 12, pinned, a)
	if !errors.Is(*ended, errPreempted) || !errors.Is(s.grow(r, 4), errPreempted) {
		t.Errorf("the download goes on: %v", *ended)
	}
	if _, err := s.commitUnneeded(under, testDigest, r, testTime); !errors.Is(err, errPreempted) {
		t.Errorf("commit: %v, want %v", err, errPreempted)
	}
	s.discardUnneeded(under, r)
	if got, err := io.ReadAll(file); err != nil || string(got) != "ssss" {
		t.Errorf("who read it has %q, %v", got, err)
	}
	release()
	s.expect(t, 12, pinned, a)
	if s.unneeded != 0 || s.expected != 0 || len(s.reservations) != 0 {
		t.Errorf("%d bytes unneeded, %d expected, %d rooms", s.unneeded, s.expected, len(s.reservations))
	}
}

// TestRoomsAddUp: whatever strangers and plans do, the cache holds no more than it may, strangers have no more than their
// share, and no stranger takes a pin.
func TestRoomsAddUp(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(t.TempDir(), "") //nolint:usetesting // one for each try, below the test's
		if err != nil {
			rt.Fatal(err)
		}
		s, err := openStore(dir, 40, 20)
		if err != nil {
			rt.Fatal(err)
		}
		type flow struct {
			file   *os.File
			room   *reservation
			digest string
		}
		var flows []flow
		var releases []func()
		digest := func() string { return registry.DigestOf([]byte{byte(rapid.IntRange(0, 5).Draw(rt, "digest"))}) }
		kept := func() map[string]bool {
			has := map[string]bool{}
			for d := range s.pins {
				has[d] = s.has(d)
			}
			return has
		}
		stranger := func(act func()) {
			before := kept()
			act()
			for d, has := range before {
				if has && !s.has(d) {
					rt.Fatal("a stranger took a pin")
				}
			}
		}
		rt.Repeat(map[string]func(*rapid.T){
			"needed": func(rt *rapid.T) {
				size := int64(rapid.IntRange(1, 20).Draw(rt, "size"))
				d := digest()
				file, err := s.create(d, size)
				if err != nil {
					return
				}
				defer file.Close()
				if rapid.Bool().Draw(rt, "good") {
					release, err := s.commit(file, d, size, false, testTime)
					if err != nil {
						rt.Fatal(err)
					}
					releases = append(releases, release)
				} else {
					s.discard(file, size)
				}
			},
			"begin": func(rt *rapid.T) {
				stranger(func() {
					file, r, err := s.createUnneeded(int64(rapid.IntRange(1, 25).Draw(rt, "size")), func(error) {})
					if err == nil {
						flows = append(flows, flow{file, r, digest()})
					}
				})
			},
			"grow": func(rt *rapid.T) {
				if len(flows) == 0 {
					return
				}
				f := flows[rapid.IntRange(0, len(flows)-1).Draw(rt, "flow")]
				stranger(func() { _ = s.grow(f.room, min(f.room.size, f.room.have+int64(rapid.IntRange(1, 9).Draw(rt, "by")))) })
			},
			"end": func(rt *rapid.T) {
				if len(flows) == 0 {
					return
				}
				i := rapid.IntRange(0, len(flows)-1).Draw(rt, "flow")
				f := flows[i]
				flows = append(flows[:i:i], flows[i+1:]...)
				defer f.file.Close()
				stranger(func() {
					if f.room.have == f.room.size {
						if release, err := s.commitUnneeded(f.file, f.digest, f.room, testTime); err == nil {
							releases = append(releases, release)
							return
						}
					}
					s.discardUnneeded(f.file, f.room)
				})
			},
			"release": func(*rapid.T) {
				for _, release := range releases {
					release()
				}
				releases = nil
			},
			"pin":   func(*rapid.T) { s.pin(digest()) },
			"unpin": func(*rapid.T) { s.unpin(digest()) },
			"": func(rt *rapid.T) {
				var used, unneeded, expected int64
				for _, b := range s.blobs {
					used += b.size
					if b.unneeded {
						unneeded += b.size
					}
				}
				for r := range s.reservations {
					used, unneeded, expected = used+r.have, unneeded+r.have, expected+r.size
				}
				if s.used != used || s.unneeded != unneeded || s.expected != expected {
					rt.Fatalf("counts %d, %d, %d; has %d, %d, %d", s.used, s.unneeded, s.expected, used, unneeded, expected)
				}
				if used > s.max || unneeded > s.share || expected > s.share {
					rt.Fatalf("%d of %d used, %d unneeded and %d expected of %d", used, s.max, unneeded, expected, s.share)
				}
			},
		})
		for _, f := range flows {
			f.file.Close()
		}
	})
}

// TestDownloadsOfStrangersAreNotTakenUp: a later run finds nothing of them.
func TestDownloadsOfStrangersAreNotTakenUp(t *testing.T) {
	dir := t.TempDir()
	s, err := openStore(dir, 1<<30, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	file, _, _ := s.unneededOf(t, 4*minPartial)
	if _, err := file.Write(bytes.Repeat([]byte(strings.Repeat("x", 1024)), 2*minPartial/1024)); err != nil {
		t.Fatal(err)
	}
	if s, err = openStore(dir, 1<<30, 1<<30); err != nil {
		t.Fatal(err)
	}
	if files, err := os.ReadDir(s.partialDir()); err != nil || len(files) > 0 || len(s.partials) > 0 {
		t.Errorf("%d files, %d partial blobs, %v", len(files), len(s.partials), err)
	}
}
