package probe

import (
	"path"
	"strconv"
	"strings"

	"github.com/farrier-dev/farrier/internal/inspection"
)

// sysfs counts sizes in units of 512 bytes, whatever the disk's own sectors are.
const sysfsSector = 512

// scsiTypeROM is the peripheral device type of optical drives (SPC-4, standard INQUIRY data).
const scsiTypeROM = "5"

// disks are the block devices that stand on hardware: loop, RAM, zram, device mapper
// and MD devices have no device directory. Boot partitions of eMMC, which the kernel lists
// beside the device they are part of, are disks of their own, and read-only.
func disks(t tree) []inspection.BlockDevice {
	var out []inspection.BlockDevice
	for _, name := range t.list("sys/block") {
		dir := path.Join("sys/block", name)
		// Hidden are the single paths to an NVMe namespace that has several.
		if t.exists(dir+"/device") && !t.flag(dir+"/hidden") && t.text(dir+"/device/type") != scsiTypeROM {
			out = append(out, blockDevice(t, dir))
		}
	}
	return out
}

func blockDevice(t tree, dir string) inspection.BlockDevice {
	name := path.Base(dir)
	node, err := strconv.Atoi(first(t.text(dir+"/device/numa_node"), t.text(dir+"/device/device/numa_node")))
	if err != nil {
		node = -1
	}
	return inspection.BlockDevice{
		Path:              "/dev/" + strings.ReplaceAll(name, "!", "/"),
		Name:              name,
		Rotational:        t.flag(dir + "/queue/rotational"),
		Removable:         t.flag(dir + "/removable"),
		ReadOnly:          t.flag(dir + "/ro"),
		Vendor:            t.text(dir + "/device/vendor"),
		Model:             t.text(dir + "/device/model"),
		Serial:            first(t.text(dir+"/device/serial"), t.text(dir+"/serial"), unitSerial(t, dir)),
		WWID:              first(t.text(dir+"/wwid"), t.text(dir+"/device/wwid")),
		PhysicalBlockSize: t.number(dir + "/queue/physical_block_size"),
		LogicalBlockSize:  t.number(dir + "/queue/logical_block_size"),
		HWSectorSize:      t.number(dir + "/queue/hw_sector_size"),
		SizeBytes:         t.number(dir+"/size") * sysfsSector,
		NUMANodeID:        node,
	}
}

// unitSerial reads the SCSI unit serial number page (SPC-4): four bytes
// of header, then the serial in ASCII.
func unitSerial(t tree, dir string) string {
	page := t.read(dir+"/device/vpd_pg80", 256)
	if len(page) < 4 {
		return ""
	}
	return strings.Trim(strings.ToValidUTF8(page[4:], ""), " \x00\n")
}
