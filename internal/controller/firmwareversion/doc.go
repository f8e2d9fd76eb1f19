// Package firmwareversion brings the BIOS of a server, or the firmware of a BMC, to the version that a BIOSVersion or a BMCVersion asks for.
//
// One engine serves both kinds; what differs between them is a row (kind.go). One reconcile reads the object, its servers, their
// maintenances, what the fleet has observed and what the last job found into a view (gather.go), decides (decide.go before the work has begun,
// steps.go and follow.go while it is under way; all pure), and acts (act.go): what is remembered is written first, then a job or
// a command goes to the fleet, then status is written (status.go). No worker waits for a BMC.
//
//	the BMC reports another version ──▶ Farrier has the image, where it is to fetch it (fetch.go)
//	    ──▶ ServerMaintenances are requested, and granted
//	    ──▶ BIOS: the machine is switched off
//	    ──▶ the update is started, unless the BMC has its task already (job.go, task.go)
//	    ──▶ its task is followed, and the version read, until the version is there
//	        BIOS: where it needs a start, the machine is started into the setup of its firmware, which boots no disk
//	        BMC: it restarts, and may be silent for minutes
//	    ──▶ BIOS: off again; the maintenances are removed, and servers go back to where they were
//
// What a FirmwareImage requires is installed first (hop.go): each hop is an attempt of its own in the same maintenance, and the next one follows from the
// version that the BMC reports then. On request the firmware goes back as the FirmwareImage said before the start (rollback.go), by an image as any
// other, or by what the BMC has kept itself (bank.go).
//
// How far that has come is an annotation of the object (progress.go), for status is a report. It is written before the request that starts
// an update, so that a process that starts anew knows that there may be an update, and asks the BMC. The BMC decides what is under way: a
// task is known by its image, or else by when it began. The exclusive lock keeps others off the BMC, so that it never has two updates at
// once, and an update that somebody else has started is waited for.
package firmwareversion
