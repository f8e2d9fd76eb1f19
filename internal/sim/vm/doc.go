// Package vm makes the machines of a simulated rack virtual machines of QEMU, which boot real firmware and real systems.
//
//	host                       │ network namespace
//	DHCP, TFTP, boot server    │
//	   farrier-vm ─────────── veth ── bridge ── tap0 ── QEMU 1
//	                           │        └────── tap1 ── QEMU 2
//
// [Open] makes the namespace; [Rack.New] a machine in it, for [sim.Options]. A process of QEMU is a machine that is on, and each start of the firmware is a
// process of its own: what the BMC says of the next boot goes onto its command line (command.go), which a plan of what to boot decides (boot.go). A guest that
// restarts itself ends its process, and gets the next one.
//
// Nothing outlives this process, however it ends: the kernel kills QEMU with it (process_linux.go), and a namespace without a name goes when nobody is
// in it any more, with all that was in it. Files stay: disks, the variables of the firmware, the state of a TPM, the serial console.
//
// QEMU emulates in software: that is fast enough for firmware, and works where there is no virtualization.
package vm
