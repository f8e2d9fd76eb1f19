package blobcache

import (
	"errors"
	"testing"

	"github.com/farrier-dev/farrier/internal/host/diskspace"
)

// TestTheCacheLeavesRoomOnItsDisk: it does not grow on a disk that is nearly full, keeps what it has, and grows again when there is room.
func TestTheCacheLeavesRoomOnItsDisk(t *testing.T) {
	s := newStore(t, t.TempDir(), 1000)
	left := uint64(1 << 40)
	s.space = func(string) (diskspace.Space, error) { return diskspace.Space{Bytes: left, Files: 1000}, nil }
	kept := s.keep(t, "kept", testTime)
	for _, step := range []struct {
		left  uint64
		fails bool
	}{{diskReserve + 100, false}, {diskReserve + 99, true}, {0, true}, {1 << 40, false}} {
		left = step.left
		err := s.reserve(100)
		if errors.Is(err, ErrCacheFull) != step.fails {
			t.Errorf("%d bytes left: %v", left, err)
		}
		if err == nil {
			s.unreserve(100)
		}
	}
	left = 0
	if _, r, err := s.createUnneeded(10, func(error) {}); err != nil {
		t.Error(err)
	} else if err := s.grow(r, 10); !errors.Is(err, ErrCacheFull) {
		t.Errorf("an unneeded blob grew: %v", err)
	}
	if !s.has(kept) {
		t.Error("what was there is gone")
	}
	s.space = func(string) (diskspace.Space, error) { return diskspace.Space{}, errors.New("no such disk") }
	if err := s.reserve(100); err != nil {
		t.Errorf("a disk that cannot be asked: %v", err)
	}
}
