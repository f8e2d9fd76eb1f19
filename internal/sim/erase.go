package sim

import (
	"context"
	"encoding/binary"
	"fmt"
	"syscall"
	"time"

	"github.com/farrier-dev/farrier/internal/probe/disk"
	"github.com/farrier-dev/farrier/internal/sim/fault"
)

// The ways in which disks are attached.
const (
	protocolNVMe = "NVMe"
	protocolSATA = "SATA"
)

// agentDisks is the machine's disks as an agent that runs on it can get at them, for
// as long as the machine is on.
type agentDisks struct {
	*Machine
	on context.Context
}

// Disks implements disk.Source.
func (a agentDisks) Disks(context.Context) ([]disk.Disk, error) {
	report, err := agentHardware{a.Machine}.Collect(a.on)
	if err != nil {
		return nil, err
	}
	var out []disk.Disk
	for i, d := range a.Machine.Disks() {
		known := disk.Disk{BlockDevice: report.Storage[i], WriteZeroes: d.protocol != protocolNVMe}
		switch d.protocol {
		case protocolNVMe:
			known.Namespace, known.Group = 1, fmt.Sprintf("nvme-subsys%d", d.slot)
		case protocolSATA:
			known.ATA = true
		}
		out = append(out, known)
	}
	return out, nil
}

// OpenForErase implements disk.Source.
func (a agentDisks) OpenForErase(_ context.Context, d disk.Disk) (disk.Device, error) {
	for _, own := range a.Machine.Disks() {
		if own.Path() != d.Path {
			continue
		}
		open := &openDisk{Disk: own, machine: a.Machine, on: a.on}
		switch own.protocol {
		case protocolNVMe:
			return &nvmeDisk{openDisk: open}, nil
		case protocolSATA:
			return &sataDisk{zeroingDisk: zeroingDisk{open}}, nil
		}
		return zeroingDisk{open}, nil
	}
	return nil, syscall.ENOENT
}

// Inspect implements disk.Source.
func (a agentDisks) Inspect(ctx context.Context, d disk.Disk) (disk.Device, error) {
	return a.OpenForErase(ctx, d)
}

// openDisk is a disk on a machine that is on. Every access fails once it is off, and
// every change while fault DiskFails strikes.
type openDisk struct {
	*Disk
	machine *Machine
	on      context.Context
}

func (o *openDisk) powered() error {
	if o.on.Err() != nil {
		return syscall.ENXIO
	}
	return nil
}

func (o *openDisk) writable() error {
	if err := o.powered(); err != nil {
		return err
	}
	if s, ok := o.machine.bmc.struck(fault.DiskFails, ""); ok && (s.Value.Count == 0 || s.Value.Count == o.slot+1) {
		return syscall.EIO
	}
	return nil
}

func (o *openDisk) ReadAt(p []byte, at int64) (int, error) {
	if err := o.powered(); err != nil {
		return 0, err
	}
	return o.Disk.ReadAt(p, at)
}

func (o *openDisk) WriteAt(p []byte, at int64) (int, error) {
	if err := o.writable(); err != nil {
		return 0, err
	}
	return o.Disk.WriteAt(p, at)
}

func (o *openDisk) Sync() error             { return o.powered() }
func (o *openDisk) RereadPartitions() error { return o.powered() }
func (o *openDisk) Close() error            { return nil }

// erase is an erase by the disk itself, which takes its time.
func (o *openDisk) erase() error {
	if err := o.writable(); err != nil {
		return err
	}
	if !o.machine.rack.wait(o.on, o.machine.rack.opts.Timing.Erase) {
		return syscall.ENXIO
	}
	o.eraseAll()
	return nil
}

// zeroingDisk zeros ranges by itself, as SAS and SATA disks do with WRITE SAME.
type zeroingDisk struct{ *openDisk }

func (z zeroingDisk) ZeroOut(at, length int64) error {
	if err := z.writable(); err != nil {
		return err
	}
	z.zero(at, length)
	return nil
}

// Punch would promise that deallocated blocks read as zeros. These disks do not.
func (z zeroingDisk) Punch(int64, int64) error { return syscall.EOPNOTSUPP }

// nvmeDisk is a controller with one namespace that can be sanitized.
type nvmeDisk struct {
	*openDisk
	started time.Time
	state   uint16 // SSTAT
}

// Admin implements disk.NVMeController with the commands that erasing takes.
func (n *nvmeDisk) Admin(_ context.Context, c disk.NVMeCommand) error {
	if err := n.powered(); err != nil {
		return err
	}
	const identify, getLogPage, sanitize = 0x06, 0x02, 0x84
	switch {
	case c.Opcode == identify && c.CDW10 == 1:
		binary.LittleEndian.PutUint32(c.Data[328:], 3) // SANICAP: block and crypto erase
		return nil
	case c.Opcode == identify:
		return nil
	case c.Opcode == getLogPage && c.CDW10&0xff == 0x81:
		binary.LittleEndian.PutUint16(c.Data, n.advance())
		binary.LittleEndian.PutUint16(c.Data[2:], n.state)
		return nil
	case c.Opcode == sanitize && c.CDW10&7 == 1: // exit failure mode
		n.state = 0
		return nil
	case c.Opcode == sanitize:
		n.started, n.state = n.machine.rack.opts.Clock.Now(), 2
		return nil
	}
	return &disk.NVMeStatusError{Opcode: c.Opcode, Status: 0x01} // invalid command opcode
}

// advance brings a sanitize operation to where it is by now, and tells how far that is.
func (n *nvmeDisk) advance() (progress uint16) {
	if n.state != 2 {
		return 0xffff
	}
	takes, since := n.machine.rack.opts.Timing.Erase, n.machine.rack.opts.Clock.Since(n.started)
	if since < takes {
		return uint16(float64(since) / float64(takes) * 0xffff)
	}
	if n.writable() != nil {
		n.state = 3 // failed
		return 0xffff
	}
	n.eraseAll()
	n.state = 1
	return 0xffff
}

// sataDisk has the ATA security feature set.
type sataDisk struct {
	zeroingDisk
	password, prepared bool
}

// Command implements disk.SCSITarget for ATA PASS-THROUGH (16).
func (s *sataDisk) Command(_ context.Context, c disk.SCSICommand) error {
	if err := s.powered(); err != nil {
		return err
	}
	const identify, setPassword, erasePrepare, eraseUnit, disablePassword = 0xec, 0xf1, 0xf3, 0xf4, 0xf6
	aborted := &disk.SenseError{Key: 0xb}
	if len(c.CDB) != 16 || c.CDB[0] != 0x85 {
		return &disk.SenseError{Key: 0x5, ASC: 0x20} // invalid command operation code
	}
	prepared := s.prepared
	s.prepared = false
	switch c.CDB[14] {
	case identify:
		security := uint16(1 | 1<<5) // supported, enhanced erase
		if s.password {
			security |= 1 << 1
		}
		binary.LittleEndian.PutUint16(c.Data[2*128:], security)
	case setPassword:
		s.password = true
	case erasePrepare:
		s.prepared = true
	case eraseUnit:
		if !prepared || !s.password || s.erase() != nil {
			return aborted
		}
		s.password = false
	case disablePassword:
		s.password = false
	default:
		return aborted
	}
	return nil
}
