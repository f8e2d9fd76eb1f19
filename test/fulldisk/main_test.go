package fulldisk

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/farrier-dev/farrier/test/product"
)

func TestMain(m *testing.M) { product.Main(m) }

// apart says to a process that it has a mount namespace of its own.
const apart = "FARRIER_TEST_MOUNTS"

// withDisk runs a test again, in a process that may mount, and there returns a directory that is a disk of that size. The first process gets an empty
// string, when the other has come to an end.
func withDisk(t *testing.T, size string) string {
	t.Helper()
	if os.Getenv(apart) == "" {
		again(t)
		return ""
	}
	// Mounts of this namespace stay in it.
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "disk")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("farrier", dir, "tmpfs", 0, "size="+size+",mode=700"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// again runs the test in another process.
func again(t *testing.T) {
	t.Helper()
	args := []string{"-test.run", "^" + t.Name() + "$", "-test.v"}
	if testing.Short() {
		args = append(args, "-test.short")
	}
	command := exec.Command(os.Args[0], args...)
	command.Env = append(os.Environ(), apart+"=1")
	command.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	if os.Geteuid() != 0 {
		command.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		command.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}}
		command.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}
	}
	output, err := command.CombinedOutput()
	if command.ProcessState == nil { // it never ran
		t.Skipf("no mount namespace can be had here: %v", err)
	}
	if err != nil {
		t.Errorf("%v\n%s", err, output)
	} else if testing.Verbose() {
		t.Logf("%s", output)
	}
}
