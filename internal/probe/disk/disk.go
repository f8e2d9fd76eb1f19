package disk

import (
	"context"
	"io"
	"time"

	"github.com/farrier-dev/farrier/internal/inspection"
)

// Disk is one disk as it is known before it is opened.
type Disk struct {
	inspection.BlockDevice

	// InUse names what of the running system stands on the disk; empty: nothing.
	InUse string
	// Group is what the disk shares with others: an NVMe subsystem, or the name of the
	// medium where it is reached over several paths. Disks of one group are wiped one
	// after another. Empty: it shares nothing.
	Group string
	// Namespace is the NVMe namespace ID on a controller of this machine; 0: not
	// NVMe, or reached over a fabric, where a controller is not ours to erase.
	Namespace uint32
	// ATA says that the disk understands ATA commands.
	ATA bool
	// WriteZeroes says that the disk can be told to write zeros.
	WriteZeroes bool
	// Partitions are those that the kernel sees, whatever their table is like.
	Partitions []Extent
}

// Extent is a part of a disk, in bytes.
type Extent struct{ Offset, Length int64 }

func (e Extent) end() int64 { return e.Offset + e.Length }

// Source has the disks of one machine.
type Source interface {
	// Disks lists all of them, exempt ones included.
	Disks(ctx context.Context) ([]Disk, error)
	// OpenForErase opens a disk to be wiped and for nobody else: it fails where the
	// running system uses any part of it.
	OpenForErase(ctx context.Context, d Disk) (Device, error)
	// Inspect opens a disk to be asked and read, never written.
	Inspect(ctx context.Context, d Disk) (Device, error)
}

// Device is a disk that is open. Reads and writes are of whole logical blocks.
//
// Devices that can do more implement [NVMeController], [SCSITarget] or [Zeroer].
type Device interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Size() int64
	// Sync returns when what was written is on the medium.
	Sync() error
	// RereadPartitions makes the kernel forget the partitions that were.
	RereadPartitions() error
}

// NVMeController takes admin commands for the controller that a disk is on.
type NVMeController interface {
	// Admin runs one command. A completion with a status other than success is an
	// *NVMeStatusError.
	Admin(ctx context.Context, c NVMeCommand) error
}

// SCSITarget takes SCSI commands.
type SCSITarget interface {
	// Command runs one command. CHECK CONDITION is a *SenseError.
	Command(ctx context.Context, c SCSICommand) error
}

// Zeroer makes ranges read as zeros faster than writing does. Both fail where the
// device does not guarantee it.
type Zeroer interface {
	// Punch deallocates a range of which the device promises that it reads as zeros.
	Punch(offset, length int64) error
	// ZeroOut lets the device write zeros itself.
	ZeroOut(offset, length int64) error
}

// Method is how a disk is wiped, as records name it.
type Method string

// The methods, best first.
const (
	MethodSanitizeBlock      Method = "nvme-sanitize-block-erase"
	MethodSanitizeCrypto     Method = "nvme-sanitize-crypto-erase"
	MethodFormatCrypto       Method = "nvme-format-crypto-erase"
	MethodFormatUserData     Method = "nvme-format-user-data-erase"
	MethodATAEnhancedErase   Method = "ata-secure-erase-enhanced"
	MethodATAErase           Method = "ata-secure-erase"
	MethodDiscard            Method = "discard"
	MethodWriteZeroes        Method = "write-zeroes"
	MethodOverwrite          Method = "overwrite"
	MethodMetadata           Method = "metadata"
	MethodNone               Method = "none" // exempt, or never got that far
	defaultParallel                 = 8
	defaultPoll                     = 2 * time.Second
	slowestWrite             int64  = 50 << 20 // bytes a second that even an old disk manages
	leastTime                       = 30 * time.Minute
	longestHardwareEraseWait        = 12 * time.Hour
)

// zeroes says that a disk wiped this way reads as zeros everywhere.
func (m Method) zeroes() bool {
	return m == MethodDiscard || m == MethodWriteZeroes || m == MethodOverwrite
}
