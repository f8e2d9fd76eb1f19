// Package probe is what metalprobe does on the machine itself: look at the
// hardware, and tell the boot server what is there.
//
// [Run] collects a report from a [Hardware] and posts it until it is accepted;
// [BootState] tells that an installed system has come up. Both retry with
// growing, jittered pauses: a whole rack starts probing in the same minute, and
// the boot server may answer 503 while what stands behind it is away.
//
// [Linux] is the Hardware of a real machine. It reads /sys and /proc through an
// [io/fs.FS], so tests give it a tree of their own. It reports firmware, board,
// processors, disks, links, network controllers and the total of memory. LLDP
// neighbours, PCI devices and single memory modules are not reported yet:
// the first needs a raw socket on every link, the other two the PCI ID and
// SMBIOS tables.
package probe
