package sim

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"sync"
)

// diskBlock is what content is kept in. What was never written takes no memory.
const diskBlock = 4096

// zeroBytes is read by everybody and written by nobody.
var zeroBytes [4 << 20]byte

// Disk is one disk of a machine, with what is on it. It outlives power-offs.
type Disk struct {
	drive

	mu     sync.Mutex
	blocks map[int64]*[diskBlock]byte // by number; none of them is all zeros
	erases int
}

// Disks are the disks of the first machine behind BMC i, in the order of their slots.
func (r *Rack) Disks(i int) []*Disk { return r.Machine(i).Disks() }

// Disks are the machine's disks, in the order of their slots.
func (m *Machine) Disks() []*Disk {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.disks == nil {
		for _, d := range m.diskList() {
			m.disks = append(m.disks, &Disk{drive: d, blocks: map[int64]*[diskBlock]byte{}})
		}
	}
	return slices.Clone(m.disks)
}

// kernelName is what an operating system calls the disk.
func (d drive) kernelName() string {
	if d.protocol == protocolNVMe {
		return fmt.Sprintf("nvme%dn1", d.slot)
	}
	return fmt.Sprintf("sd%c", 'a'+d.slot)
}

// Path is the disk's name on the machine.
func (d *Disk) Path() string { return "/dev/" + d.kernelName() }

// Serial is the disk's serial number.
func (d *Disk) Serial() string { return d.serial }

// Size is the disk's capacity in bytes.
func (d *Disk) Size() int64 { return d.bytes }

// Erases counts the commands by which the disk erased itself.
func (d *Disk) Erases() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.erases
}

// Empty says that the disk reads as zeros everywhere.
func (d *Disk) Empty() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.blocks) == 0
}

// ReadAt implements io.ReaderAt.
func (d *Disk) ReadAt(p []byte, at int64) (int, error) {
	if at < 0 || at >= d.bytes {
		return 0, io.EOF
	}
	n := int(min(int64(len(p)), d.bytes-at))
	clear(p[:n])
	d.mu.Lock()
	defer d.mu.Unlock()
	d.eachLocked(at, int64(n), func(begin int64, block *[diskBlock]byte) {
		from, to := max(at, begin), min(at+int64(n), begin+diskBlock)
		copy(p[from-at:to-at], block[from-begin:to-begin])
	})
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// eachLocked visits the blocks of a range that hold something, by whichever is less: the
// blocks there are or those of the range.
func (d *Disk) eachLocked(at, length int64, visit func(begin int64, block *[diskBlock]byte)) {
	first, last := at/diskBlock, (at+length-1)/diskBlock
	if last-first > int64(len(d.blocks)) {
		for i, block := range d.blocks {
			if i >= first && i <= last {
				visit(i*diskBlock, block)
			}
		}
		return
	}
	for i := first; i <= last; i++ {
		if block := d.blocks[i]; block != nil {
			visit(i*diskBlock, block)
		}
	}
}

// WriteAt implements io.WriterAt.
func (d *Disk) WriteAt(p []byte, at int64) (int, error) {
	if at < 0 || at > d.bytes-int64(len(p)) {
		return 0, fmt.Errorf("write of %d bytes at %d: beyond the end at %d", len(p), at, d.bytes)
	}
	for done := 0; done < len(p); {
		k := min(len(p)-done, len(zeroBytes))
		if part := p[done : done+k]; bytes.Equal(part, zeroBytes[:k]) {
			d.zero(at+int64(done), int64(k))
		} else {
			d.write(part, at+int64(done))
		}
		done += k
	}
	return len(p), nil
}

func (d *Disk) write(p []byte, at int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for len(p) > 0 {
		i, within := at/diskBlock, at%diskBlock
		block := d.blocks[i]
		if block == nil {
			block = new([diskBlock]byte)
			d.blocks[i] = block
		}
		k := copy(block[within:], p)
		if *block == [diskBlock]byte{} {
			delete(d.blocks, i)
		}
		p, at = p[k:], at+int64(k)
	}
}

// zero makes a range read as zeros.
func (d *Disk) zero(at, length int64) {
	if length <= 0 {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.eachLocked(at, length, func(begin int64, block *[diskBlock]byte) {
		from, to := max(at, begin), min(at+length, begin+diskBlock)
		clear(block[from-begin : to-begin])
		if *block == [diskBlock]byte{} {
			delete(d.blocks, begin/diskBlock)
		}
	})
}

// eraseAll is what the disk does when it is told to erase itself.
func (d *Disk) eraseAll() {
	d.mu.Lock()
	defer d.mu.Unlock()
	clear(d.blocks)
	d.erases++
}

// Contains reports whether a text stands anywhere on the disk.
func (d *Disk) Contains(text []byte) bool {
	d.mu.Lock()
	numbers := make([]int64, 0, len(d.blocks))
	for i := range d.blocks {
		numbers = append(numbers, i)
	}
	d.mu.Unlock()
	// A text that begins in a block may end in the next ones.
	buf := make([]byte, diskBlock+len(text))
	for _, i := range numbers {
		n, _ := d.ReadAt(buf, i*diskBlock)
		if bytes.Contains(buf[:n], text) {
			return true
		}
	}
	return false
}

// TenantMarker is how what a tenant leaves on a disk begins.
const TenantMarker = "farrier-sim tenant data"

// Trace is something that can be recognised on a disk.
type Trace string

// The traces that an installed system leaves.
const (
	TracePartitions Trace = "partition table"
	TraceBackup     Trace = "backup partition table"
	TraceFileSystem Trace = "file system"
	TraceData       Trace = "tenant data"
)

// Where an installed system puts what.
const (
	simSector       = 512
	partitionOffset = 1 << 20
	extSuperblock   = 1024
	extMagicOffset  = extSuperblock + 56
)

// dataOffset is in the middle of the disk: only a full wipe gets there.
func (d *Disk) dataOffset() int64 { return d.bytes / 2 / diskBlock * diskBlock }

// Traces lists what is recognised on the disk, in the order above.
func (d *Disk) Traces() []Trace {
	var out []Trace
	has := func(at int64, want string) bool {
		buf := make([]byte, len(want))
		n, _ := d.ReadAt(buf, at)
		return string(buf[:n]) == want
	}
	if has(simSector, "EFI PART") || has(510, "\x55\xaa") {
		out = append(out, TracePartitions)
	}
	if has(d.bytes-simSector, "EFI PART") {
		out = append(out, TraceBackup)
	}
	if has(partitionOffset+extMagicOffset, "\x53\xef") || has(extMagicOffset, "\x53\xef") {
		out = append(out, TraceFileSystem)
	}
	if d.Contains([]byte(TenantMarker)) {
		out = append(out, TraceData)
	}
	return out
}

// install leaves on the disk what an operating system does: on the boot disk a GPT with one
// partition, on others a file system without one; and data of the tenant.
func (d *Disk) install(boot bool, note string) {
	at := int64(0)
	if boot {
		d.partition()
		at = partitionOffset
	}
	superblock := make([]byte, diskBlock)
	binary.LittleEndian.PutUint16(superblock[extMagicOffset:], 0xef53)
	copy(superblock[extSuperblock+120:], "tenant") // volume label
	copy(superblock[diskBlock/2:], note)
	_, _ = d.WriteAt(superblock, at)
	_, _ = d.WriteAt([]byte(TenantMarker+" "+note), d.dataOffset())
}

// partition writes a protective MBR and both GPTs (UEFI 2.10 §5.2.3, §5.3).
func (d *Disk) partition() {
	last := d.bytes/simSector - 1
	mbr := make([]byte, simSector)
	mbr[446+4] = 0xee
	binary.LittleEndian.PutUint32(mbr[446+8:], 1)
	binary.LittleEndian.PutUint32(mbr[446+12:], 0xffffffff)
	mbr[510], mbr[511] = 0x55, 0xaa
	entry := make([]byte, 128)
	copy(entry, "\xaf\x3d\xc6\x0f\x83\x84\x72\x47\x8e\x79\x3d\x69\xd8\x47\x7d\xe4") // Linux file system
	copy(entry[16:], d.serial)
	binary.LittleEndian.PutUint64(entry[32:], partitionOffset/simSector)
	binary.LittleEndian.PutUint64(entry[40:], uint64(last-2048))
	_, _ = d.WriteAt(mbr, 0)
	for _, table := range []struct{ own, other, entries int64 }{{1, last, 2}, {last, 1, last - 32}} {
		header := make([]byte, simSector)
		copy(header, "EFI PART\x00\x00\x01\x00\x5c\x00\x00\x00")
		binary.LittleEndian.PutUint64(header[24:], uint64(table.own))
		binary.LittleEndian.PutUint64(header[32:], uint64(table.other))
		binary.LittleEndian.PutUint64(header[72:], uint64(table.entries))
		binary.LittleEndian.PutUint32(header[80:], 128)
		binary.LittleEndian.PutUint32(header[84:], 128)
		_, _ = d.WriteAt(header, table.own*simSector)
		_, _ = d.WriteAt(entry, table.entries*simSector)
	}
}
