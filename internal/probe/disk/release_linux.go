package disk

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"unsafe"
)

const (
	ioctlDMRemove = 0xc138fd04 // DM_DEV_REMOVE
	dmHeaderBytes = 312        // struct dm_ioctl
	dmNameOffset  = 48
	dmNameBytes   = 128
	maxLayers     = 16
)

// releasing is held while devices are taken apart: disks of one array are opened at the
// same time.
var releasing sync.Mutex

// Release takes apart the MD arrays, bcache devices and device mapper volumes that stand on a
// disk, uppermost first. The kernel refuses those that are in use. Nothing is written to any disk but what
// stopping an array writes.
func Release(name string) error {
	releasing.Lock()
	defer releasing.Unlock()
	return releaser{blocks: "/sys/block", mapper: "/dev/mapper/control"}.release(name, maxLayers)
}

// releaser has the places where the kernel is asked.
type releaser struct{ blocks, mapper string }

func (r releaser) release(name string, layers int) error {
	dir := filepath.Join(r.blocks, name)
	if layers == 0 {
		return errors.New("too many layers of devices")
	}
	// Of the disk itself, and of its partitions.
	holders, err := filepath.Glob(filepath.Join(dir, "holders", "*"))
	if err != nil {
		return err
	}
	ofPartitions, err := filepath.Glob(filepath.Join(dir, "*", "holders", "*"))
	if err != nil {
		return err
	}
	for _, h := range append(holders, ofPartitions...) {
		holder := filepath.Base(h)
		if _, err := os.Stat(filepath.Join(r.blocks, holder)); errors.Is(err, os.ErrNotExist) {
			continue // gone with another disk that it stood on
		}
		if err := r.release(holder, layers-1); err != nil {
			return err
		}
		if err := r.stop(holder); err != nil {
			return fmt.Errorf("%s: %w", holder, err)
		}
	}
	return nil
}

func (r releaser) stop(name string) error {
	dir := filepath.Join(r.blocks, name)
	switch {
	case strings.HasPrefix(name, "md"):
		return os.WriteFile(filepath.Join(dir, "md", "array_state"), []byte("clear"), 0)
	case strings.HasPrefix(name, "bcache"):
		return os.WriteFile(filepath.Join(dir, "bcache", "stop"), []byte("1"), 0)
	case strings.HasPrefix(name, "dm-"):
		volume, err := os.ReadFile(filepath.Join(dir, "dm", "name"))
		if err != nil {
			return err
		}
		return r.removeMapped(strings.TrimSpace(string(volume)))
	}
	return errors.New("do not know how to stop it")
}

func (r releaser) removeMapped(volume string) error {
	if len(volume) >= dmNameBytes {
		return fmt.Errorf("name %q is too long", volume)
	}
	control, err := os.OpenFile(r.mapper, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer func() { _ = control.Close() }()
	// Version 4.0.0, then sizes: of all, and where data would begin.
	header := make([]uint32, dmHeaderBytes/4)
	header[0], header[3], header[4] = 4, dmHeaderBytes, dmHeaderBytes
	name := unsafe.Slice((*byte)(unsafe.Pointer(&header[0])), dmHeaderBytes)[dmNameOffset:]
	copy(name, volume)
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, control.Fd(), ioctlDMRemove, uintptr(unsafe.Pointer(&header[0])))
	if errno != 0 {
		return os.NewSyscallError("ioctl", errno)
	}
	return nil
}
