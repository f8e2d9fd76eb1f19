package disk

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"github.com/farrier-dev/farrier/internal/inspection"
)

func TestStructLayouts(t *testing.T) {
	if unsafe.Sizeof(uintptr(0)) != 8 {
		t.Skip("sizes are those of 64 bits")
	}
	var n nvmePassthrough
	var s sgHeader
	got := map[string]uintptr{
		"nvme": unsafe.Sizeof(n), "nsid": unsafe.Offsetof(n.nsid), "addr": unsafe.Offsetof(n.addr), "data_len": unsafe.Offsetof(n.dataLen),
		"cdw10": unsafe.Offsetof(n.cdw10), "timeout_ms": unsafe.Offsetof(n.timeoutMillis),
		"sg": unsafe.Sizeof(s), "dxferp": unsafe.Offsetof(s.data), "cmdp": unsafe.Offsetof(s.command), "sbp": unsafe.Offsetof(s.sense),
		"timeout": unsafe.Offsetof(s.timeoutMillis), "usr_ptr": unsafe.Offsetof(s.user), "status": unsafe.Offsetof(s.status), "host_status": unsafe.Offsetof(s.hostStatus),
	}
	want := map[string]uintptr{
		"nvme": 72, "nsid": 4, "addr": 24, "data_len": 36, "cdw10": 40, "timeout_ms": 64,
		"sg": 88, "dxferp": 16, "cmdp": 24, "sbp": 32, "timeout": 40, "usr_ptr": 56, "status": 64, "host_status": 68,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("layout (-want +got):\n%s", diff)
	}
}

func TestNVMeRequest(t *testing.T) {
	got := nvmeRequest(NVMeCommand{Opcode: 0x80, NSID: 3, CDW10: 10, CDW11: 11, CDW12: 12, CDW13: 13, CDW14: 14, CDW15: 15, Data: make([]byte, 4096), Timeout: 2 * time.Second})
	want := nvmePassthrough{opcode: 0x80, nsid: 3, cdw10: 10, cdw11: 11, cdw12: 12, cdw13: 13, cdw14: 14, cdw15: 15, dataLen: 4096, timeoutMillis: 2000}
	if got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	for d, want := range map[time.Duration]uint32{0: 1, -1: 1, time.Hour: 3_600_000, 1 << 62: 1<<31 - 1} {
		if got := millis(d); got != want {
			t.Errorf("%s: %d ms, want %d", d, got, want)
		}
	}
}

// loopDevice is a file as a block device of the kernel's. It skips where that is not allowed.
func loopDevice(t *testing.T, size int64) Disk {
	t.Helper()
	const setFD, clearFD, getFree = 0x4c00, 0x4c01, 0x4c82
	control, err := os.OpenFile("/dev/loop-control", os.O_RDWR, 0)
	if err != nil {
		t.Skip(err)
	}
	defer func() { _ = control.Close() }()
	n, _, errno := syscall.Syscall(syscall.SYS_IOCTL, control.Fd(), getFree, 0)
	if errno != 0 {
		t.Skip(errno)
	}
	path := fmt.Sprintf("/dev/loop%d", n)
	loop, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Skip(err)
	}
	backing, err := os.Create(filepath.Join(t.TempDir(), "disk"))
	if err != nil {
		t.Fatal(err)
	}
	if err := backing.Truncate(size); err != nil {
		t.Fatal(err)
	}
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, loop.Fd(), setFD, backing.Fd()); errno != 0 {
		t.Skip(errno)
	}
	t.Cleanup(func() {
		_, _, _ = syscall.Syscall(syscall.SYS_IOCTL, loop.Fd(), clearFD, 0)
		_, _ = loop.Close(), backing.Close()
	})
	return Disk{BlockDevice: inspection.BlockDevice{Path: path, Name: filepath.Base(path), SizeBytes: uint64(size)}, WriteZeroes: true}
}

// TestLoopDevice wipes a real block device in every way that it has.
func TestLoopDevice(t *testing.T) {
	const size = 48 << 20
	d := loopDevice(t, size)
	for _, mode := range []inspection.CleanMode{inspection.CleanMetadata, inspection.CleanFull} {
		dev, err := OpenForErase(d)
		if err != nil {
			t.Fatal(err)
		}
		secret := bytes.Repeat([]byte("secret.."), 512)
		for at := int64(0); at < size; at += 1 << 20 {
			if _, err := dev.WriteAt(secret, at); err != nil {
				t.Fatal(err)
			}
		}
		if err := dev.Close(); err != nil {
			t.Fatal(err)
		}
		src := newSource()
		src.disks = []Disk{d}
		r := clean(t, realDevices{src}, mode)[0]
		if r.Result != inspection.CleanedOK {
			t.Errorf("record %+v", r)
		}
		t.Logf("%+v", r)
		all, err := os.ReadFile(d.Path)
		if err != nil {
			t.Fatal(err)
		}
		if left := bytes.Count(all, secret); mode == inspection.CleanFull && !isZero(all) || mode == inspection.CleanMetadata && left != 16 {
			t.Errorf("%s: %d secrets left", mode, left)
		}
	}
}

// realDevices opens what the kernel has.
type realDevices struct{ *fakeSource }

func (realDevices) OpenForErase(_ context.Context, d Disk) (Device, error) { return OpenForErase(d) }

// TestExclusive: a disk that somebody holds is not opened, and one that is not what was
// listed neither.
func TestExclusive(t *testing.T) {
	d := loopDevice(t, 1<<20)
	first, err := OpenForErase(d)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := OpenForErase(d); err == nil || !strings.Contains(err.Error(), "busy") {
		t.Errorf("opened twice: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	d.SizeBytes *= 2
	if _, err := OpenForErase(d); err == nil || !strings.Contains(err.Error(), "another disk has taken the name") {
		t.Errorf("a disk of another size: %v", err)
	}
}

func TestOpenIsForBlockDevices(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, make([]byte, 4096), 0o600); err != nil {
		t.Fatal(err)
	}
	link := file + ".link"
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{file, link, "/dev/null", file + ".none"} {
		if dev, err := OpenForErase(Disk{BlockDevice: inspection.BlockDevice{Path: path, SizeBytes: 4096}}); err == nil {
			_ = dev.Close()
			t.Errorf("%s: opened", path)
		}
	}
}
