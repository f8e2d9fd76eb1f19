// Package sim is a rack that does not exist: any number of servers, each with a
// BMC that speaks Redfish and a machine that really boots over the network.
//
// [Start] opens the rack. Every BMC has an IP address of its own out of
// 127.0.0.0/8: one listener, bound to the loopback device, answers for all of
// them, and the local address of a connection tells which BMC the client means. If
// that is not possible, or an option names a concrete address, every BMC has a port
// of its own.
//
// Each BMC manages a [Machine]. When it is switched on, it does what firmware and an
// operating system do, over real HTTP: it runs its power-on self test, asks the
// URL that a DHCP server would name, runs the iPXE script (package ipxe), and fetches
// kernel, initramfs and the files on the kernel's command line. The ignition decides
// what runs then: if it starts metalprobe, the machine runs the real agent over
// invented hardware, otherwise it is an installed system. A [BootRecord] lists the
// files of each boot, with digests.
//
// Machines have disks. An installed system leaves a partition table, a file system and a
// tenant's data on them; if its ignition or command line has it tell /bootstate, it boots from
// there afterwards. An agent with a mandate wipes them with the code that wipes real
// disks, so [Rack.Disks] shows what that code leaves.
//
// Package fault describes what goes wrong, from the start or by
// [Rack.InjectFault]. A table in vendor.go has the quirks of vendors.
//
// The files, from outside in:
//
//	rack.go, address.go, tls.go     the rack, its listeners and its certificates
//	bmc.go, stats.go, peer*.go      one BMC and what it counts
//	redfish.go, failure.go          one Redfish request: authentication, methods, ETags, errors
//	fault.go, tamper.go             the faults of a request
//	expand.go                       answers that contain other resources
//	vendor.go                       the quirks of vendors
//	auth.go, account*.go, session.go accounts, sessions and privileges
//	tree*.go, paths.go, bios.go     the resources
//	task.go, update.go, push.go, events.go, logs.go  the services that do something by themselves
//	admin.go                        the admin address: faults and records while the rack runs
//	power.go                        what a reset does to a machine
//	machine.go, record.go           one machine and what it remembers of its boots
//	ssh.go, console.go              SSH servers of BMCs, and the serial console behind them
//	computer.go                     a machine that is real, or virtual (package vm), behind the same BMC
//	firmware.go, bootorder.go, fetch.go  from power-on to a kernel, and the boot order after a failure
//	os.go, ignition.go              from a kernel to a running system
//	disk.go, erase.go               the content of disks, and how they are erased
//	inventory.go, report.go         the hardware of the machine, as BMC and agent see it
//
// An idle server costs less than two kilobytes and no goroutine: ten thousand of them
// fit into one small process.
package sim
