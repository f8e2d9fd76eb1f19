// Package probe is what metalprobe does on the machine itself: look at the
// hardware, and tell the boot server what is there.
//
// [Run] collects a report from a [Hardware] and posts it until it is accepted;
// [BootState] tells that an installed system has come up. Both retry with
// growing, jittered pauses: a whole rack starts probing in the same minute, and
// the boot server may answer 503 while what stands behind it is away.
//
// The answer to a report may be the order to clean. Then Run has package disk wipe the
// machine's disks and posts a second report that says what became of each of them.
//
// [Linux] is the Hardware of a real machine, and the source of its disks. It reads
// /sys and /proc through an [io/fs.FS], so tests give it a tree of their own:
//
//	linux.go          what is reported, and firmware, board and memory where there is no table
//	linux_cpu.go      processors
//	linux_disk.go     disks as they are reported
//	linux_clean.go    disks as they are wiped
//	linux_inuse.go    which disks the running system stands on
//	linux_net.go      links and network controllers; ethtool*.go what their drivers tell
//	linux_pci.go      PCI devices, with names where the image has a list of them
//	smbios.go         memory modules, from the SMBIOS table (DSP0134)
//	tpm.go            the TPM: PCRs and event log as the kernel shows them; tpm_linux.go asks it for its endorsement key
//	lldp*.go          the neighbours of each link that is up, from a packet socket
package probe
