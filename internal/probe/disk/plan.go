package disk

import (
	"fmt"
	"time"

	"github.com/farrier-dev/farrier/internal/inspection"
)

// facts is what a disk that is open told about its ways of being erased.
type facts struct {
	nvme  *nvmeFacts // nil: no NVMe controller to talk to
	ata   *ataFacts  // nil: no ATA disk
	zeros bool       // it guarantees zeros for what is deallocated
}

// exempt says why a disk is left alone; empty: it is not.
func exempt(d Disk) string {
	switch {
	case d.InUse != "":
		return "in use by the running system: " + d.InUse
	case d.Removable:
		return "removable"
	case d.ReadOnly:
		return "read-only"
	}
	return ""
}

// sameMedium says that a disk may be what the running system stands on, over a second path. Two disks to which their maker
// gave one name look the same, so it is neither wiped nor left out: somebody has to look.
func sameMedium(disks []Disk, i int) error {
	for j, other := range disks {
		if j != i && other.InUse != "" && other.WWID != "" && other.WWID == disks[i].WWID {
			return fmt.Errorf("it has the WWID of %s, which is in use by the running system (%s): it may be the same medium", other.Path, other.InUse)
		}
	}
	return nil
}

// methods are the ways to wipe a disk, best first. whole says that everything in the
// disk's group is to be wiped, so that commands may be used that reach all of it. The
// notes say which better way a disk has and why it cannot be taken.
func methods(mode inspection.CleanMode, d Disk, f facts, whole bool) (list []Method, notes []string) {
	if mode == inspection.CleanMetadata {
		return []Method{MethodMetadata}, nil
	}
	if f.nvme != nil {
		list, notes = f.nvme.methods(whole)
	}
	if f.ata != nil {
		ata, note := f.ata.methods()
		list = append(list, ata...)
		if note != "" {
			notes = append(notes, note)
		}
	}
	if f.zeros {
		list = append(list, MethodDiscard, MethodWriteZeroes)
	}
	return append(list, MethodOverwrite), notes
}

// checkMode refuses what a later manager may ask for and this agent cannot do.
func checkMode(mode inspection.CleanMode) error {
	switch mode {
	case inspection.CleanMetadata, inspection.CleanFull:
		return nil
	}
	return fmt.Errorf("mode %q is not known to this agent", mode)
}

// allowance is how long wiping a disk may take: long enough to write all of it, slowly.
func allowance(mode inspection.CleanMode, size int64) time.Duration {
	if mode == inspection.CleanMetadata {
		return leastTime
	}
	// Written once and read at samples; a hardware erase that failed late may have used
	// up its own time before.
	return leastTime + longestHardwareEraseWait + time.Duration(size/slowestWrite)*time.Second
}
