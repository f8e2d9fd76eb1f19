package bootstream

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/go-logr/logr"

	"github.com/farrier-dev/farrier/internal/bootstream/sealed"
	"github.com/farrier-dev/farrier/internal/bootstream/viewfile"
	"github.com/farrier-dev/farrier/test/await"
)

// TestAFullDiskAtTheBootServer: machines are told what is new all the same. A boot server that starts while the disk is full has what was kept
// before, and once there is room everything is kept.
func TestAFullDiskAtTheBootServer(t *testing.T) {
	t.Parallel()
	p, d := newPKI(t), newDisk(t)
	m := p.startManager(1, "boot-1")
	for machine := range fleetSize {
		m.view.Put(entryOf(t, machine, 1))
	}
	d.with(p, "boot-1", m, "the view, kept", func(b *bootServer) bool { return !b.follower.State().Heard.IsZero() })

	b, end := d.start(p, "boot-1", m.address)
	await.True(t, "the manager", func() bool { return b.follower.State().Synced })
	d.full.Store(true)
	m.view.Put(entryOf(t, 1, 2))
	m.view.Delete(entryOf(t, 2, 1).Name)
	await.True(t, "what is new, from memory", func() bool { return b.generation(1) == 2 && b.generation(2) == 0 })
	await.True(t, "the problem", func() bool { return errors.Is(b.follower.State().KeepError, syscall.ENOSPC) })
	end()
	b, end = d.start(p, "boot-1", "127.0.0.1:1") // where nobody is
	if b.generation(1) != 1 || b.generation(2) != 1 {
		t.Errorf("without a manager machines are told generations %d and %d, want what was kept", b.generation(1), b.generation(2))
	}
	end()

	b, end = d.start(p, "boot-1", m.address)
	await.True(t, "what is new, again", func() bool { return b.generation(1) == 2 && b.generation(2) == 0 })
	await.True(t, "the problem, again", func() bool { return errors.Is(b.follower.State().KeepError, syscall.ENOSPC) })
	d.full.Store(false)
	await.True(t, "room", func() bool { return b.follower.State().KeepError == nil })
	end()
	m.stop()
	d.with(p, "boot-1", m, "everything, kept", func(b *bootServer) bool { return b.likeTheManager(m) == "" })
}

// TestADamagedViewIsNotServed: wherever the view on disk has changed, nothing of it is used. Package sealed tries every bit of a smaller file.
func TestADamagedViewIsNotServed(t *testing.T) {
	t.Parallel()
	p, d := newPKI(t), newDisk(t)
	m := p.startManager(1, "boot-1")
	m.view.Put(tenants(t, 1, ""))
	d.with(p, "boot-1", m, "the view, kept", func(b *bootServer) bool { return !b.follower.State().Heard.IsZero() })
	path := filepath.Join(d.path, "view")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := sealed.OpenDir(d.path)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	for at := 0; at < len(whole); at += max(1, len(whole)/200) {
		damaged := append([]byte(nil), whole...)
		damaged[at] ^= 1 << (at % 8)
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		file, kept, err := viewfile.Open(dir, d.key, logr.Discard())
		if err == nil {
			_ = file.Close()
			t.Errorf("byte %d of %d has changed, and there are %d records", at, len(whole), len(kept.Records))
		}
	}
}
