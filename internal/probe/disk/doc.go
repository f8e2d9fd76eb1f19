// Package disk wipes the disks of the machine that this process runs on.
//
// [Clean] needs an [inspection.Mandate], which exists only as the answer to a
// registration, and a [Source], which lists the disks and opens them. [Survey] says
// what Clean would do and touches nothing.
//
// What happens to one disk, in the order of the files:
//
//	disk.go       what a disk is and what can be asked of it
//	plan.go       which disks are left alone, and which methods the others have: pure
//	clean.go      disks in parallel, those that share a controller one after another
//	session.go    one disk: sample, wipe by the best method that works, wipe the metadata, verify
//	sample.go     what shows that content is gone
//	nvme.go       NVMe Sanitize and Format NVM (NVM Express Base Specification 2.0)
//	ata.go        the ATA security feature set (ACS-4) over ATA PASS-THROUGH (16) (SAT-4)
//	zero.go       discard that guarantees zeros, write zeroes, and plain writing
//	metadata.go   where signatures are
//	partition.go  where partitions are, whose signatures count as well
//	system_*.go   the disks of a running Linux: ioctls and O_EXCL
//
// Three things keep it from wiping what it must not. A disk that the running system
// stands on, that is removable or read-only is exempt, and the record says so. A
// disk is opened exclusively, so the kernel refuses one that came into use since. And
// a command that reaches further than one disk, such as Sanitize, which erases all
// namespaces of a subsystem, is used only where all of those are to be wiped.
//
// A method that says it succeeded is not believed: samples that were taken before
// must be gone after it, and every wipe ends by writing zeros over all places where
// signatures are and reading them back. A disk that cannot be wiped by any of its
// methods is failed, never skipped.
package disk
