package machinerecord

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/farrier-dev/farrier/internal/inspection"
)

// Known is what is known of a machine's disks from before it reports.
type Known struct {
	// Inspected are those of the inspection on record.
	Inspected []inspection.BlockDevice
	// Drives are the serial numbers of drives in the BMC's inventory; those without one are left out.
	Drives []string
	// Removed are serial numbers of disks that a person took out.
	Removed []string
}

// Match compares the disks of a report with what is known. It returns what was matched, for the record, and what is missing: a disk that was
// inspected and is to be wiped still, by its serial number, WWID, or where it has neither its name, and by its size; and a drive of the BMC by its serial number, unless
// the inspection before did not see it either, as behind a RAID controller.
func Match(known Known, reported []inspection.BlockDevice) (matched string, missing []string) {
	disks, drives := 0, 0
	for i := range known.Inspected {
		d := &known.Inspected[i]
		switch {
		case !counts(d) || contains(known.Removed, d.Serial):
		case slices.ContainsFunc(reported, func(r inspection.BlockDevice) bool { return counts(&r) && same(d, &r) }):
			disks++
		default:
			missing = append(missing, fmt.Sprintf("%s (serial number %s, %d bytes) of the last inspection", short(cmp.Or(d.Path, d.Name)), short(cmp.Or(d.Serial, "unknown")), d.SizeBytes))
		}
	}
	unseen := 0
	for _, serial := range known.Drives {
		switch {
		case contains(known.Removed, serial):
		case hasSerial(reported, serial):
			drives++
		case len(known.Inspected) > 0 && !hasSerial(known.Inspected, serial):
			unseen++
		default:
			missing = append(missing, fmt.Sprintf("drive %s of the BMC's inventory", short(serial)))
		}
	}
	matched = fmt.Sprintf("%s of the last inspection, %s of the BMC's inventory", disksOf(disks), drivesOf(drives))
	if unseen > 0 {
		matched += fmt.Sprintf("; %s of the BMC that no system sees", drivesOf(unseen))
	}
	return matched, missing
}

// Missing is what Match found missing, in a sentence.
func Missing(missing []string) string {
	return atMost("The report does not list all disks of the machine. Missing: "+strings.Join(missing, "; "), maxSummary)
}

func drivesOf(n int) string {
	if n == 1 {
		return "1 drive"
	}
	return fmt.Sprintf("%d drives", n)
}

// counts reports whether a disk is one that a cleanup has to wipe.
func counts(d *inspection.BlockDevice) bool { return !d.Removable && !d.ReadOnly && d.SizeBytes > 0 }

// same reports whether two reports speak of one disk. A name may change from boot to boot, so it counts only where nothing else is known.
func same(a, b *inspection.BlockDevice) bool {
	if a.SizeBytes != b.SizeBytes {
		return false
	}
	switch {
	case a.Serial != "":
		return canonicalSerial(a.Serial) == canonicalSerial(b.Serial)
	case a.WWID != "":
		return a.WWID == b.WWID
	}
	return a.Name == b.Name
}

func hasSerial(disks []inspection.BlockDevice, serial string) bool {
	return slices.ContainsFunc(disks, func(d inspection.BlockDevice) bool { return canonicalSerial(d.Serial) == canonicalSerial(serial) })
}

func contains(serials []string, serial string) bool {
	return serial != "" && slices.ContainsFunc(serials, func(s string) bool { return canonicalSerial(s) == canonicalSerial(serial) })
}

// canonicalSerial makes one spelling of those that a BMC and a kernel have for a serial number.
func canonicalSerial(s string) string { return strings.ToLower(strings.TrimSpace(s)) }
