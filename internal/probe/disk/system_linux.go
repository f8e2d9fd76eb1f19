package disk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

// ioctl requests of <linux/fs.h>, <linux/nvme_ioctl.h> and <scsi/sg.h>.
const (
	ioctlReread       = 0x125f // BLKRRPART
	ioctlFlushBuffers = 0x1261 // BLKFLSBUF
	ioctlZeroOut      = 0x127f // BLKZEROOUT
	ioctlSize         = 0x80081272
	ioctlSG           = 0x2285
	ioctlNVMeAdmin    = 0xc0484e41

	// Of a block device, fallocate(2) takes a hole only where the device guarantees
	// that deallocated blocks read as zeros, unlike BLKDISCARD.
	fallocateKeepSize  = 0x01
	fallocatePunchHole = 0x02
)

// blockDevice is a disk of this machine. It does not go through the page cache: what is
// read back has been on the medium.
type blockDevice struct {
	file *os.File
	size int64

	mu     sync.Mutex
	buffer []byte // aligned, as O_DIRECT wants memory to be
}

// OpenForErase opens a block device of this machine to be wiped. O_EXCL makes the kernel
// refuse (EBUSY) a disk of which any part is mounted, swap, or part of another device, and
// keeps it from being mounted until it is closed.
func OpenForErase(d Disk) (Device, error) {
	return open(d, syscall.O_RDWR|syscall.O_EXCL|syscall.O_DIRECT)
}

// Inspect opens a block device of this machine to be asked and read.
func Inspect(d Disk) (Device, error) { return open(d, syscall.O_RDONLY|syscall.O_DIRECT) }

func open(d Disk, flags int) (Device, error) {
	f, err := os.OpenFile(d.Path, flags|syscall.O_CLOEXEC|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	b := &blockDevice{file: f}
	if err := b.check(d); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("%s: %w", d.Path, err)
	}
	return b, nil
}

// check makes sure that this is the disk that was listed.
func (b *blockDevice) check(d Disk) error {
	info, err := b.file.Stat()
	if err != nil {
		return err
	}
	if info.Mode()&os.ModeType != os.ModeDevice {
		return errors.New("not a block device")
	}
	var size uint64
	if err := b.ioctl(ioctlSize, unsafe.Pointer(&size)); err != nil {
		return fmt.Errorf("size: %w", err)
	}
	if size != d.SizeBytes {
		return fmt.Errorf("size is %d bytes, not %d: another disk has taken the name", size, d.SizeBytes)
	}
	b.size = int64(size)
	b.buffer, err = syscall.Mmap(-1, 0, writeChunk, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	return err
}

func (b *blockDevice) Size() int64 { return b.size }

func (b *blockDevice) ReadAt(p []byte, at int64) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	done := 0
	for done < len(p) {
		k := min(len(p)-done, len(b.buffer))
		n, err := b.file.ReadAt(b.buffer[:k], at+int64(done))
		done += copy(p[done:], b.buffer[:n])
		if err != nil {
			return done, err
		}
		if n < k {
			return done, io.ErrUnexpectedEOF
		}
	}
	return done, nil
}

func (b *blockDevice) WriteAt(p []byte, at int64) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	done := 0
	for done < len(p) {
		k := copy(b.buffer, p[done:])
		n, err := b.file.WriteAt(b.buffer[:k], at+int64(done))
		done += n
		if err != nil {
			return done, err
		}
	}
	return done, nil
}

func (b *blockDevice) Sync() error { return b.file.Sync() }

func (b *blockDevice) Close() error {
	return errors.Join(syscall.Munmap(b.buffer), b.file.Close())
}

// RereadPartitions first drops what the kernel cached of the disk. A device that can have
// no partitions has none to be forgotten.
func (b *blockDevice) RereadPartitions() error {
	if err := b.ioctl(ioctlFlushBuffers, nil); err != nil {
		return fmt.Errorf("flush buffers: %w", err)
	}
	if err := b.ioctl(ioctlReread, nil); err != nil && !errors.Is(err, syscall.EINVAL) {
		return err
	}
	return nil
}

func (b *blockDevice) Punch(offset, length int64) error {
	return os.NewSyscallError("fallocate", syscall.Fallocate(int(b.file.Fd()), fallocatePunchHole|fallocateKeepSize, offset, length))
}

func (b *blockDevice) ZeroOut(offset, length int64) error {
	area := [2]uint64{uint64(offset), uint64(length)}
	return b.ioctl(ioctlZeroOut, unsafe.Pointer(&area))
}

// ioctl is for those that return nothing but an error.
func (b *blockDevice) ioctl(request uintptr, argument unsafe.Pointer) error {
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, b.file.Fd(), request, uintptr(argument))
	runtime.KeepAlive(b)
	if errno != 0 {
		return os.NewSyscallError("ioctl", errno)
	}
	return nil
}

// nvmePassthrough is struct nvme_passthru_cmd.
type nvmePassthrough struct {
	opcode, flags           uint8
	_                       uint16
	nsid                    uint32
	cdw2, cdw3              uint32
	metadata                uint64
	addr                    uint64
	metadataLength, dataLen uint32
	cdw10, cdw11, cdw12     uint32
	cdw13, cdw14, cdw15     uint32
	timeoutMillis           uint32
	result                  uint32
}

// Admin implements NVMeController. The kernel gives the status of a completion as the
// positive result of the call.
func (b *blockDevice) Admin(ctx context.Context, c NVMeCommand) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	var pin runtime.Pinner
	defer pin.Unpin()
	cmd := nvmeRequest(c)
	if len(c.Data) > 0 {
		pin.Pin(&c.Data[0])
		cmd.addr = uint64(uintptr(unsafe.Pointer(&c.Data[0])))
	}
	status, _, errno := syscall.Syscall(syscall.SYS_IOCTL, b.file.Fd(), ioctlNVMeAdmin, uintptr(unsafe.Pointer(&cmd)))
	runtime.KeepAlive(b)
	switch {
	case errno != 0:
		return os.NewSyscallError("ioctl", errno)
	case status != 0:
		return &NVMeStatusError{Opcode: c.Opcode, Status: uint16(status)}
	}
	return nil
}

func nvmeRequest(c NVMeCommand) nvmePassthrough {
	return nvmePassthrough{
		opcode: c.Opcode, nsid: c.NSID, dataLen: uint32(len(c.Data)), timeoutMillis: millis(c.Timeout),
		cdw10: c.CDW10, cdw11: c.CDW11, cdw12: c.CDW12, cdw13: c.CDW13, cdw14: c.CDW14, cdw15: c.CDW15,
	}
}

// sgHeader is struct sg_io_hdr.
type sgHeader struct {
	interfaceID, direction          int32
	commandLength, maxSenseLength   uint8
	iovecCount                      uint16
	dataLength                      uint32
	data, command, sense            unsafe.Pointer
	timeoutMillis, flags            uint32
	packID                          int32
	user                            unsafe.Pointer
	status, masked, message, sensed uint8
	hostStatus, driverStatus        uint16
	resid                           int32
	duration, info                  uint32
}

const (
	sgNone, sgToDevice, sgFromDevice = -1, -2, -3
	sgInterface                      = 'S'
	scsiCheckCondition               = 0x02
	sgDriverSense                    = 0x08
	senseRecovered                   = 0x1
	senseLength                      = 64
)

// Command implements SCSITarget.
func (b *blockDevice) Command(ctx context.Context, c SCSICommand) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	var pin runtime.Pinner
	defer pin.Unpin()
	sense := new([senseLength]byte)
	pin.Pin(sense)
	pin.Pin(&c.CDB[0])
	h := sgHeader{
		interfaceID: sgInterface, direction: sgNone, commandLength: uint8(len(c.CDB)), maxSenseLength: senseLength,
		command: unsafe.Pointer(&c.CDB[0]), sense: unsafe.Pointer(sense), timeoutMillis: millis(c.Timeout),
	}
	if len(c.Data) > 0 {
		pin.Pin(&c.Data[0])
		h.data, h.dataLength, h.direction = unsafe.Pointer(&c.Data[0]), uint32(len(c.Data)), sgToDevice
		if c.Direction == FromDevice {
			h.direction = sgFromDevice
		}
	}
	if err := b.ioctl(ioctlSG, unsafe.Pointer(&h)); err != nil {
		return err
	}
	switch {
	case h.status == scsiCheckCondition:
		if e := parseSense(sense[:h.sensed]); e.Key != senseRecovered {
			return e
		}
		return nil
	case h.status != 0 || h.hostStatus != 0 || h.driverStatus&^sgDriverSense != 0:
		return fmt.Errorf("SCSI status %#02x, host %#04x, driver %#04x", h.status, h.hostStatus, h.driverStatus)
	}
	return nil
}

// millis is a timeout as the kernel takes it, where 0 would be its own default.
func millis(d time.Duration) uint32 {
	return uint32(min(max(d.Milliseconds(), 1), 1<<31-1))
}
