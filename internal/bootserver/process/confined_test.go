package process

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/farrier-dev/farrier/test/await"
	"github.com/farrier-dev/farrier/test/loopback"
	"github.com/farrier-dev/farrier/test/product"
)

// confined is the command that runs another one as nobody, without any capability, with a file system of which only a directory can be
// written. Its arguments are that directory and the command.
const confined = `set -e
mount --make-rprivate /
mount --bind "$1" "$1"
mount -o remount,ro,bind /
for at in /tmp /dev/shm /run /var/tmp; do mountpoint -q "$at" && mount -o remount,ro,bind "$at" || true; done
shift
exec setpriv --reuid 65534 --regid 65534 --clear-groups --bounding-set=-all --inh-caps=-all --no-new-privs "$@"`

// TestItNeedsNoRights: as nobody, without a capability, and with a file system that can be read only but for the data directory, it boots machines,
// keeps its view, and goes on with it.
func TestItNeedsNoRights(t *testing.T) {
	for _, tool := range []string{"unshare", "setpriv", "mountpoint"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	if err := exec.CommandContext(t.Context(), "unshare", "-m", "sh", "-c", "mount --make-rprivate / && mount -o remount,ro,bind /").Run(); err != nil {
		t.Skipf("no mounts of its own: %v", err)
	}
	p := newPKI(t)
	m := p.startManager(loopback.Free(p.t), 7, time.Hour)
	m.view.Put(tenants(t, 7))
	dir := t.TempDir()
	flags := p.flags(dir+"/data", m.address)
	if err := os.Mkdir(dir+"/data", 0o700); err != nil {
		t.Fatal(err)
	}
	program := copied(t)
	hand(t, 65534, dir, p.dir.Folder("boot-1"), filepath.Dir(program))
	command := []string{"unshare", "-m", "sh", "-c", confined, "sh", dir + "/data", program}
	c := startChild(t, command, flags...)
	await.True(t, "the boot of the machine", c.boots)
	if status, err := os.ReadFile("/proc/" + c.pid() + "/status"); err != nil || !strings.Contains(string(status), "Uid:\t65534\t65534") || !strings.Contains(string(status), "CapEff:\t0000000000000000") {
		t.Errorf("it runs as %s, %v", status, err)
	}
	await.True(t, "the view on disk", func() bool { return grows(t, dir+"/data/stream/view") })
	c.kill()
	m.stop()
	c = startChild(t, command, flags...)
	if !c.boots() {
		t.Errorf("it does not go on with its view: %s", c.log)
	}
	c.kill()
}

// pid is that of the program itself: all before it has replaced itself by it.
func (c *child) pid() string { return strconv.Itoa(c.cmd.Process.Pid) }

// copied is the program where everybody can read it.
func copied(t *testing.T) string {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "farrier-bootserver")
	if err := product.WriteProgram(path, content); err != nil {
		t.Fatal(err)
	}
	return path
}

// hand gives everything below directories to a user, and lets that user reach them.
func hand(t *testing.T, user int, dirs ...string) {
	t.Helper()
	for _, dir := range dirs {
		for at := dir; strings.HasPrefix(at, os.TempDir()+"/"); at = filepath.Dir(at) {
			if info, err := os.Stat(at); err == nil && info.Mode().Perm()&0o011 != 0o011 {
				if err := os.Chmod(at, info.Mode().Perm()|0o011); err != nil {
					t.Fatal(err)
				}
			}
		}
		err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			return os.Lchown(path, user, user)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestOnlyTheDataDirectoryIsWritten, without a home and whatever it is started in.
func TestOnlyTheDataDirectoryIsWritten(t *testing.T) {
	p := newPKI(t)
	m := p.startManager(loopback.Free(p.t), 7, time.Hour)
	m.view.Put(tenants(t, 7))
	outside := t.TempDir()
	t.Setenv("HOME", "")
	t.Setenv("TMPDIR", outside)
	t.Setenv("XDG_DATA_HOME", outside)
	t.Setenv("XDG_CACHE_HOME", outside)
	t.Chdir(outside)
	dir := filepath.Join(filepath.Dir(outside), "data")
	c := startChild(t, nil, p.flags(dir, m.address)...)
	await.True(t, "the boot of the machine", c.boots)
	await.True(t, "the view on disk", func() bool { return grows(t, dir+"/stream/view") })
	c.kill()
	if files, err := os.ReadDir(outside); err != nil || len(files) > 0 {
		t.Errorf("it has written %v, %v", files, err)
	}
}

// TestADirectoryThatCannotBeWritten is said, with its flag.
func TestADirectoryThatCannotBeWritten(t *testing.T) {
	p, dir, program := newPKI(t), t.TempDir()+"/data", copied(t)
	flags := p.flags(dir, "127.0.0.1:1")
	if err := os.Mkdir(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	command := []string{program}
	if os.Geteuid() == 0 { // who can write everywhere
		if _, err := exec.LookPath("setpriv"); err != nil {
			t.Skip(err)
		}
		hand(t, 65534, filepath.Dir(dir), p.dir.Folder("boot-1"), filepath.Dir(program))
		command = []string{"setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", program}
	}
	cmd := exec.CommandContext(t.Context(), command[0], append(command[1:], flags...)...)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "farrier-bootserver: --data-dir: ") || !strings.Contains(string(out), dir) {
		t.Errorf("%v: %s", err, out)
	}
}
